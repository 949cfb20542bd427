"""Layer norm row by row: one pass for the two means of a row, one for its gradient and the sums over the rows."""

import numpy as np

from aclnn_viz.arrays.loops import LANES, add_up, computed, cuts, over, read, real, write
from aclnn_viz.arrays.plan import Plan

PLAN = Plan("row by row", accumulate="float64")
ROWS = 4  # that are added to the sums over the rows at once


def rows(part, first, last, gradOut, input, mean, rstd, weight, gradInput, weightSums, biasSums):
    n = weight.size
    straight, along, xhats = np.empty(LANES), np.empty(LANES), np.empty((ROWS, n), weight.dtype)
    whole = n - n % LANES
    for row in range(first, last):
        grads, xs, centre, scale, xhat = gradOut[row], input[row], mean[row, 0], rstd[row, 0], xhats[(row - first) % ROWS]
        for i in range(n):  # loops in one format run on twice as many numbers at a time as those with sums in float64
            xhat[i] = (read(xs, i) - centre) * scale
        straight[:] = 0.0
        along[:] = 0.0
        for start in range(0, whole, LANES):
            for lane in range(LANES):
                i = start + lane
                grad = read(grads, i) * read(weight, i)
                straight[lane] += grad
                along[lane] += grad * xhat[i]
        for i in range(whole, n):
            grad = read(grads, i) * read(weight, i)
            straight[i - whole] += grad
            along[i - whole] += grad * xhat[i]
        # The gradient has nothing along 1 and along x-hat: shifting and scaling a row changes no x-hat.
        shift, projection = real(weight, straight.sum() / n), real(weight, along.sum() / n)
        results = gradInput[row if gradInput.shape[0] == input.shape[0] else part]
        for i in range(n):
            write(results, i, (read(grads, i) * read(weight, i) - (shift + xhat[i] * projection)) * scale)
        if (row - first) % ROWS == ROWS - 1:  # so many rows at once are written to the sums
            one, two, three = gradOut[row - 3], gradOut[row - 2], gradOut[row - 1]
            for i in range(n):
                a, b, c, d = read(one, i), read(two, i), read(three, i), read(grads, i)
                weightSums[part, i] = weightSums[part, i] + a * xhats[0, i] + b * xhats[1, i] + c * xhats[2, i] + d * xhats[3, i]
                biasSums[part, i] = biasSums[part, i] + a + b + c + d
        elif row >= last - (last - first) % ROWS:
            for i in range(n):
                weightSums[part, i] += read(grads, i) * xhat[i]
                biasSums[part, i] += read(grads, i)


def backward(outputs, gradOut, input, mean, rstd, weightOptional, biasOptional):
    compute = computed(input)
    n, parts = input.shape[1], cuts(input.shape[0], input.size)
    weight = np.ones(n, compute) if weightOptional is None else weightOptional.astype(compute, copy=False)
    sums = np.zeros((2, len(parts), n))
    results = outputs["gradInputOut"] if "gradInputOut" in outputs else np.empty((len(parts), n), input.dtype)  # rows that no one reads
    over(parts, rows, gradOut, input, mean.astype(compute, copy=False), rstd.astype(compute, copy=False), weight, results, *sums)
    for name, each in zip(("gradWeightOut", "gradBiasOut"), sums):
        if name in outputs:
            add_up(each, outputs[name])
