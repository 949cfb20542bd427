"""Right answers to the puzzles on cross entropy; small changes to them give the usual mistakes."""

import numpy as np


def ce_softmax(logProb, target):
    hit = target[:, None] == np.arange(logProb.shape[1])
    return np.exp(logProb) - hit


def ce_target_weight(target, weight, ignoreIndex):
    counted = target != ignoreIndex
    return np.where(counted, weight[np.where(counted, target, 0)], 0.0)


def ce_divisor(target, weight, ignoreIndex):
    return np.sum(weight[target[target != ignoreIndex]])


def ce_mean_gradient(gradLoss, logProb, target, weight, ignoreIndex):
    counted = target != ignoreIndex
    w = np.where(counted, weight[np.where(counted, target, 0)], 0.0)
    hit = target[:, None] == np.arange(logProb.shape[1])
    return gradLoss * (w / np.sum(w))[:, None] * (np.exp(logProb) - hit)


def ce_smoothing(logProb, target, weight, labelSmoothing):
    hit = target[:, None] == np.arange(logProb.shape[1])
    wanted = (
        labelSmoothing / logProb.shape[1] * weight
        + (1 - labelSmoothing) * weight[target][:, None] * hit
    )
    return np.exp(logProb) * np.sum(wanted, axis=1, keepdims=True) - wanted


def ce_zloss(gradZloss, logProb, lse, scale):
    return (2 * scale * lse * gradZloss)[:, None] * np.exp(logProb)


def target_lane(target, tileLength):
    return target // tileLength, target % tileLength
