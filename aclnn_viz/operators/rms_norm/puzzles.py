"""Puzzles on the gradient of RMS norm: a saved tensor, a row mean, and a Jacobian that shrinks to two lines."""

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.checking.puzzles.detective import Detective
from aclnn_viz.checking.puzzles.puzzle import Puzzle, Reads
from aclnn_viz.checking.puzzles.symptoms import table
from aclnn_viz.words.speech import message

from . import page

XP = NumPyArrays()


def drawn(seed, rows, n, *names, rstd=None):
    """Random tensors by name; rstd is what the forward pass saves for x, unless it is given."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.5, 2.0, (rows, n))
    saved = 1.0 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6) if rstd is None else np.full((rows, 1), rstd)
    tensors = {"dy": rng.normal(size=(rows, n)), "x": x, "rstd": saved, "gamma": rng.normal(1.0, 0.5, n)}
    return {name: tensors[name] for name in names}


def cases(*names):
    """Rows of ordinary lengths, one row, one column, and a saved rstd that is not that of x."""
    return (drawn(0, 3, 5, *names), drawn(1, 1, 4, *names), drawn(2, 4, 1, *names), drawn(3, 2, 17, *names, rstd=0.7))


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
    """dgamma (n,): every row used the same gamma."""
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
    for row in np.ndindex(x.shape[:x.ndim - gamma.ndim]):
        s = float(rstd[row].item())
        mean = 0.0
        for i in np.ndindex(gamma.shape):
            mean += float(dy[row + i]) * float(gamma[i]) * float(x[row + i]) * s / gamma.size
        for i in np.ndindex(gamma.shape):
            xhat = float(x[row + i]) * s
            dx[row + i] = (float(dy[row + i]) * float(gamma[i]) - xhat * mean) * s
            dgamma[i] += float(dy[row + i]) * xhat
    return dx, dgamma


SMALL = drawn(5, 2, 3, "dy", "x", "rstd", "gamma")


def small(*names):
    return {name: SMALL[name] for name in names}


PUZZLES = (
    Puzzle(rms_xhat, "rms_norm", "What was saved", ("xhat",), 1, (
        "Nothing is to be computed that the forward pass has computed before.",
        "rstd has a column axis of length 1: it broadcasts along the row.",
        "return x * ..."),
        Reads(small("x", "rstd"), "xhat", (1, 2)), page.normalised, cases("x", "rstd")),
    Puzzle(rms_row_mean, "rms_norm", "One number for a row", ("mean",), 1, (
        "np.mean takes an axis. Which one runs along a row?",
        "The result keeps its column axis: keepdims.",
        "return np.mean(dy * gamma * x * rstd, axis=..., keepdims=...)"),
        Reads(small("dy", "x", "rstd", "gamma"), "mean", (1, 0)),
        lambda dy, x, rstd, gamma: page.projection(XP, dy, page.normalised(x, rstd), gamma),
        cases("dy", "x", "rstd", "gamma")),
    Puzzle(rms_dx, "rms_norm", "A Jacobian in two lines", ("dx",), 2, (
        "Take the two terms of the bracket apart. In the first, only j = i is left of the sum.",
        "In the second, all that depends on i leaves the sum over j. What stays is the row mean of the puzzle before.",
        "With xhat = x * rstd: return (dy * gamma - xhat * <row mean of dy * gamma * xhat>) * rstd"),
        Reads(small("dy", "x", "rstd", "gamma"), "dx", (0, 1)),
        lambda **inputs: page.backward(XP, **inputs)["dxOut"], cases("dy", "x", "rstd", "gamma")),
    Puzzle(rms_dgamma, "rms_norm", "One gamma for all rows", ("dgamma",), 1, (
        "Which axis is in dy but not in gamma?",
        "What is used many times gets the sum of its gradients.",
        "return np.sum(dy * x * rstd, axis=...)"),
        Reads(small("dy", "x", "rstd"), "dgamma", (1,)),
        lambda dy, x, rstd: page.backward(XP, dy, x, rstd, np.ones(x.shape[1]))["dgammaOut"],
        cases("dy", "x", "rstd")),
    Puzzle(rms_kernel, "rms_norm", "The whole of RMS norm", ("dxOut", "dgammaOut"), 7, (
        "Put the puzzles before together. New are the formats, and the axes of gamma.",
        "Rows are averaged over the last gamma.ndim axes, dgamma is summed over all axes before them.",
        "axes = tuple(range(-gamma.ndim, 0)) and lead = tuple(range(x.ndim - gamma.ndim)); widen dy, x, gamma first, "
        "and narrow dx last."),
        Reads(small("dy", "x", "rstd", "gamma"), "dxOut", (0, 1))),
)

LAST_ROW = np.zeros((4, 8), np.float32)
LAST_ROW[-1] = np.linspace(-1, 1, 8)

DETECTIVES = (
    Detective(
        1, "long_rows", "rms_norm", "Rows of a certain length",
        "The benchmark ran rows of 16, 32 and 1024 elements, and all was well. Then a model came with 50.",
        tuple((message("rows of {n}", n=n), {"shape": (3, n)}) for n in (16, 17, 31, 32, 50, 64, 1024)), table,
        ("missing 1/n", "n - 1", "tail of the row forgotten", "one mean for all rows", "x for x-hat"),
        ("Write down the lengths that are right. What do they have in common?",
         "Which suspects would know about 16?", "A loop over whole tiles leaves something out."),
        "tail of the row forgotten"),
    Detective(
        2, "one_row", "rms_norm", "Four rows are too many",
        "dxOut is right in every test. dgammaOut is right with one row, and once more in a case that somebody made up.",
        (("one row", {"shape": (1, 8)}), ("four rows", {"shape": (4, 8)}),
         ("four rows, gamma is 1", {"shape": (4, 8), "gamma": 1.0}),
         ("four rows, dy is 0 but in the last", {"shape": (4, 8), "dy": LAST_ROW})), table,
        ("dgamma averaged", "dgamma of the last row", "dgamma with gamma", "dgamma with x", "one mean for all rows"),
        ("gamma = 1 changes nothing: which suspect does that clear?",
         "An average of one row is right, too. But what of the last experiment?",
         "There only the last row has something to add, and the result is right."),
        "dgamma of the last row"),
)
