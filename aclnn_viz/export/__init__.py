"""Lift-out: what was seen in the kit, as a file that stands alone."""

from aclnn_viz.export.cpp import cpp_sample

__all__ = ["cpp_sample"]
