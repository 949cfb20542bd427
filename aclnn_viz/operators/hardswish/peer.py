"""PyTorch's gradient of hardswish, to compare ours with: hardswish_backward of ATen, with the known differences at -3 and 3 and
for special numbers.
"""

import numpy as np

from aclnn_viz.operators.peers import Difference

ATEN = "hardswish_backward(gradOutput, self)"


def page(xp, gradOutput, self):
    """Return the automatic derivative of x * clip(x + 3, 0, 6) / 6; near a kink x + 3 may round onto it."""
    # Beyond 4 and -4, take 4 and -4, which have the same slope: x + 3 stays finite, and a nan,
    # which becomes 4, has the page's slope 1.
    far = xp.full_like(self, 4.0)
    near = xp.where(self < 4.0, xp.where(self > -4.0, self, -far), far)
    share, lifted = gradOutput / 6.0, near + 3.0
    inside = xp.where((lifted >= 0.0) & (lifted <= 6.0), near, xp.zeros_like(near))
    return {"out": share * xp.clip(lifted, 0.0, 6.0) + share * inside}


ARRANGEMENTS = (page,)


def _open(at: float, slope: float):
    return lambda inputs: {
        "out": (inputs["self"] == at, slope * inputs["gradOutput"].astype(np.float64))
    }


SOURCE = "pytorch issue 147801, pull requests 143899 and 148049"
DIFFERENCES = {
    "torch": (
        Difference(
            "the interval is open at -3: slope 0",
            SOURCE,
            values=_open(-3.0, 0.0),
            convention="gradOutput = 1, self = -3",
        ),
        Difference(
            "the interval is open at 3: slope 1",
            SOURCE,
            values=_open(3.0, 1.0),
            convention="gradOutput = 1, self = 3",
        ),
        Difference(
            "below -3 an infinite gradient gives 0, not nan",
            SOURCE,
            convention="gradOutput = inf, self = -4",
        ),
        Difference(
            "below -3 a gradient that is nan gives 0, not nan",
            SOURCE,
            convention="gradOutput = nan, self = -4",
        ),
    )
}

DUMPED = {"hardswish": "input: self, inplace"}
