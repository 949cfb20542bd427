"""Compute the results of hardswish in this kit and in PyTorch where an implementation must choose a value (kinks, special and
empty inputs), to check conventions.toml.
"""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import gradients


def ours(grad, x) -> np.ndarray:
    """Return the kernel's gradOutput * slope(self) in float64."""
    return operator("hardswish").backward(
        gradOutput=np.asarray(grad, float), self=np.asarray(x, float)
    )["out"]


def theirs(torch, grad, x) -> np.ndarray:
    return gradients(torch, torch.nn.functional.hardswish, grad, out=x)["out"]
