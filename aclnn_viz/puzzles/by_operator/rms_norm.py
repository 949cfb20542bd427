"""Functions that puzzles on the gradient of RMS norm ask a learner to write, each with a loop that defines the result. A
saved tensor, a row mean, a Jacobian that shrinks to two lines; and, in tiles, rows per core, columns per strip, and double
reads.
"""

import numpy as np


def rms_xhat(x, rstd):
    """x-hat, the normalised x (rows, n), from the rstd (rows, 1) that the forward pass saved."""
    xhat = np.zeros_like(x)
    for row in range(x.shape[0]):
        for i in range(x.shape[1]):
            xhat[row, i] = x[row, i] * rstd[row, 0]
    return xhat


def rms_row_mean(dy, x, rstd, gamma):
    """The mean of dy gamma x-hat over each row: (rows, 1) from x (rows, n), rstd (rows, 1), gamma (n,)."""
    mean = np.zeros_like(rstd)
    for row in range(x.shape[0]):
        for i in range(x.shape[1]):
            mean[row, 0] += dy[row, i] * gamma[i] * x[row, i] * rstd[row, 0] / x.shape[1]
    return mean


def rms_dx(dy, x, rstd, gamma):
    """dx (rows, n) through the whole Jacobian of y_j = gamma_j x_j rstd, where rstd depends on every x_i of its row;
    write it without the loop over pairs."""
    rows, n = x.shape
    dx = np.zeros_like(x)
    for row in range(rows):
        for i in range(n):
            for j in range(n):
                direct = rstd[row, 0] if i == j else 0.0
                through_rstd = -x[row, j] * x[row, i] * rstd[row, 0] ** 3 / n
                dx[row, i] += dy[row, j] * gamma[j] * (direct + through_rstd)
    return dx


def rms_dgamma(dy, x, rstd):
    """dgamma (n,) from dy and x (rows, n) and rstd (rows, 1)."""
    dgamma = np.zeros_like(x[0])
    for row in range(x.shape[0]):
        for i in range(x.shape[1]):
            dgamma[i] += dy[row, i] * x[row, i] * rstd[row, 0]
    return dgamma


def rms_kernel(dy, x, rstd, gamma):
    """The whole kernel: gamma spans any number of trailing axes, 16-bit inputs are computed in float32, dxOut has the
    format of x and dgammaOut is float32 (float64 for float64)."""
    wide = np.promote_types(x.dtype, np.float32)
    dx, dgamma = np.zeros_like(x), np.zeros(gamma.shape, wide)
    for row in np.ndindex(x.shape[: x.ndim - gamma.ndim]):
        s = float(rstd[row].item())
        mean = 0.0
        for i in np.ndindex(gamma.shape):
            mean += float(dy[row + i]) * float(gamma[i]) * float(x[row + i]) * s / gamma.size
        for i in np.ndindex(gamma.shape):
            xhat = float(x[row + i]) * s
            dx[row + i] = (float(dy[row + i]) * float(gamma[i]) - xhat * mean) * s
            dgamma[i] += float(dy[row + i]) * xhat
    return dx, dgamma


def rows_of_core(core, rows, cores):
    """How many rows each core (n,) has: rows go to core after core in spans of one length, the shortest that suffices."""
    span, held = np.ceil(rows / cores), np.zeros_like(core)
    for i in range(core.size):
        for row in range(rows):
            held[i] += np.floor(core[i]) * span <= row < (np.floor(core[i]) + 1) * span
    return held


def strip_owner(column, strip, cores):
    """Which core adds up a column (n,): strips of `strip` columns go to the cores in turn."""
    owner = np.zeros_like(column)
    for i in range(column.size):
        start, core = 0.0, 0
        while start + strip <= column[i]:
            start, core = start + strip, (core + 1) % cores
        owner[i] = core
    return owner


def row_traffic(columns, tileLength, itemsize):
    """The bytes that one row of columns (n,) elements moves: dy and x are read, dx is written; a row longer than a tile
    is read twice."""
    moved = np.zeros_like(columns)
    for i in range(columns.size):
        for _times in range(1 if columns[i] <= tileLength else 2):
            moved[i] += 2 * columns[i] * itemsize
        moved[i] += columns[i] * itemsize
    return moved
