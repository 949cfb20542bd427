"""Compute what group norm + swish of this kit and of PyTorch give where a value had to be chosen (zero divisors, special and
empty inputs), to check the table of conventions.toml by it.
"""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import gradients


def ours(x, eps=0.0, swishScale=1.0, numGroups=1, beta=0.0, **given) -> dict:
    """The gradients for dy and gamma of ones, with mean and rstd of the forward pass."""
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
    """PyTorch's of z * sigmoid(s z), z its group_norm."""

    def swish(*tensors):
        z = torch.nn.functional.group_norm(tensors[0], numGroups, *tensors[1:], eps)
        return z * torch.sigmoid(swishScale * z)

    ones = np.ones(np.shape(x)[1])
    return gradients(torch, swish, dxOut=x, dgammaOut=ones, dbetaOut=ones * beta)


FLAT = [[[2.0, 2.0]]]
ONE = [[[5.0]]]
TWO = [[[0.0, 2.0]]]
LOST = [[[np.nan, 1.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 5.0]]]
