"""Layer norm row by row: one pass for the two means of a row and the sums over the rows, one for its gradient."""

import numpy as np

from aclnn_viz.arrays.loops import LANES, add_up, computed, cuts, over, read, real, write
from aclnn_viz.arrays.plan import Plan

PLAN = Plan("row by row", accumulate="float64")


def rows(part, first, last, gradOut, input, mean, rstd, weight, gradInput, weightSums, biasSums):
    n = weight.size
    straight, along = np.empty(LANES), np.empty(LANES)
    ofWeight, ofBias = weightSums[part], biasSums[part]
    for row in range(first, last):
        grads, xs, centre, scale = gradOut[row], input[row], mean[row, 0], rstd[row, 0]
        straight[:] = 0.0
        along[:] = 0.0
        for start in range(0, n, LANES):
            for lane in range(min(LANES, n - start)):
                i = start + lane
                weighted = read(grads, i) * read(weight, i)
                straight[lane] += weighted
                along[lane] += weighted * ((read(xs, i) - centre) * scale)
        # The gradient has nothing along 1 and along x-hat: shifting and scaling a row changes no x-hat.
        shift, projection = real(weight, straight.sum() / n), real(weight, along.sum() / n)
        results = gradInput[row]
        for i in range(n):
            grad, xhat = read(grads, i), (read(xs, i) - centre) * scale
            write(ofWeight, i, read(ofWeight, i) + grad * xhat)
            write(ofBias, i, read(ofBias, i) + grad)
            along_both = shift + xhat * projection
            write(results, i, (grad * read(weight, i) - along_both) * scale)


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
        gradOut,
        input,
        mean.astype(compute, copy=False),
        rstd.astype(compute, copy=False),
        weight,
        outputs.get("gradInputOut", np.empty_like(input)),
        *sums,
    )
    for name, each in zip(("gradWeightOut", "gradBiasOut"), sums):
        if name in outputs:
            add_up(each, outputs[name])
