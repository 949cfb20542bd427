"""What the errata of this operator compute: errata.toml says of what."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification import contract
from aclnn_viz.verification.errata.model import one_sided

KINKS = np.array([-3.0, 3.0])


def first_version(x):
    """0 below -3, x/3 + 1/2 on [-3, 3], 1 above."""
    return np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))


def second_version(x):
    """0 up to -3, x/3 + 1/2 in (-3, 3), 1 from 3 on."""
    return np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1))


def from_outside():
    forward = lambda x: float(operator("hardswish").forward(self=np.array([x]))["out"][0])  # noqa: E731
    return [one_sided(forward, -3.0, -1), one_sided(forward, 3.0, 1)]


def of_nan(dtype, soc):
    """out for self = nan and gradOutput = 5."""
    given = {
        "gradOutput": np.full(1, 5, dtype),
        "self": np.full(1, np.nan, dtype),
        "out": np.zeros(1, dtype),
    }
    return contract.run("hardswish", soc, predict=True, **given).outputs["out"]
