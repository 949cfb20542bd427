"""What is verified of group norm + swish."""

import numpy as np

from aclnn_viz.accuracy import sweep_factor
from aclnn_viz.cases import case
from aclnn_viz.codes import ACL_INT8
from aclnn_viz.operators import operator
from aclnn_viz.products import A2, A3, ASCEND_950
from aclnn_viz.verification.contract import HALVES_AND_FLOAT, INVALID, nulls
from aclnn_viz.verification.definitions import inlined

SHAPES = ((1, 1), (2, 6), (2, 4, 3), (3, 6, 5, 7), (1, 2, 1, 1, 3, 1, 2, 2), (0, 4, 3), (2, 32, 33, 31))
MODES = ({}, {"swishScale": 1.7}, {"swishScale": -0.5}, {"swishScale": 0.0}, {"numGroups": 1},
         {"mean": 0.5, "rstd": -2.0})
#: A large case for the accuracy report: shape and mode.
REPORTED = ((4, 50, 25, 40), {"numGroups": 10})


def draw(dtype, shape, mode, seed) -> dict:
    return case("group_norm_swish", dtype=dtype, shape=shape, seed=seed, **mode).inputs


def magnitudes(*, dy, mean, rstd, x, gamma, beta, numGroups, dataFormatOptional="NCHW", swishScale=1.0,
               dgammaIsRequire=True, dbetaIsRequire=True) -> dict:
    """S of each output element, and for z = gamma * x-hat + beta the derivative times the sum of its two parts."""
    shape = (x.shape[0], numGroups, x.shape[1] // numGroups, int(np.prod(x.shape[2:])))
    dy, x = (t.astype(np.float64).reshape(shape) for t in (dy, x))
    mean, rstd = (t.astype(np.float64)[..., None, None] for t in (mean, rstd))
    gamma, beta = (t.astype(np.float64).reshape(1, *shape[1:3], 1) for t in (gamma, beta))
    s, n = swishScale, shape[2] * shape[3]
    xhat = (x - mean) * rstd
    z = xhat * gamma + beta
    parts = np.abs(xhat * gamma) + np.abs(beta)
    sigma, tail = 1 / (1 + np.exp(-s * z)), 1 / (1 + np.exp(s * z))
    bend = s * sigma * tail * (2 + s * z * (tail - sigma))  # second derivative of z sigmoid(s z)
    dz = np.abs(dy) * (sigma + np.abs(sigma * s * z * tail) + np.abs(bend) * parts)
    group = dict(axis=(2, 3), keepdims=True)
    dx = np.abs(rstd) * (np.abs(gamma) * dz + np.abs(xhat) * np.sum(np.abs(gamma * xhat) * dz, **group) / n
                         + np.sum(np.abs(gamma) * dz, **group) / n)
    return {"dxOut": dx, "dgammaOut": np.sum(dz * np.abs(xhat), axis=(0, 3)), "dbetaOut": np.sum(dz, axis=(0, 3))}


def smooth(rng, mode, forward=operator("group_norm_swish").forward):
    """A point, its loss by the given forward pass, and the gradient of the loss there."""
    op = operator("group_norm_swish")
    options = {"numGroups": mode.get("numGroups", 2), "swishScale": mode.get("swishScale", 1.0)}
    point = {"x": rng.standard_normal((2, 4, 5)), "gamma": rng.standard_normal(4), "beta": rng.standard_normal(4)}
    seed = rng.standard_normal((2, 4, 5))
    loss = lambda p: float(np.sum(seed * forward(**p, **options, eps=0.1)["y"]))  # noqa: E731
    saved = op.forward(**point, **options, eps=0.1)
    out = op.backward(dy=seed, mean=saved["mean"], rstd=saved["rstd"], **point, **options)
    return point, loss, {"x": out["dxOut"], "gamma": out["dgammaOut"], "beta": out["dbetaOut"]}


def small(mode, seed) -> dict:
    """A small case in float32."""
    return draw("float32", (2, 4, 3), mode, seed)


def symbols(inputs):
    """The sizes of the derived formulas, and the inputs by the names that stand in them."""
    from derivations.group_norm_swish import D, G, N, P

    samples, channels, *rest = inputs["x"].shape
    groups = inputs["numGroups"]
    return {N: samples, G: groups, D: channels // groups, P: int(np.prod(rest))}, inputs


def symbolic_forward(*, x, gamma, beta, numGroups, eps, swishScale) -> dict:
    """The definition that the gradients were derived from, evaluated."""
    from derivations import evaluate

    out, definition = inlined("group_norm_swish", "out")
    shape = (x.shape[0], numGroups, x.shape[1] // numGroups, x[0, 0].size)
    channel = shape[1:3]
    values = {"x": x.reshape(shape), "gamma": gamma.reshape(channel), "beta": beta.reshape(channel), "eps": eps,
              "swishScale": swishScale} | dict(zip("NGDP", shape))
    return {"y": evaluate(definition, values, dict(zip(out.indices, shape))).reshape(x.shape)}


def sweeps() -> dict:
    """The factor of swish with scale 1."""
    return {"swish factor": lambda fmt: sweep_factor("swish", fmt)}


#: Formats that a call in one format may have, by product; all else is refused.
SUPPORTED = dict.fromkeys((A2, A3, ASCEND_950), HALVES_AND_FLOAT)
#: Arguments of phase 1 that pass: (shape, dtype) of tensors.
GOOD = dict(dy=((2, 4, 3),), mean=((2, 2),), rstd=((2, 2),), x=((2, 4, 3),), gamma=((4,),),
            beta=((4,),), numGroups=2, dataFormatOptional="NCHW", swishScale=1.0,
            dgammaIsRequire=True, dbetaIsRequire=True, dxOut=((2, 4, 3),), dgammaOut=((4,),),
            dbetaOut=((4,),))
#: (what is spoiled, the status of phase 1 on an Atlas A2 with CANN 9.1).
CLAUSES = (
    ({}, 0), *nulls("dy mean rstd x gamma beta dxOut dgammaOut dbetaOut"),
    ({"dy": ((2, 4, 3), ACL_INT8)}, INVALID),
    ({"gamma": ((5,),)}, 0), ({"numGroups": 3}, 0),
)
