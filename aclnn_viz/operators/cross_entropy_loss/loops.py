"""Cross entropy row by row: what is the same for all classes of a row first, then one pass over the classes."""

import numpy as np

from aclnn_viz.arrays.loops import computed, cuts, exponential, over, read, real, write
from aclnn_viz.arrays.plan import Plan

PLAN = Plan("row by row", accumulate="float64", division_ulps=1.0)


def rows(part, first, last, logProb, target, weight, alongSoftmax, alongTarget, smooth, xGradOut):
    classes = weight.size
    for row in range(first, last):
        logs, results, along, even = logProb[row], xGradOut[row], real(weight, alongSoftmax[row]), real(weight, smooth[row])
        # The saved log-probabilities stand for the softmax: rows that do not sum to 1 are not renormalised.
        if even == 0.0:
            for i in range(classes):
                write(results, i, exponential(read(logs, i)) * along)
        else:
            for i in range(classes):
                write(results, i, exponential(read(logs, i)) * along - even * read(weight, i))
        at = target[row]
        if 0 <= at < classes:
            hit = exponential(read(logs, at)) * along - real(weight, alongTarget[row])
            write(results, at, hit if even == 0.0 else hit - even * weight[at])


def backward(outputs, gradLoss, logProb, target, weightOptional, gradZlossOptional, lseForZlossOptional, weightSum,
             rowCount, reduction, ignoreIndex, labelSmoothing, lseSquareScaleForZloss):
    samples, classes = logProb.shape
    compute = computed(logProb)
    weight = np.ones(classes, compute) if weightOptional is None else weightOptional.astype(compute)
    target, counted = target.astype(np.int64), target != ignoreIndex
    upstream = gradLoss.astype(np.float64)
    # Times 0, not skipped: an infinite gradient of an ignored row gives nan.
    each = (upstream / weightSum if reduction == "mean" else upstream) * counted
    own = counted * weight[np.where(counted, target, 0)] if weightOptional is not None else counted
    alongTarget = each * (1.0 - labelSmoothing) * own
    smooth = each * labelSmoothing / classes
    alongSoftmax = alongTarget + smooth * weight.sum(dtype=np.float64)
    if lseForZlossOptional is not None:
        z = upstream if gradZlossOptional is None else upstream + gradZlossOptional.astype(np.float64)
        z = z / rowCount if reduction == "mean" else z
        alongSoftmax = alongSoftmax + 2.0 * lseSquareScaleForZloss * lseForZlossOptional.astype(np.float64) * counted * z
    over(cuts(samples, logProb.size), rows, logProb, target, weight, alongSoftmax, alongTarget, smooth,
         outputs["xGradOut"])
