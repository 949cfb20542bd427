"""Puzzles on the gradient of group norm and swish: a smooth slope, groups of channels, their means, all of it fused;
and a detective case in tiles.
"""

import math
from functools import partial

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.puzzles.detective import Detective
from aclnn_viz.puzzles.puzzle import Curve, Puzzle, Reads
from aclnn_viz.puzzles.symptoms import error_map, table
from aclnn_viz.puzzles.tiles.detective import TileDetective

from aclnn_viz.operators.group_norm_swish import page

XP = NumPyArrays()


def sigmoid(t):
    """1 / (1 + exp(-t)) for one number, without overflow."""
    return 1.0 / (1.0 + math.exp(-t)) if t >= 0.0 else math.exp(t) / (1.0 + math.exp(t))


def swish_slope(z, swishScale):
    """The slope of z sigmoid(s z) with s = swishScale, for z (n,) of any size: both tails are asked for."""
    slope = np.zeros_like(z)
    for i in range(z.size):
        s = (
            1.0 / (1.0 + math.exp(-min(swishScale * z[i], 700.0)))
            if swishScale * z[i] > -700.0
            else 0.0
        )
        slope[i] = s + z[i] * swishScale * s * (1.0 - s)  # product rule
    return slope


def gn_xhat(x, mean, rstd, numGroups):
    """x-hat of x (N, C, P): neighbouring channels form a group, and mean and rstd (N, numGroups) hold one number for
    each."""
    xhat = np.zeros_like(x)
    for n in range(x.shape[0]):
        for c in range(x.shape[1]):
            group = c // (x.shape[1] // numGroups)
            for p in range(x.shape[2]):
                xhat[n, c, p] = (x[n, c, p] - mean[n, group]) * rstd[n, group]
    return xhat


