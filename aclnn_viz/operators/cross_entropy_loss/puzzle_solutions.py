"""Solutions of the puzzles on cross entropy."""

import numpy as np

from aclnn_viz.checking.puzzles.solutions import Mistake


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
    wanted = labelSmoothing / logProb.shape[1] * weight + (1 - labelSmoothing) * weight[target][:, None] * hit
    return np.exp(logProb) * np.sum(wanted, axis=1, keepdims=True) - wanted


def ce_zloss(gradZloss, logProb, lse, scale):
    return (2 * scale * lse * gradZloss)[:, None] * np.exp(logProb)


CHOSEN = "np.where(counted, weight[np.where(counted, target, 0)], 0.0)"


def target_lane(target, tileLength):
    return target // tileLength, target % tileLength


MISTAKES = {
    "ce_softmax": (
        Mistake("exp forgotten", "logProb is taken for the softmax: it is its logarithm",
                {"np.exp(logProb)": "logProb"}),
        Mistake("one-hot off by one", "classes are counted from 0",
                {"np.arange(logProb.shape[1])": "np.arange(1, logProb.shape[1] + 1)"}),
        Mistake("sign flipped", "the gradient of the log-likelihood instead of that of the loss",
                {"np.exp(logProb) - hit": "hit - np.exp(logProb)"}),
    ),
    "ce_target_weight": (
        Mistake("ignored rows not zeroed", "they get the weight of the class that stands in for them",
                {CHOSEN: "weight[np.where(counted, target, 0)]"}),
        Mistake("weights forgotten", "a row that counts has the weight of its target, not 1",
                {CHOSEN: "counted.astype(float)"}),
        Mistake("negative targets ignored", "a target is ignored where it equals ignoreIndex, which may be a class",
                {"target != ignoreIndex": "target >= 0"}),
    ),
    "ce_divisor": (
        Mistake("mean over the counted rows", "the rows are counted instead of adding up their weights",
                {"weight[target[target != ignoreIndex]]": "target != ignoreIndex"}),
        Mistake("mean over all rows", "ignored rows are no part of the mean",
                {"np.sum(weight[target[target != ignoreIndex]])": "float(len(target))"}),
        Mistake("all weights", "each class is counted once, not as often as it is a target",
                {"weight[target[target != ignoreIndex]]": "weight"}),
    ),
    "ce_mean_gradient": (
        Mistake("mean over all rows", "the divisor is N instead of the sum of the weights that count",
                {"np.sum(w)": "len(w)"}),
        Mistake("mean over the counted rows", "the rows are counted instead of adding up their weights",
                {"np.sum(w)": "np.sum(counted)"}),
        Mistake("weight of the column", "each column is scaled by its own weight instead of that of the target",
                {"(w / np.sum(w))[:, None]": "(counted / np.sum(w))[:, None] * weight"}),
        Mistake("ignored rows not zeroed", "they get the gradient of the class that stands in for them",
                {CHOSEN: "weight[np.where(counted, target, 0)]"}),
    ),
    "ce_smoothing": (
        Mistake("1 - smoothing forgotten", "the smoothed part is added to the whole loss",
                {"(1 - labelSmoothing) * weight": "weight"}),
        Mistake("smoothing not divided by C", "every class gets the whole of it",
                {"labelSmoothing / logProb.shape[1] * weight": "labelSmoothing * weight"}),
        Mistake("smoothing without weights", "the smoothed part takes every class alike",
                {"labelSmoothing / logProb.shape[1] * weight": "labelSmoothing / logProb.shape[1]"}),
    ),
    "ce_zloss": (
        Mistake("2 of the z-loss forgotten", "the square is differentiated without its 2", {"2 * scale": "scale"}),
        Mistake("square not differentiated", "the z-loss itself is passed on",
                {"2 * scale * lse": "scale * lse * lse"}),
        Mistake("softmax forgotten", "every logit of a row gets the same; the derivative of lse is the softmax",
                {"np.exp(logProb)": "np.ones_like(logProb)"}),
    ),
    "target_lane": (
        Mistake("edge in the tile before", "a target at the edge is taken to be the lane behind the last",
                {"target // tileLength, target % tileLength":
                 "(target - (target > 0)) // tileLength, (target - (target > 0)) % tileLength + (target > 0)"}),
        Mistake("lane of the row", "the start of the tile is not taken off", {", target % tileLength": ", target"}),
        Mistake("tiles from one", "the first tile has number 0", {"target // tileLength": "target // tileLength + 1"}),
    ),
}
