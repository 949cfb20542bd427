"""Compute the results of layer norm in this kit and in PyTorch where an implementation must choose a value (zero divisors,
special and empty inputs), to check conventions.toml.
"""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import gradients

DY = np.array([[1.0, 2.0, -1.0], [0.5, -2.0, 1.0]])


def ours(x, eps=0.0, dy=DY, **given) -> dict:
    """Return the gradients for a weight of ones, by default with mean and rstd of the forward pass."""
    op, x = operator("layer_norm"), np.asarray(x, np.float64)
    ones, shape = np.ones(x.shape[-1]), x.shape[-1:]
    saved = op.forward(
        input=x, normalizedShape=shape, weightOptional=ones, biasOptional=0 * ones, eps=eps
    )
    return op.backward(
        **{
            "gradOut": dy,
            "input": x,
            "normalizedShape": shape,
            "mean": saved["meanOut"],
            "rstd": saved["rstdOut"],
            "weightOptional": ones,
            "biasOptional": 0 * ones,
        }
        | given
    )


def theirs(torch, x, eps=0.0, dy=DY) -> dict:
    shape = np.shape(x)[-1:]
    return gradients(
        torch,
        lambda x, *parameters: torch.nn.functional.layer_norm(x, shape, *parameters, eps),
        dy,
        gradInputOut=x,
        gradWeightOut=np.ones(shape),
        gradBiasOut=np.zeros(shape),
    )


FLAT, LOST, NOTHING = np.full((2, 3), 4.0), [[np.nan, 1, 2], [1, 2, 4]], np.zeros((0, 3))
ONE = np.array([[1.0, 0, 0]])
