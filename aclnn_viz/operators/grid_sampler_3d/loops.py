"""The grid sampler in space: the same loop as of the plane one, with as many taps along the depth."""

from aclnn_viz.operators.families.sampling_loops import PLAN, backward

__all__ = ["PLAN", "backward"]
