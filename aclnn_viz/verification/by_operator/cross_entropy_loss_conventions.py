"""Compute the results of cross entropy in this kit and in PyTorch where an implementation must choose a value (a mean over
nothing, weights of 0, nan, infinity), to check conventions.toml.
"""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import gradients


def ours(target, gradLoss=1.0, weight=None, reduction="mean", classes=2, **given) -> np.ndarray:
    """Return the kit's xGradOut for logits 0."""
    target = np.asarray(target)
    log_prob = np.full((target.size, classes), -np.log(max(classes, 1)))
    weight = None if weight is None else np.asarray(weight, np.float64)
    return operator("cross_entropy_loss").backward(
        gradLoss=np.asarray(gradLoss, np.float64),
        logProb=log_prob,
        target=target,
        weightOptional=weight,
        reduction=reduction,
        **given,
    )["xGradOut"]


def theirs(
    torch, target, gradLoss=1.0, weight=None, reduction="mean", classes=2, ignoreIndex=-100
) -> np.ndarray:
    def loss(x):
        w = None if weight is None else torch.tensor(np.asarray(weight, np.float64))
        return torch.nn.functional.cross_entropy(
            x,
            torch.tensor(np.asarray(target, np.int64)),
            w,
            ignore_index=ignoreIndex,
            reduction=reduction,
        )

    return gradients(torch, loss, gradLoss, x=np.zeros((len(target), classes)))["x"]


IGNORED = [0, -100]
