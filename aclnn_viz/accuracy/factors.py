"""The elementwise parts of the backward operators on every input of a 16-bit format."""

import numpy as np

from aclnn_viz.accuracy.sweeps import Sweep, sweep
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.plan import HOST, Plan
from aclnn_viz.arrays.planned import PlannedArrays
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import problem
from aclnn_viz.kernels import group_norm_swish, hardswish

FACTORS = {
    "hardswish": lambda xp, x, scale: hardswish.slope(xp, x),
    "swish": lambda xp, x, scale: group_norm_swish.swish_slope(xp, x, scale),
}


def sweep_factor(factor: str, dtype, plan: Plan = HOST, swishScale: float = 1.0) -> Sweep:
    """Sweep "hardswish", the slope of hardswish, or "swish", that of z * sigmoid(swishScale * z), under a plan.

    The truth is the same page in float64. Raises ValueError for another factor or a wider format.

    >>> sweep_factor("hardswish", "bfloat16").ulp_counts["exact"]
    65280
    """
    if factor not in FACTORS:
        raise ValueError(problem(f"factor must be one of {', '.join(FACTORS)}", repr(factor), "choose one"))
    fmt, slope = float_format(dtype), FACTORS[factor]

    def planned(x: np.ndarray) -> np.ndarray:
        xp = PlannedArrays(plan, fmt)
        return plan.output("out", slope(xp, xp.given(x), swishScale).data, fmt)

    return sweep(planned, lambda x: slope(NumPyArrays(), x, swishScale), fmt)
