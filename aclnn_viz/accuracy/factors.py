"""The elementwise parts of the backward operators on every input of a 16-bit format."""

import numpy as np

from aclnn_viz.accuracy.sweeps import Sweep, sweep
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.plan import HOST, Plan
from aclnn_viz.arrays.planned import PlannedArrays
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import need, problem
from aclnn_viz.operators import operators


def factors() -> dict:
    """The elementwise factors that pages name, by their names: functions of the namespace, values and attributes."""
    return {name: function for op in operators() for name, function in getattr(op.page, "FACTORS", {}).items()}


def sweep_factor(factor: str, dtype, plan: Plan = HOST, **attributes) -> Sweep:
    """Sweep an elementwise factor that a page names in its FACTORS, such as "hardswish", its slope, under a plan.

    `attributes` go to the factor. The truth is the same page in float64. Raises ValueError for another factor or a
    wider format.

    >>> sweep_factor("hardswish", "bfloat16").ulp_counts["exact"]
    65280
    """
    known = factors()
    if not isinstance(factor, str) or factor not in known:
        raise ValueError(problem(f"factor must be one of {', '.join(known)}", repr(factor), "choose one"))
    need(plan, Plan, "plan is a Plan", "pass such as Plan(compute='float16')")
    fmt, slope = float_format(dtype), known[factor]

    def planned(x: np.ndarray) -> np.ndarray:
        xp = PlannedArrays(plan, fmt)
        return plan.output("out", slope(xp, xp.given(x), **attributes).data, fmt)

    return sweep(planned, lambda x: slope(NumPyArrays(), x, **attributes), fmt)
