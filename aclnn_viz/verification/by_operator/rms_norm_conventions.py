"""Compute the results of RMS norm in this kit and in PyTorch where an implementation must choose a value (zero divisors,
special and empty inputs), to check conventions.toml.
"""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import gradients

DY = np.array([[1.0, 2.0, -1.0], [0.5, -2.0, 1.0]])


def ours(x, epsilon=0.0, dy=DY, **given) -> dict:
    """Return both gradients for gamma of ones, by default with rstd of the forward pass."""
    op, x = operator("rms_norm"), np.asarray(x, np.float64)
    gamma = np.ones(x.shape[-1])
    saved = op.forward(x=x, gamma=gamma, epsilon=epsilon)["rstd"]
    return op.backward(dy=dy, x=x, gamma=gamma, **{"rstd": saved} | given)


def theirs(torch, x, epsilon=0.0, dy=DY) -> dict:
    """Return the gradients of PyTorch's rms_norm, which computes rstd itself."""
    shape = np.shape(x)[-1:]
    return gradients(
        torch,
        lambda x, gamma: torch.nn.functional.rms_norm(x, shape, gamma, epsilon),
        dy,
        dxOut=x,
        dgammaOut=np.ones(shape),
    )


ZERO = [[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]]
LOST = [[np.nan, 1.0, 2.0], [1.0, 2.0, 2.0]]
WIDE = [[np.inf, 1.0, 2.0], [1.0, 2.0, 2.0]]
NOTHING = np.zeros((0, 3))
