"""Acceptance standards in use for Ascend operators, side by side: named objects with a source and a judge.

>>> import numpy as np
>>> from aclnn_viz.accuracy.standards import mixed_tolerance
>>> mixed_tolerance.judge(np.float32([1.0]), np.array([1.0])) == "pass"
True
"""

from aclnn_viz.accuracy.standards import msprobe
from aclnn_viz.accuracy.standards.baselines import LEVELS, cancellation_gate, dual_benchmark, msprobe_benchmark
from aclnn_viz.accuracy.standards.tolerances import allclose, mixed_tolerance, single_benchmark
from aclnn_viz.accuracy.standards.verdict import FAIL, NOT_APPLICABLE, PASS, Judging, Standard, Verdict

STANDARDS = (
    mixed_tolerance,
    single_benchmark,
    *(dual_benchmark(level, guarded) for guarded in (False, True) for level in LEVELS),
    cancellation_gate,
    msprobe.compare,
    msprobe.api,
    msprobe.ulp_standard,
    msprobe.absolute_threshold,
    *(msprobe_benchmark(level) for level in LEVELS),
    allclose,
)

__all__ = ["FAIL", "NOT_APPLICABLE", "PASS", "STANDARDS", "Judging", "Standard", "Verdict", "allclose",
           "cancellation_gate", "mixed_tolerance", "msprobe", "single_benchmark"]
