"""Compute what hardswish of this kit and of PyTorch give where a value had to be chosen (kinks, special and empty inputs), to
check the table of conventions.toml by it.
"""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import gradients


def ours(grad, x) -> np.ndarray:
    """gradOutput * slope(self) of the kernel, in float64."""
    return operator("hardswish").backward(
        gradOutput=np.asarray(grad, float), self=np.asarray(x, float)
    )["out"]


def theirs(torch, grad, x) -> np.ndarray:
    return gradients(torch, torch.nn.functional.hardswish, grad, out=x)["out"]