def gn_means(dxhat, xhat, numGroups):
    """Two means over every group of every sample, each (N, numGroups): that of dxhat x-hat, which a change of rstd
    takes back, and that of dxhat, which a change of the mean takes back."""
    N, C, P = xhat.shape
    along, shift = np.zeros((N, numGroups)), np.zeros((N, numGroups))
    for n in range(N):
        for c in range(C):
            for p in range(P):
                group = c // (C // numGroups)
                along[n, group] += dxhat[n, c, p] * xhat[n, c, p] / (C // numGroups * P)
                shift[n, group] += dxhat[n, c, p] / (C // numGroups * P)
    return along, shift


def gn_dx(dxhat, xhat, rstd):
    """dx (groups, n) through the whole Jacobian of the normalisation of each group, given rstd (groups, 1); write it
    without the loop over pairs."""
    groups, n = xhat.shape
    dx = np.zeros_like(xhat)
    for g in range(groups):
        for i in range(n):
            for j in range(n):
                direct = 1.0 if i == j else 0.0
                through_mean = -1.0 / n
                through_rstd = -xhat[g, i] * xhat[g, j] / n
                dx[g, i] += dxhat[g, j] * (direct + through_mean + through_rstd) * rstd[g, 0]
    return dx


def gn_parameters(dz, xhat):
    """dgamma and dbeta (C,) of z = gamma x-hat + beta, from dz and x-hat (N, C, P)."""
    dgamma, dbeta = np.zeros_like(xhat[0, :, 0]), np.zeros_like(xhat[0, :, 0])
    for n in range(xhat.shape[0]):
        for c in range(xhat.shape[1]):
            for p in range(xhat.shape[2]):
                dgamma[c] += dz[n, c, p] * xhat[n, c, p]
                dbeta[c] += dz[n, c, p]
    return dgamma, dbeta


def gn_kernel(
    dy,
    mean,
    rstd,
    x,
    gamma,
    beta,
    numGroups,
    dataFormatOptional,
    swishScale,
    dgammaIsRequire,
    dbetaIsRequire,
):
    """The whole kernel: x (N, C, ...) of any rank, sums of 16-bit inputs in float32, every output in the format of its
    input, dgammaOut and dbetaOut only if they are asked for; a dict by the vendor's names."""
    wide = np.promote_types(x.dtype, np.float32).type
    per_group = x.shape[1] // numGroups
    n = per_group * math.prod(x.shape[2:])
    dx, dgamma, dbeta = np.zeros_like(x), np.zeros(gamma.shape, wide), np.zeros(beta.shape, wide)
    for sample, group in np.ndindex(x.shape[0], numGroups):
        along = shift = 0.0
        places = [
            (sample, group * per_group + k) + p
            for k in range(per_group)
            for p in np.ndindex(x.shape[2:])
        ]
        xhats, dxhats = {}, {}
        for at in places:
            g, b = float(gamma[at[1]]), float(beta[at[1]])
            xhat = (float(x[at]) - float(mean[sample, group])) * float(rstd[sample, group])
            t = swishScale * (xhat * g + b)
            dz = float(dy[at]) * sigmoid(t) * (1.0 + t * sigmoid(-t))
            dgamma[at[1]] += dz * xhat
            dbeta[at[1]] += dz
            along, shift = along + dz * g * xhat / n, shift + dz * g / n
            xhats[at], dxhats[at] = xhat, dz * g
        for at in places:
            dx[at] = (dxhats[at] - xhats[at] * along - shift) * float(rstd[sample, group])
    parts = {
        "dgammaOut": (dgamma, gamma, dgammaIsRequire),
        "dbetaOut": (dbeta, beta, dbetaIsRequire),
    }
    return {"dxOut": dx} | {
        name: total.astype(like.dtype) for name, (total, like, asked) in parts.items() if asked
    }


def drawn(seed, N, C, P, numGroups, *names):
    """Random tensors of group norm by name; mean and rstd are those of x, of the samples with an odd number not."""
    rng = np.random.default_rng(seed)
    x = rng.normal(1.5, 2.0, (N, C, P))
    groups = x.reshape(N, numGroups, -1)
    mean, rstd = groups.mean(axis=2), 1.0 / np.sqrt(groups.var(axis=2) + 1e-5)
    rstd[1::2] = 0.7
    everything = {
        "x": x,
        "mean": mean,
        "rstd": rstd,
        "numGroups": numGroups,
        "dxhat": rng.normal(size=(N, C, P)),
        "dz": rng.normal(size=(N, C, P)),
        "xhat": rng.normal(size=(N, C, P)),
    }
    return {name: everything[name] for name in names}


SIZES = ((0, 2, 4, 3, 2), (1, 1, 6, 2, 3), (2, 3, 4, 1, 4), (3, 2, 6, 5, 2), (4, 1, 3, 4, 1))


def cases(*names):
    return tuple(drawn(*size, *names) for size in SIZES)


def rows():
    rng = np.random.default_rng(6)
    return tuple(
        {
            "dxhat": rng.normal(size=(groups, n)),
            "xhat": rng.normal(size=(groups, n)),
            "rstd": rng.uniform(0.3, 2.0, (groups, 1)),
        }
        for groups, n in ((3, 5), (1, 4), (2, 1), (4, 9))
    )


KERNEL = drawn(8, 1, 4, 2, 2, "mean", "rstd", "x") | {
    "dy": np.random.default_rng(9).normal(size=(1, 4, 2)),
    "gamma": np.array([1.0, 0.5, 2.0, 1.5]),
    "beta": np.array([0.0, 1.0, -1.0, 0.5]),
    "numGroups": 2,
    "dataFormatOptional": "NCHW",
    "swishScale": 1.0,
    "dgammaIsRequire": True,
    "dbetaIsRequire": True,
}

PUZZLES = (
    Puzzle(
        swish_slope,
        "A smooth slope",
        ("slope",),
        (
            "The product rule gives two terms; both contain the sigmoid, and the inner derivative gives the scale.",
            "np.exp(z) of 1000 is inf. Which formula of the sigmoid never overflows?",
            "With t = swishScale * z: sigmoid = 0.5 * (1 + np.tanh(t / 2)), then sigmoid * (1 + t * ...)",
        ),
        Curve(
            "z", -6.0, 6.0, ({"swishScale": 1.0}, {"swishScale": 2.5}, {"swishScale": -0.5}), (0.0,)
        ),
        tuple(
            {"z": z, "swishScale": s}
            for s in (1.0, 0.4, -1.3)
            for z in (
                np.linspace(-6.0, 6.0, 13),
                np.array([-1e4, -800.0, -90.0, 0.0, 90.0, 800.0, 1e4]),
            )
        ),
        lambda z, swishScale: page.swish_slope(XP, z, swishScale),
    ),
    Puzzle(
        gn_xhat,
        "Groups of channels",
        ("xhat",),
        (
            "Neighbouring channels belong together: a reshape brings a group into one axis.",
            "(N, C, P) becomes (N, numGroups, everything of a group); mean and rstd need one axis more.",
            "shape = (len(x), numGroups, -1); subtract mean[..., None], multiply, and reshape back to x.shape",
        ),
        Reads(drawn(8, 1, 4, 2, 2, "x", "mean", "rstd", "numGroups"), "xhat", (0, 2, 1)),
        cases("x", "mean", "rstd", "numGroups"),
    ),
    Puzzle(
        gn_means,
        "Two means of a group",
        ("along", "shift"),
        (
            "The same reshape as before brings a group into one axis.",
            "A mean divides by all elements of a group: its channels times the positions.",
            "np.mean((dxhat * xhat).reshape(shape), axis=-1), and the same of dxhat alone",
        ),
        Reads(drawn(8, 1, 4, 2, 2, "dxhat", "xhat", "numGroups"), "along", (0, 1)),
        cases("dxhat", "xhat", "numGroups"),
    ),
    Puzzle(
        gn_dx,
        "Three ways to x",
        ("dx",),
        (
            "The bracket has three terms. For each: what leaves the sum over j?",
            "The first leaves dxhat itself, the second a mean, the third x-hat times a mean.",
            "(dxhat - xhat * along - shift) * rstd, with the two means of the puzzle before, keepdims=True",
        ),
        Reads(rows()[1], "dx", (0, 1)),
        rows(),
    ),
    Puzzle(
        gn_parameters,
        "One gamma for a channel",
        ("dgamma", "dbeta"),
        (
            "Which axes are in dz but not in gamma?",
            "np.sum takes several axes at once.",
            "return np.sum(dz * xhat, axis=(0, 2)), ...",
        ),
        Reads(drawn(8, 2, 2, 2, 1, "dz", "xhat"), "dgamma", (1,)),
        cases("dz", "xhat"),
    ),
    Puzzle(
        gn_kernel,
        "Group norm and swish, fused",
        ("dxOut", "dgammaOut", "dbetaOut"),
        (
            "Five puzzles in a row: x-hat, dz through the slope of swish, dxhat = dz * gamma, the two means, dx.",
            "Reshape everything to (N, group, channel of the group, position); gamma and beta to (group, channel, 1). Take "
            "math.prod(x.shape[2:]) for the positions: -1 fails without samples.",
            "tail = np.exp(-np.abs(t)) never overflows; sigmoid(t) and sigmoid(-t) are 1 / (1 + tail) and tail / (1 + tail)"
            ", in one order or the other. Both are needed: 1 - sigmoid has no digits left for large t.",
        ),
        Reads(KERNEL, "dxOut", (0, 2, 1)),
    ),
)

DETECTIVES = (
    Detective(
        7,
        "one_sample",
        "group_norm_swish",
        "Never alone",
        "Every test with one sample passes. In a batch dxOut is wrong, and only that.",
        (
            ("one sample", {"shape": (1, 4, 6)}),
            ("two samples", {"shape": (2, 4, 6)}),
            ("five samples", {"shape": (5, 4, 6)}),
            ("one sample, one channel in a group", {"shape": (1, 4, 6), "numGroups": 4}),
        ),
        table,
        (
            "missing 1/n",
            "documented formula",
            "sums over the batch",
            "statistics of one channel",
            "dgamma of the last sample",
        ),
        (
            "Which sums run over the batch in a right kernel, and which must not?",
            "One sample is right, so no factor 1/n is missing.",
            "dgammaOut and dbetaOut are sums over the batch. Somebody may have used what they are made of twice.",
        ),
        "sums over the batch",
    ),
    Detective(
        8,
        "not_a_number",
        "group_norm_swish",
        "Nan by the group",
        "A model asked for a large swishScale. Two channels of one sample are nan in dxOut (a row is a channel here), "
        "one element of dgammaOut is, and all the rest is right.",
        (("swishScale = 25", {"shape": (2, 6, 8), "numGroups": 3, "swishScale": 25.0, "seed": 3}),),
        partial(error_map, output="dxOut", at=0),
        (
            "swish scale ignored",
            "sigmoid for the swish slope",
            "change of rstd forgotten",
            "exp overflows",
            "sums in float16",
        ),
        (
            "One element is enough to make a sum nan. How far does a sum reach here?",
            "What becomes of exp(t) / (1 + exp(t)) for t = 100 in float32?",
            "A large swishScale makes large t. The other groups were spared: none of their t is large enough.",
        ),
        "exp overflows",
    ),
)


TILE_DETECTIVES = (
    TileDetective(
        5,
        "one_channel",
        "group_norm_swish",
        "One channel is enough",
        "The tests had as many groups as channels. With fewer groups one of three outputs is wrong.",
        (
            ("4 channels, 4 groups", {"shape": (2, 4, 20), "numGroups": 4, "cores": 4}),
            ("4 channels, 2 groups", {"shape": (2, 4, 20), "numGroups": 2, "cores": 4}),
            ("1 sample, 4 groups", {"shape": (1, 4, 20), "numGroups": 4, "cores": 4}),
            (
                "4 channels, 2 groups, late",
                {"shape": (2, 4, 20), "numGroups": 2, "cores": 4, "schedule": "late"},
            ),
        ),
        table,
        (
            "first sample left out",
            "rest not stored",
            "divided by one channel",
            "samples not awaited",
        ),
        (
            "The order makes no difference: no wait is missing.",
            "dgammaOut and dbetaOut are sums over samples. Are they right?",
            "What does only dxOut need, and what does it depend on the number of channels in a group?",
        ),
        "divided by one channel",
    ),
)
