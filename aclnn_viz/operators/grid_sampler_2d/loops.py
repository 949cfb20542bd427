"""Fused loops of the backward 2D grid sampler, which numba compiles, to run it fast on a CPU: point by point, shared with the
3D sampler.
"""

from aclnn_viz.operators.families.sampling_loops import PLAN, backward

__all__ = ["PLAN", "backward"]
