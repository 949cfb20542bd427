"""Fused loops for numba that run RMS norm backward fast on a CPU: for each row one pass for a mean, one for dx and the sums
over rows.
"""

import numpy as np

from aclnn_viz.arrays.loops import LANES, add_up, cuts, over, read, real, write
from aclnn_viz.arrays.plan import Plan

PLAN = Plan("row by row", accumulate="float64")


def rows(part, first, last, dy, x, rstd, gamma, dxOut, sums):
    n = gamma.size
    lanes = np.empty(LANES)
    for row in range(first, last):
        grad, xs, results, scale = dy[row], x[row], dxOut[row], read(rstd[row], 0)
        lanes[:] = 0.0
        for start in range(0, n, LANES):
            for lane in range(min(LANES, n - start)):
                i = start + lane
                lanes[lane] += read(grad, i) * read(gamma, i) * (read(xs, i) * scale)
        # Scaling x changes rstd inversely, so the gradient's part along x vanishes.
        projection = real(dxOut, lanes.sum() / n)
        for i in range(n):
            g, xhat = read(grad, i), read(xs, i) * scale
            write(results, i, (g * read(gamma, i) - xhat * projection) * scale)
            sums[part, i] += g * xhat


def backward(outputs, dy, x, rstd, gamma):
    parts = cuts(x.shape[0], x.size)
    sums = np.zeros((len(parts), gamma.size))
    over(parts, rows, dy, x, rstd, gamma, outputs["dxOut"], sums)
    add_up(sums, outputs["dgammaOut"])
