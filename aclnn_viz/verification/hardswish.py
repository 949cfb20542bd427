"""What is verified of hardswish."""

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.operators import operator

SHAPES = ((), (1,), (7,), (3, 5, 2), (1,) * 8, (0, 4), (257, 33))
MODES = ({},)


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
        yield f"at {x} towards 0", point, loss, gradient, {"self": np.array([inward])}


def derivation_mode(mode) -> dict:
    return {}


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
