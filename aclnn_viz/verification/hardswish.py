"""What is verified of hardswish."""

import numpy as np

from aclnn_viz.accuracy import sweep
from aclnn_viz.cases import case
from aclnn_viz.codes import ACL_INT8
from aclnn_viz.dtypes import FLOAT16, FLOAT32
from aclnn_viz.operators import operator
from aclnn_viz.products import A2, A3, ASCEND_950, INFERENCE, TRAINING
from aclnn_viz.verification.contract import HALVES_AND_FLOAT, INNER_NULL, INVALID, nulls
from aclnn_viz.words.speech import message

SHAPES = ((), (1,), (7,), (3, 5, 2), (1,) * 8, (0, 4), (257, 33))
MODES = ({},)
#: A large case for the accuracy report: shape and mode.
REPORTED = ((500, 400), {})


def draw(dtype, shape, mode, seed) -> dict:
    return case("hardswish", dtype=dtype, shape=shape, seed=seed).inputs


def magnitudes(*, gradOutput, self) -> dict:
    """S of each output element: grad * x/3 and grad * 1/2 are the terms of the linear part."""
    g, x = np.abs(gradOutput.astype(np.float64)), self.astype(np.float64)
    return {"out": np.where(x < -3, 0, np.where(x <= 3, g * (np.abs(x) / 3 + 0.5), g))}


def smooth(rng, mode, forward=operator("hardswish").forward):
    """A point away from the kinks, its loss by the given forward pass, and the gradient of the loss there."""
    x = rng.choice([-4, -2, -1, 0, 1, 2, 4], 40) + rng.uniform(-0.5, 0.5, 40)
    return pullback({"self": x}, rng.standard_normal(40), forward)


def pullback(point, seed, forward=operator("hardswish").forward):
    loss = lambda p: float(np.sum(seed * forward(**p)["out"]))  # noqa: E731
    return point, loss, {"self": operator("hardswish").backward(gradOutput=seed, **point)["out"]}


def kinks():
    """(where, point, loss, gradient, direction) such that the one-sided Taylor rate is 2: the interval is closed."""
    for x, inward in ((-3.0, 1.0), (3.0, -1.0)):
        point, loss, gradient = pullback({"self": np.array([x])}, np.ones(1))
        yield message("at {x} towards 0", x=x), point, loss, gradient, {"self": np.array([inward])}


def small(mode, seed) -> dict:
    """A small case away from the kinks, in float32."""
    point, _, _ = smooth(np.random.default_rng(seed), mode)
    x = point["self"].astype(np.float32)
    return {"gradOutput": np.random.default_rng(seed + 1).standard_normal(x.shape).astype(np.float32), "self": x}


def symbols(inputs):
    """The sizes of the derived formulas, and the inputs by the names that stand in them."""
    from derivations.hardswish import derive

    (length,) = derive().formulas()["out"].leaves["self"]
    return {length: inputs["self"].size}, inputs


def symbolic_forward(*, self) -> dict:
    """The definition that the slope was derived from, evaluated."""
    from derivations import evaluate
    from derivations.hardswish import hardswish, i, this

    return {"out": evaluate(hardswish(this[i]), {"self": self}, {i: self.size})}


def sweeps() -> dict:
    """The operator with gradient 1."""
    def alone(function):
        return lambda x: function(gradOutput=np.ones_like(x), self=x)["out"]

    op = operator("hardswish")
    return {"hardswish": lambda fmt: sweep(alone(op.backward), alone(op.truth), fmt)}


#: Formats that a call in one format may have, by product; all else is refused.
SUPPORTED = dict.fromkeys((A2, A3, ASCEND_950), HALVES_AND_FLOAT) | {TRAINING: {FLOAT16, FLOAT32}}
#: Arguments of phase 1 that pass: (shape, dtype) of tensors.
GOOD = dict(gradOutput=((2, 3),), self=((2, 3),), out=((2, 3),))
#: (what is spoiled, the status of phase 1 on an Atlas A2 with CANN 9.1).
CLAUSES = (
    ({}, 0), *nulls("gradOutput self out"), ({"self": ((2, 3), ACL_INT8)}, INVALID),
    ({"out": ((2, 3), FLOAT16.acl_code)}, INVALID), ({"gradOutput": ((3, 2),)}, INVALID),
    ({"out": ((3, 2),)}, INVALID),
)


def refusal(fmt, product) -> int:
    """On 310P the check passes, and no kernel is found."""
    return INNER_NULL if product is INFERENCE and fmt in (FLOAT16, FLOAT32) else INVALID
