"""Backward of the 2D grid sampler in fused loops, which both samplers share: point by point."""

from aclnn_viz.operators.families.sampling_loops import PLAN, backward

__all__ = ["PLAN", "backward"]
