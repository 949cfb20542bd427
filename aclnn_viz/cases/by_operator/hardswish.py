"""Generate test cases of hardswish, and measure which errors they can show: values around the bend, and the kinks at +-3
themselves.
"""

import numpy as np

from aclnn_viz.cases.default import Draw, sprinkle
from aclnn_viz.cases.vacuity import off, share, wide
from aclnn_viz.words.messages import message

SHAPE = (8, 16)
OPTIONS = ()
SPECIAL = (-3.0, 3.0, -1.5, 0.0)  # the kinks, the zero of the slope, the origin


def draw(source: Draw, shape) -> dict:
    x = source.tensor(
        "self", shape, lambda rng: sprinkle(rng, 3 * rng.standard_normal(shape), SPECIAL)
    )
    return {"gradOutput": source.normal("gradOutput", shape), "self": x}


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
