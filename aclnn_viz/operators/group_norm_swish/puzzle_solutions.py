"""Solutions of the puzzles on group norm and swish."""

import math

import numpy as np

from aclnn_viz.checking.puzzles.solutions import Mistake


def swish_slope(z, swishScale):
    t = swishScale * z
    sigmoid = 0.5 * (1 + np.tanh(t / 2))
    return sigmoid * (1 + t * (1 - sigmoid))


def gn_xhat(x, mean, rstd, numGroups):
    shape = (len(x), numGroups, -1)
    return ((x.reshape(shape) - mean[..., None]) * rstd[..., None]).reshape(x.shape)


def gn_means(dxhat, xhat, numGroups):
    shape = (len(xhat), numGroups, -1)
    return np.mean((dxhat * xhat).reshape(shape), axis=-1), np.mean(dxhat.reshape(shape), axis=-1)


def gn_dx(dxhat, xhat, rstd):
    along = np.mean(dxhat * xhat, axis=-1, keepdims=True)
    shift = np.mean(dxhat, axis=-1, keepdims=True)
    return (dxhat - xhat * along - shift) * rstd


def gn_parameters(dz, xhat):
    return np.sum(dz * xhat, axis=(0, 2)), np.sum(dz, axis=(0, 2))


def gn_kernel(dy, mean, rstd, x, gamma, beta, numGroups, dataFormatOptional, swishScale, dgammaIsRequire,
              dbetaIsRequire):
    wide = np.promote_types(x.dtype, np.float32)
    shape = (len(x), numGroups, x.shape[1] // numGroups, math.prod(x.shape[2:]))
    dy4, x4 = dy.astype(wide).reshape(shape), x.astype(wide).reshape(shape)
    scale, offset = gamma.astype(wide).reshape(numGroups, -1, 1), beta.astype(wide).reshape(numGroups, -1, 1)
    mean, rstd = mean.astype(wide)[..., None, None], rstd.astype(wide)[..., None, None]
    xhat = (x4 - mean) * rstd
    t = swishScale * (xhat * scale + offset)
    tail = np.exp(-np.abs(t))
    large, small = 1 / (1 + tail), tail / (1 + tail)
    dz = dy4 * np.where(t < 0, small, large) * (1 + t * np.where(t < 0, large, small))
    dxhat = dz * scale
    along = np.mean(dxhat * xhat, axis=(2, 3), keepdims=True)
    shift = np.mean(dxhat, axis=(2, 3), keepdims=True)
    out = {"dxOut": ((dxhat - xhat * along - shift) * rstd).reshape(x.shape).astype(x.dtype)}
    sums = {"dgammaOut": np.sum(dz * xhat, axis=(0, 3)), "dbetaOut": np.sum(dz, axis=(0, 3))}
    asked = {"dgammaOut": dgammaIsRequire, "dbetaOut": dbetaIsRequire}
    return out | {name: total.reshape(-1).astype(gamma.dtype) for name, total in sums.items() if asked[name]}


ALONG, SHIFT = "np.mean((dxhat * xhat).reshape(shape), axis=-1)", "np.mean(dxhat.reshape(shape), axis=-1)"
ALONG4 = "np.mean(dxhat * xhat, axis=(2, 3), keepdims=True)"
SHIFT4 = "np.mean(dxhat, axis=(2, 3), keepdims=True)"

MISTAKES = {
    "swish_slope": (
        Mistake("exp overflows", "exp(t) / (1 + exp(t)) is inf / inf for large t",
                {"0.5 * (1 + np.tanh(t / 2))": "np.exp(t) / (1 + np.exp(t))"}),
        Mistake("swishScale in one factor only",
                "the inner derivative is forgotten: t = s z stands in the second term, too",
                {"t * (1 - sigmoid)": "z * (1 - sigmoid)"}),
        Mistake("sigmoid alone", "z is in the second factor, too: the other term of the product rule is missing",
                {" * (1 + t * (1 - sigmoid))": ""}),
    ),
    "gn_xhat": (
        Mistake("groups interleaved", "channel c belongs to group c // (C / numGroups), not to c % numGroups",
                {"((x.reshape(shape) - mean[..., None]) * rstd[..., None]).reshape(x.shape)":
                 "(x - np.tile(mean, (1, x.shape[1] // numGroups))[..., None]) "
                 "* np.tile(rstd, (1, x.shape[1] // numGroups))[..., None]"}),
        Mistake("mean forgotten", "x-hat as in RMS norm: here the group is centred",
                {"(x.reshape(shape) - mean[..., None])": "x.reshape(shape)"}),
        Mistake("sigma for rstd", "the saved tensor is taken for the root itself: it is already its reciprocal",
                {" * rstd": " / rstd"}),
    ),
    "gn_means": (
        Mistake("missing 1/n", "the group is summed, not averaged; the documentation prints it so",
                {ALONG: ALONG.replace("mean", "sum"), SHIFT: SHIFT.replace("mean", "sum")}),
        Mistake("sums over the batch", "both means belong to one sample: (numGroups,) is too few",
                {ALONG: ALONG.replace("axis=-1", "axis=(0, -1)"), SHIFT: SHIFT.replace("axis=-1", "axis=(0, -1)")}),
        Mistake("statistics of one channel", "that is instance norm: a group has several channels",
                {"(len(xhat), numGroups, -1)": "xhat.shape"}),
    ),
    "gn_dx": (
        Mistake("change of the mean forgotten", "every x of the group is in the mean, too", {" - shift": ""}),
        Mistake("missing 1/n", "the group is summed, not averaged; the documentation prints it so",
                {"np.mean(dxhat * xhat": "np.sum(dxhat * xhat", "np.mean(dxhat,": "np.sum(dxhat,"}),
        Mistake("change of rstd forgotten", "every x of the group is in rstd, too", {" - xhat * along": ""}),
        Mistake("last rstd forgotten", "the bracket is returned without its factor", {" * rstd": ""}),
    ),
    "gn_parameters": (
        Mistake("samples averaged", "the loss is a sum over the samples, so their gradients add up",
                {"np.sum(dz * xhat, axis=(0, 2))": "np.sum(dz * xhat, axis=(0, 2)) / len(dz)",
                 ", np.sum(dz, axis=(0, 2))": ", np.sum(dz, axis=(0, 2)) / len(dz)"}),
        Mistake("last sample only", "each sample overwrites what the one before has added",
                {"np.sum(dz * xhat, axis=(0, 2))": "np.sum((dz * xhat)[-1], axis=1)",
                 ", np.sum(dz, axis=(0, 2))": ", np.sum(dz[-1], axis=1)"}),
        Mistake("positions not summed", "gamma and beta hold one number for a channel, not for a position",
                {"np.sum(dz * xhat, axis=(0, 2))": "np.sum(dz * xhat, axis=0)",
                 ", np.sum(dz, axis=(0, 2))": ", np.sum(dz, axis=0)"}),
    ),
    "gn_kernel": (
        Mistake("missing 1/n", "", {ALONG4: ALONG4.replace("mean", "sum"), SHIFT4: SHIFT4.replace("mean", "sum")}),
        Mistake("change of the mean forgotten", "", {" - shift": ""}),
        Mistake("statistics of one channel", "", {ALONG4: ALONG4.replace("(2, 3)", "3"),
                                                  SHIFT4: SHIFT4.replace("(2, 3)", "3")}),
    ),
}
