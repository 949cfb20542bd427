"""The grid sampler: the loop over points that both samplers share."""

from aclnn_viz.operators.families.sampling_loops import PLAN, backward

__all__ = ["PLAN", "backward"]
