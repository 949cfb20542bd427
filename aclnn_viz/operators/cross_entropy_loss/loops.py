"""Fused loops for numba that run cross entropy backward fast on a CPU: each row computes the values that all classes share,
then passes once over the classes.
"""

import numpy as np

from aclnn_viz.arrays.loops import computed, cuts, exponential, over, read, real, write
from aclnn_viz.arrays.plan import Plan

PLAN = Plan("row by row", accumulate="float64", division_ulps=1.0)
WHOLE = True  # the loop `totals` takes the place of the page's prelude


def totals(part, first, last, target, weight, weighted, ignoreIndex, sums):
    """Add up the divisors of a mean, over weights and over rows, and the sum of all weights."""
    for row in range(target.size):
        if target[row] != ignoreIndex:
            sums[0] += weight[target[row]] if weighted else 1.0
            sums[1] += 1.0
    for i in range(weight.size):
        sums[2] += weight[i]


def rows(
    part,
    first,
    last,
    logProb,
    target,
    weight,
    weighted,
    upstream,
    zloss,
    lse,
    sums,
    mean,
    ignoreIndex,
    smoothing,
    scale,
    xGradOut,
):
    classes = weight.size
    for row in range(first, last):
        at = target[row]
        counted = 1.0 if at != ignoreIndex else 0.0
        # Multiply by 0 instead of skipping an ignored row: an infinite gradient must give nan.
        grad = np.float64(read(upstream, row if upstream.size > 1 else 0))
        each = (grad / sums[0] if mean else grad) * counted
        own = counted * weight[at if counted else 0] if weighted else counted
        alongTarget = each * (1.0 - smoothing) * own
        smooth = each * smoothing / classes
        alongSoftmax = alongTarget + smooth * sums[2]
        if lse.size:
            if zloss.size:
                grad += read(zloss, row if zloss.size > 1 else 0)
            alongSoftmax += (
                2.0 * scale * read(lse, row) * counted * (grad / sums[1] if mean else grad)
            )
        logs, results, along, even = (
            logProb[row],
            xGradOut[row],
            real(weight, alongSoftmax),
            real(weight, smooth),
        )
        # The saved log-probabilities define the softmax; rows that do not sum to 1 are not renormalised.
        if even == 0.0:
            for i in range(classes):
                write(results, i, exponential(read(logs, i)) * along)
        else:
            for i in range(classes):
                write(results, i, exponential(read(logs, i)) * along - even * read(weight, i))
        if 0 <= at < classes:
            hit = exponential(read(logs, at)) * along - real(weight, alongTarget)
            write(results, at, hit if even == 0.0 else hit - even * weight[at])


def backward(
    outputs,
    gradLoss,
    logProb,
    target,
    weightOptional,
    gradZlossOptional,
    lseForZlossOptional,
    reduction,
    ignoreIndex,
    labelSmoothing,
    lseSquareScaleForZloss,
):
    samples, classes = logProb.shape
    compute, weighted = computed(logProb), weightOptional is not None
    weight = weightOptional.astype(compute) if weighted else np.ones(classes, compute)
    target, sums = target.astype(np.int64, copy=False), np.zeros(3)
    zloss, lse = (
        np.empty(0) if one is None else one for one in (gradZlossOptional, lseForZlossOptional)
    )
    over(cuts(1, 1), totals, target, weight, weighted, ignoreIndex, sums)
    over(
        cuts(samples, logProb.size),
        rows,
        logProb,
        target,
        weight,
        weighted,
        gradLoss.reshape(-1),
        zloss.reshape(-1),
        lse,
        sums,
        reduction == "mean",
        ignoreIndex,
        labelSmoothing,
        lseSquareScaleForZloss,
        outputs["xGradOut"],
    )
