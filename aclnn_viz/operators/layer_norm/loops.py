"""Layer norm row by row: one pass for the two means of a row, one for its gradient and the sums over the rows."""

import numpy as np

from aclnn_viz.arrays.loops import LANES, computed, cuts, over, read, real, write
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.dtypes import round_into

PLAN = Plan("row by row", accumulate="float64")


def rows(part, first, last, gradOut, input, mean, rstd, weight, gradInput, weightSums, biasSums):
    n = weight.size
    straight, along = np.empty(LANES), np.empty(LANES)
    for row in range(first, last):
        grads, xs, centre, scale = gradOut[row], input[row], mean[row, 0], rstd[row, 0]
        straight[:] = 0.0
        along[:] = 0.0
        whole = n - n % (2 * LANES)
        for start in range(0, whole, 2 * LANES):
            for lane in range(LANES):
                i, j = start + lane, start + lane + LANES  # two at a time: lanes are read and written half as often
                grad, other = read(grads, i) * read(weight, i), read(grads, j) * read(weight, j)
                straight[lane] = straight[lane] + grad + other
                along[lane] = along[lane] + grad * ((read(xs, i) - centre) * scale) + other * ((read(xs, j) - centre) * scale)
        for i in range(whole, n):
            grad = read(grads, i) * read(weight, i)
            straight[i % LANES] += grad
            along[i % LANES] += grad * ((read(xs, i) - centre) * scale)
        # The gradient has nothing along 1 and along x-hat: shifting and scaling a row changes no x-hat.
        shift, projection = real(weight, straight.sum() / n), real(weight, along.sum() / n)
        results = gradInput[row if gradInput.shape[0] == input.shape[0] else part]
        for i in range(n):
            grad, xhat = read(grads, i), (read(xs, i) - centre) * scale
            write(results, i, (grad * read(weight, i) - (shift + xhat * projection)) * scale)
            weightSums[part, i] += grad * xhat
            biasSums[part, i] += grad


def backward(outputs, gradOut, input, mean, rstd, weightOptional, biasOptional):
    compute = computed(input)
    n, parts = input.shape[1], cuts(input.shape[0], input.size)
    weight = np.ones(n, compute) if weightOptional is None else weightOptional.astype(compute, copy=False)
    sums = np.zeros((2, len(parts), n))
    results = outputs["gradInputOut"] if "gradInputOut" in outputs else np.empty((len(parts), n), input.dtype)  # rows that no one reads
    over(parts, rows, gradOut, input, mean.astype(compute, copy=False), rstd.astype(compute, copy=False), weight, results, *sums)
    for name, total in zip(("gradWeightOut", "gradBiasOut"), sums.sum(axis=1)):
        if name in outputs:
            round_into(outputs[name], total)
