"""PyTorch's gradient of cross entropy, to compare ours with: the loss of saved log-probabilities by autograd, then ATen's
backward of log-softmax.

It takes the saved log-probabilities as they are, as PyTorch's own backward does. The loss is written as ATen writes
cross entropy with label smoothing (aten/src/ATen/native/LossNLL.cpp, cross_entropy_loss_label_smoothing).
"""

import numpy as np

from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.operators.peers import Difference, narrow

LOSS = "ATen native/LossNLL.cpp"
REFUSED = ("PyTorch's cross entropy has no z-loss",)


def in_torch(
    torch,
    gradLoss,
    logProb,
    target,
    weightOptional,
    gradZlossOptional,
    lseForZlossOptional,
    reduction,
    ignoreIndex,
    labelSmoothing,
    lseSquareScaleForZloss,
):
    if lseSquareScaleForZloss != 0.0:
        raise NotSupported(
            problem(
                REFUSED[0],
                f"lseSquareScaleForZloss {lseSquareScaleForZloss}",
                "leave it 0, or run the page on jax",
            )
        )
    leaf = logProb.detach().requires_grad_()
    # nll_loss requires one format for all tensors
    weight = None if weightOptional is None else weightOptional.to(logProb.dtype)
    loss = torch.nn.functional.nll_loss(
        leaf, target.long(), weight, ignore_index=ignoreIndex, reduction=reduction
    )
    if labelSmoothing != 0.0:
        smooth = _smooth(leaf, target, weight, reduction, ignoreIndex)
        loss = (1.0 - labelSmoothing) * loss + smooth * (labelSmoothing / logProb.shape[1])
    (grad,) = torch.autograd.grad(loss, leaf, gradLoss.reshape(loss.shape))
    return torch.ops.aten._log_softmax_backward_data(grad, logProb, 1, logProb.dtype)


def _smooth(leaf, target, weight, reduction, ignoreIndex):
    ignored = target == ignoreIndex
    smooth = -(leaf if weight is None else leaf * weight).sum(1)
    smooth = smooth.masked_fill(ignored, 0.0)
    if reduction == "none":
        return smooth
    if reduction == "sum":
        return smooth.sum()
    counted = (~ignored).sum() if weight is None else weight[target.long()[~ignored]].sum()
    return smooth.sum() / counted


def _nothing(inputs):
    ignored = (
        bool((inputs["target"] == inputs["ignoreIndex"]).all()) and inputs["reduction"] == "mean"
    )
    return {
        "xGradOut": (np.full(inputs["logProb"].shape, ignored), np.zeros(inputs["logProb"].shape))
    }


DIFFERENCES = {
    "torch": (
        Difference(
            "where every target is ignored, the mean has the gradient 0, not nan",
            LOSS,
            values=_nothing,
            convention="mean, every target is ignored: the divisor W is 0",
        ),
        narrow(
            "the gradients of nll_loss are rounded to 16 bits before those of log_softmax",
            "two functions of ATen, one after the other",
            "nll_loss, then log_softmax",
        ),
        Difference(
            "an infinite gradient of an ignored row is skipped",
            LOSS,
            convention="gradLoss = [1, inf] and the second row is ignored: row 2",
        ),
        Difference(
            "a gradient of an ignored row that is nan is skipped",
            LOSS,
            convention="gradLoss = [1, nan] and the second row is ignored: row 2",
        ),
        Difference(
            "without smoothing nothing is multiplied by 0: an infinite gradient stays infinite",
            LOSS,
            convention="gradLoss = inf, sum, no smoothing",
        ),
        Difference(
            "the weight of a class that does not occur is never read",
            LOSS,
            convention="the weight of a class that does not occur is nan, no smoothing",
        ),
    ),
    "jax": (
        Difference(
            "where every target is ignored, the mean has the gradient 0, not nan",
            "XLA takes a product with a mask as a selection: inf * 0 is 0; seen with jax 0.10.2",
            values=_nothing,
        ),
    ),
}

DUMPED = {
    "CrossEntropyLoss": "input, target, weight: weightOptional",
    "npu_cross_entropy_loss": "input, target, weight: weightOptional, reduction, ignore_index: ignoreIndex, label_smoothing: labelSmoothing, "
    "lse_square_scale_for_zloss: lseSquareScaleForZloss, return_zloss",
}
