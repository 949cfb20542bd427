"""Fused loops for numba that run the backward 2D grid sampler fast on a CPU: point by point, shared with the 3D sampler."""

from aclnn_viz.operators.families.sampling_loops import PLAN, backward

__all__ = ["PLAN", "backward"]
