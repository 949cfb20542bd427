"""`check`: is a kernel right? Runs cases in an order that finds faults early, and reports a small counterexample and the
likeliest mistake.
"""

from aclnn_viz.checking.check import check, given, read_and_check, write_suite
from aclnn_viz.checking.kernel import load_kernel
from aclnn_viz.checking.museum import museum
from aclnn_viz.checking.same_bits import same_bits
from aclnn_viz.checking.triage import triage

__all__ = [
    "check",
    "given",
    "load_kernel",
    "museum",
    "read_and_check",
    "same_bits",
    "triage",
    "write_suite",
]
