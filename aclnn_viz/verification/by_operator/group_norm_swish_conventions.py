"""Compute the results of group norm + swish in this kit and in PyTorch where an implementation must choose a value (zero
divisors, special and empty inputs), to check conventions.toml.
"""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import gradients


def ours(x, eps=0.0, swishScale=1.0, numGroups=1, beta=0.0, **given) -> dict:
    """Return the gradients for dy and gamma of ones, with mean and rstd of the forward pass."""
    op, x = operator("group_norm_swish"), np.asarray(x, np.float64)
    gamma = np.ones(x.shape[1])
    options = {
        "x": x,
        "gamma": gamma,
        "beta": gamma * beta,
        "numGroups": numGroups,
        "swishScale": swishScale,
    }
    saved = op.forward(**options, eps=eps)
    return op.backward(
        dy=np.ones(x.shape), mean=saved["mean"], rstd=saved["rstd"], **options, **given
    )


def theirs(torch, x, eps=0.0, swishScale=1.0, numGroups=1, beta=0.0) -> dict:
    """Return PyTorch's gradients of z * sigmoid(s z), with z = group_norm(x)."""

    def swish(*tensors):
        z = torch.nn.functional.group_norm(tensors[0], numGroups, *tensors[1:], eps)
        return z * torch.sigmoid(swishScale * z)

    ones = np.ones(np.shape(x)[1])
    return gradients(torch, swish, dxOut=x, dgammaOut=ones, dbetaOut=ones * beta)


FLAT = [[[2.0, 2.0]]]
ONE = [[[5.0]]]
TWO = [[[0.0, 2.0]]]
LOST = [[[np.nan, 1.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 5.0]]]
