"""Hardswish: values around the bend, and the kinks at +-3 themselves."""

import numpy as np

from aclnn_viz.cases.default import Draw, sprinkle
from aclnn_viz.cases.vacuity import off, share, wide
from aclnn_viz.words.messages import message

SHAPE = (8, 16)
OPTIONS = ()
SPECIAL = (-3.0, 3.0, -1.5, 0.0)  # the kinks, the zero of the slope, the origin
INF = np.float32(np.inf)
STANDARD = ({}, {"shape": (1000,)})


def draw(source: Draw, shape) -> dict:
    x = source.tensor(
        "self", shape, lambda rng: sprinkle(rng, 3 * rng.standard_normal(shape), SPECIAL)
    )
    return {"gradOutput": source.normal("gradOutput", shape), "self": x}


def suite():
    yield {"shape": (6, 7)}
    yield {"shape": (3,), "self": np.float32([-3, 3, -1.5])}
    beside = np.nextafter(np.float32([-3, -3, 3, 3]), np.float32([-4, 0, 0, 4]))
    yield {"shape": (4,), "self": beside}
    yield {"shape": (5,), "self": np.float32([-INF, INF, 0, -0.0, 1e30]), "gradOutput": 2.0}
    yield {"shape": (5, 4), "strided": True}
    for dtype in ("float16", "bfloat16", "float64"):
        yield {"shape": (16, 17), "dtype": dtype}
    for shape in ((), (1,), (2, 1, 3, 1, 2, 1, 1, 2), (0, 3), (255,), (256,), (257,), (70, 500)):
        yield {"shape": shape}
    for dtype in ("float16", "bfloat16"):
        yield {"shape": (64, 64), "dtype": dtype}
        yield {"shape": (4, 6), "dtype": dtype, "strided": True}


def meter(self, gradOutput):
    x = wide(self)
    distance = np.min(np.abs(np.abs(x[np.isfinite(x)]) - 3.0), initial=np.inf)
    return {
        "x < -3": share(x < -3),
        "x = -3": share(x == -3),
        "-3 < x < 3": share(np.abs(x) < 3),
        "x = 3": share(x == 3),
        "x > 3": share(x > 3),
        message("infinite x"): share(np.isinf(x)),
        message("closeness to a kink"): 1.0 / (1.0 + distance),
        "gradOutput": off(gradOutput, 1.0),
    }
