"""Is your kernel right: cases in an order that finds faults, a small counterexample, and the name of the mistake."""

from aclnn_viz.checking.check import check, load_kernel, read_and_check, write_suite
from aclnn_viz.checking.score import score

__all__ = ["check", "load_kernel", "read_and_check", "score", "write_suite"]
