"""Fused loops for numba that run layer norm backward fast on a CPU: one pass over a row for its means, one over every four
rows for their gradients and the sums over rows.

A float64 sum stays in place while TOGETHER terms are added in order.
"""

import numpy as np

from aclnn_viz.arrays.loops import LANES, add_up, computed, cuts, over, read, step, write
from aclnn_viz.arrays.plan import Plan

PLAN = Plan("row by row", accumulate="float64")
TOGETHER = 4


def rows(part, first, last, gradOut, input, mean, rstd, weight, gradInput, weightSums, biasSums):
    n = weight.size
    whole = n - n % (TOGETHER * LANES)
    straight, along = np.empty(LANES), np.empty(LANES)
    shifts, projections = np.empty(TOGETHER, weight.dtype), np.empty(TOGETHER, weight.dtype)
    for begin in range(first, last, TOGETHER):
        end = min(begin + TOGETHER, last)
        for row in range(begin, end):
            own = slice(row * n, row * n + n)
            grads, xs, centre, scale = gradOut[own], input[own], mean[row], rstd[row]
            straight[:] = 0.0
            along[:] = 0.0
            for start in range(0, whole, TOGETHER * LANES):
                add_terms(TOGETHER, start, grads, xs, weight, centre, scale, straight, along)
            for start in range(whole, n, LANES):
                left = n - start
                add_terms(1, start, grads, xs, weight, centre, scale, straight[:left], along[:left])
            # Shifting and scaling a row does not change x-hat, so the gradient is orthogonal to 1 and to x-hat.
            shifts[row - begin], projections[row - begin] = straight.sum() / n, along.sum() / n
        arrays = gradOut, input, mean, rstd, weight, gradInput, weightSums[part], biasSums[part]
        if end - begin == TOGETHER:
            finish(TOGETHER, begin, shifts, projections, arrays)
        else:
            for row in range(begin, end):
                finish(1, row, shifts[row - begin :], projections[row - begin :], arrays)


@step
def add_terms(count, start, grads, xs, weight, centre, scale, straight, along):
    """Add `count` terms to each lane of the two sums of a row."""
    for lane in range(straight.size):
        shift, projection = straight[lane], along[lane]
        for k in range(count):
            i = start + k * LANES + lane
            weighted = read(grads, i) * read(weight, i)
            shift += weighted
            projection += weighted * ((read(xs, i) - centre) * scale)
        straight[lane], along[lane] = shift, projection


@step
def finish(count, first, shifts, projections, arrays):
    """Write the gradients of `count` rows, and add them to the two sums over rows."""
    gradOut, input, mean, rstd, weight, gradInput, weightSum, biasSum = arrays
    n = weight.size
    for i in range(n):
        ofWeight, ofBias = weightSum[i], biasSum[i]
        for k in range(count):
            row = first + k
            at = row * n + i
            grad, xhat = read(gradOut, at), (read(input, at) - mean[row]) * rstd[row]
            along_both = shifts[k] + xhat * projections[k]
            write(gradInput, at, (grad * read(weight, i) - along_both) * rstd[row])
            ofWeight += grad * xhat
            ofBias += grad
        weightSum[i], biasSum[i] = ofWeight, ofBias


def backward(outputs, gradOut, input, mean, rstd, weightOptional, biasOptional):
    compute = computed(input)
    n, parts = input.shape[1], cuts(input.shape[0], input.size)
    weight = (
        np.ones(n, compute)
        if weightOptional is None
        else weightOptional.astype(compute, copy=False)
    )
    sums = np.zeros((2, len(parts), n))
    over(
        parts,
        rows,
        gradOut.reshape(-1),
        input.reshape(-1),
        mean.astype(compute, copy=False).reshape(-1),
        rstd.astype(compute, copy=False).reshape(-1),
        weight,
        (outputs["gradInputOut"] if "gradInputOut" in outputs else np.empty_like(input)).reshape(
            -1
        ),
        *sums,
    )
    for name, each in zip(("gradWeightOut", "gradBiasOut"), sums):
        if name in outputs:
            add_up(each, outputs[name])
