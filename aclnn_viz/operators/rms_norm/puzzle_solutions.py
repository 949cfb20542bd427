"""Solutions of the puzzles on RMS norm."""

import numpy as np

from aclnn_viz.checking.puzzles.solutions import Mistake


def rms_xhat(x, rstd):
    return x * rstd


def rms_row_mean(dy, x, rstd, gamma):
    return np.mean(dy * gamma * x * rstd, axis=-1, keepdims=True)


def rms_dx(dy, x, rstd, gamma):
    xhat = x * rstd
    return (dy * gamma - xhat * np.mean(dy * gamma * xhat, axis=-1, keepdims=True)) * rstd


def rms_dgamma(dy, x, rstd):
    return np.sum(dy * x * rstd, axis=0)


def rms_kernel(dy, x, rstd, gamma):
    wide = np.promote_types(x.dtype, np.float32)
    axes, lead = tuple(range(-gamma.ndim, 0)), tuple(range(x.ndim - gamma.ndim))
    dy, gamma = dy.astype(wide), gamma.astype(wide)
    xhat = x.astype(wide) * rstd
    mean = np.mean(dy * gamma * xhat, axis=axes, keepdims=True)
    dx = (dy * gamma - xhat * mean) * rstd
    return dx.astype(x.dtype), np.sum(dy * xhat, axis=lead)


MISTAKES = {
    "rms_xhat": (
        Mistake("sigma for rstd", "the saved tensor is taken for the root itself: it is already its reciprocal",
                (("x * rstd", "x / rstd"),)),
        Mistake("rstd recomputed", "rstd is computed again from x; a kernel must be right for any rstd that was saved",
                (("x * rstd", "x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6)"),)),
        Mistake("mean taken off", "that is layer norm: RMS norm does not centre its rows",
                (("x * rstd", "(x - np.mean(x, axis=-1, keepdims=True)) * rstd"),)),
    ),
    "rms_row_mean": (
        Mistake("missing 1/n", "the row is summed, not averaged", (("np.mean(", "np.sum("),)),
        Mistake("gamma forgotten", "the mean is taken of dy instead of dy * gamma", (("dy * gamma", "dy"),)),
        Mistake("dy forgotten", "a mean of the forward pass is reused for the backward one",
                (("dy * gamma", "gamma"),)),
    ),
    "rms_dx": (
        Mistake("projection missing", "rstd is taken for a constant, but every x of the row is in it",
                ((" - xhat * np.mean(dy * gamma * xhat, axis=-1, keepdims=True)", ""),)),
        Mistake("missing 1/n", "the row mean is written as a row sum", (("np.mean(", "np.sum("),)),
        Mistake("last rstd forgotten", "the bracket is returned without its factor", ((")) * rstd", "))"),)),
        Mistake("gamma forgotten in the mean", "the mean is taken of dy instead of dy * gamma",
                (("np.mean(dy * gamma", "np.mean(dy"),)),
    ),
    "rms_dgamma": (
        Mistake("rows averaged", "the loss is a sum over the rows, so their gradients add up",
                (("np.sum(dy * x * rstd, axis=0)", "np.mean(dy * x * rstd, axis=0)"),)),
        Mistake("last row only", "each row overwrites dgamma instead of adding to it",
                (("np.sum(dy * x * rstd, axis=0)", "(dy * x * rstd)[-1]"),)),
        Mistake("x for x-hat", "gamma multiplies the normalised x, not x", ((" * rstd", ""),)),
    ),
    "rms_kernel": (
        Mistake("missing 1/n", "", (("np.mean(", "np.sum("),)),
        Mistake("dgamma with gamma", "", (("np.sum(dy * xhat", "np.sum(dy * gamma * xhat"),)),
        Mistake("last rstd forgotten", "", (("xhat * mean) * rstd", "xhat * mean)"),)),
    ),
}
