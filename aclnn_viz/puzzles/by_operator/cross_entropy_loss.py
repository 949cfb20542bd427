"""Functions that puzzles on the gradient of cross entropy ask a learner to write, each with a loop that defines the result.
Softmax minus one-hot, ignored rows, the divisor, and two extras; and, in tiles, the place of a row's target.
"""

import math

import numpy as np


def ce_softmax(logProb, target):
    """The gradient by the logits (N, C) of the sum over the rows of -logProb[target], through the Jacobian of the
    log-softmax: d logProb_j / d logit_c is (1 if j = c, else 0) - p_c."""
    grad = np.zeros_like(logProb)
    for n in range(logProb.shape[0]):
        for c in range(logProb.shape[1]):
            for j in range(logProb.shape[1]):
                upstream = -1.0 if j == target[n] else 0.0
                grad[n, c] += upstream * ((1.0 if j == c else 0.0) - math.exp(logProb[n, c]))
    return grad


def ce_target_weight(target, weight, ignoreIndex):
    """The weight of the target of every row (N,), and 0 for the rows whose target is ignoreIndex, whatever number that
    is."""
    weights = np.zeros(target.size)
    for n in range(target.size):
        if target[n] != ignoreIndex:
            weights[n] = weight[target[n]]
    return weights


def ce_divisor(target, weight, ignoreIndex):
    """What "mean" divides by: one number, the sum of the weights of the targets that count."""
    total = 0.0
    for n in range(target.size):
        if target[n] != ignoreIndex:
            total += weight[target[n]]
    return total


def ce_mean_gradient(gradLoss, logProb, target, weight, ignoreIndex):
    """The gradient by the logits (N, C) of the weighted mean of the losses; gradLoss is one number."""
    total = 0.0
    for n in range(target.size):
        if target[n] != ignoreIndex:
            total += weight[target[n]]
    grad = np.zeros_like(logProb)
    for n in range(target.size):
        if target[n] != ignoreIndex:
            for c in range(logProb.shape[1]):
                hit = 1.0 if c == target[n] else 0.0
                grad[n, c] = gradLoss * weight[target[n]] / total * (math.exp(logProb[n, c]) - hit)
    return grad


def ce_smoothing(logProb, target, weight, labelSmoothing):
    """The gradient by the logits (N, C) of the sum of smoothed losses, with a = labelSmoothing: the target counts
    (1 - a) times its weight, and every class a / C times its weight."""
    rows, classes = logProb.shape
    grad = np.zeros_like(logProb)
    for n in range(rows):
        for j in range(classes):
            upstream = -labelSmoothing / classes * weight[j]
            if j == target[n]:
                upstream -= (1.0 - labelSmoothing) * weight[j]
            for c in range(classes):
                grad[n, c] += upstream * ((1.0 if j == c else 0.0) - math.exp(logProb[n, c]))
    return grad


def ce_zloss(gradZloss, logProb, lse, scale):
    """The gradient by the logits (N, C) of the z-loss, scale lse^2, of every row, given gradZloss (N,) and lse (N,);
    d lse / d logit_c is p_c."""
    grad = np.zeros_like(logProb)
    for n in range(logProb.shape[0]):
        of_the_square = gradZloss[n] * scale * (lse[n] + lse[n])
        for c in range(logProb.shape[1]):
            grad[n, c] = of_the_square * math.exp(logProb[n, c])
    return grad


NONE = None


def target_lane(target, tileLength):
    """In which tile of a row the column target (n,) lies, and in which lane of it; both count from 0."""
    tile, lane = np.zeros_like(target), np.zeros_like(target)
    for i in range(target.size):
        lane[i] = target[i]
        while lane[i] >= tileLength:
            tile[i], lane[i] = tile[i] + 1, lane[i] - tileLength
    return tile, lane
