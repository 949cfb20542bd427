"""Fused loops for numba that run the backward 3D grid sampler fast on a CPU: those of the 2D sampler, with taps along the
depth, too.
"""

from aclnn_viz.operators.families.sampling_loops import PLAN, backward

__all__ = ["PLAN", "backward"]
