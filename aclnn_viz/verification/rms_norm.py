"""What is verified of rms norm."""

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.codes import ACL_INT8
from aclnn_viz.dtypes import FLOAT16, FLOAT32
from aclnn_viz.operators import operator
from aclnn_viz.products import A2, A3, ASCEND_950, INFERENCE, TRAINING
from aclnn_viz.verification.contract import HALVES_AND_FLOAT, INVALID, TILING, nulls
from aclnn_viz.verification.definitions import inlined

SHAPES = ((1,), (17,), (4, 1), (3, 16), (2, 3, 5), (2, 1, 3, 2, 1, 2, 1, 4), (257, 255), (0, 4))
MODES = ({"gamma_ndim": 1}, {"gamma_ndim": 2}, {"gamma_ndim": 3}, {"rstd": -1.75})
#: A large case for the accuracy report: shape and mode.
REPORTED = ((400, 500), {})


def draw(dtype, shape, mode, seed) -> dict:
    """A case; gamma spans no more axes than there are."""
    axes = min(mode.get("gamma_ndim", 1), len(shape))
    return case("rms_norm", dtype=dtype, shape=shape, seed=seed, **mode | {"gamma_ndim": axes}).inputs


def magnitudes(*, dy, x, rstd, gamma) -> dict:
    """S of each output element; the row mean counts as its n terms."""
    lead = x.shape[:x.ndim - gamma.ndim]
    rows = int(np.prod(lead))
    d, a = (np.abs(t.astype(np.float64)).reshape(rows, gamma.size) for t in (dy, x))
    r = np.abs(rstd.astype(np.float64)).reshape(rows, 1)
    g = np.abs(gamma.astype(np.float64)).reshape(-1)
    mean = np.mean(d * g * a * r, axis=1, keepdims=True)
    return {"dxOut": r * (d * g + a * r * mean), "dgammaOut": np.sum(d * a * r, axis=0)}


def smooth(rng, mode, forward=operator("rms_norm").forward):
    """A point, its loss by the given forward pass, and the gradient of the loss there."""
    op = operator("rms_norm")
    gamma_shape = (2, 6)[-min(mode.get("gamma_ndim", 1), 2):]
    point = {"x": rng.standard_normal((4, 2, 6)), "gamma": rng.standard_normal(gamma_shape)}
    seed = rng.standard_normal((4, 2, 6))
    loss = lambda p: float(np.sum(seed * forward(**p, epsilon=0.1)["y"]))  # noqa: E731
    out = op.backward(dy=seed, rstd=op.forward(**point, epsilon=0.1)["rstd"], **point)
    return point, loss, {"x": out["dxOut"], "gamma": out["dgammaOut"]}


def small(mode, seed) -> dict:
    """A small case in float32."""
    return draw("float32", (2, 3, 4), mode, seed)


def symbols(inputs):
    """The sizes of the derived formulas, and the inputs by the names that stand in them."""
    from derivations.rms_norm import m, n

    return {m: inputs["rstd"].size, n: inputs["gamma"].size}, inputs


def symbolic_forward(*, x, gamma, epsilon) -> dict:
    """The definition that the gradients were derived from, evaluated."""
    from derivations import evaluate

    y, definition = inlined("rms_norm", "y")
    shape = x.size // gamma.size, gamma.size
    values = {"x": x.reshape(shape), "gamma": gamma.reshape(-1), "epsilon": epsilon, "m": shape[0], "n": shape[1]}
    return {"y": evaluate(definition, values, dict(zip(y.indices, shape))).reshape(x.shape)}


#: Formats that a call in one format may have, by product; all else is refused.
SUPPORTED = dict.fromkeys((A2, A3, ASCEND_950), HALVES_AND_FLOAT) | {
    INFERENCE: {FLOAT16, FLOAT32},
    TRAINING: {FLOAT16, FLOAT32}}  # 910: not in the documents, but in the registry of CANN 8.1
#: Arguments of phase 1 that pass: (shape, dtype) of tensors.
GOOD = dict(dy=((2, 64),), x=((2, 64),), rstd=((2,),), gamma=((64,),), dxOut=((2, 64),),
            dgammaOut=((64,),))
#: (what is spoiled, the status of phase 1 on an Atlas A2 with CANN 9.1).
CLAUSES = (
    ({}, 0), *nulls("dy x rstd gamma dxOut dgammaOut"), ({"x": ((2, 64), ACL_INT8)}, INVALID),
    ({"rstd": ((2,), FLOAT16.acl_code)}, INVALID), ({"dy": ((2, 63),)}, TILING),
    ({"gamma": ((63,),)}, TILING), ({"rstd": ((3,),)}, TILING), ({"rstd": ((2, 1),)}, 0),
)


def plain(fmt) -> dict:
    """32 bytes in the last axis for 310P, 64 elements for 910."""
    return {"shape": (6, 64)}
