"""Is your kernel right: cases in an order that finds faults, a small counterexample, and the name of the mistake."""

from aclnn_viz.checking.check import check

__all__ = ["check"]
