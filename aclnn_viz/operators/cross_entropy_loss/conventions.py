"""What cross entropy gives where a value had to be chosen: a mean over nothing, weights of 0, nan and infinity."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import SILENT, Convention, both, gradients

KERNEL = "ops-nn loss/cross_entropy_loss_grad/op_kernel/cross_entropy_loss_grad_base.h"
INF, NAN = np.inf, np.nan


def ours(target, gradLoss=1.0, weight=None, reduction="mean", classes=2, **given) -> np.ndarray:
    """xGradOut for logits 0."""
    target = np.asarray(target)
    log_prob = np.full((target.size, classes), -np.log(max(classes, 1)))
    weight = None if weight is None else np.asarray(weight, np.float64)
    return operator("cross_entropy_loss").backward(
        gradLoss=np.asarray(gradLoss, np.float64), logProb=log_prob, target=target, weightOptional=weight,
        reduction=reduction, **given)["xGradOut"]


def theirs(torch, target, gradLoss=1.0, weight=None, reduction="mean", classes=2, ignoreIndex=-100) -> np.ndarray:
    def loss(x):
        w = None if weight is None else torch.tensor(np.asarray(weight, np.float64))
        return torch.nn.functional.cross_entropy(x, torch.tensor(np.asarray(target, np.int64)), w,
                                                 ignore_index=ignoreIndex, reduction=reduction)
    return gradients(torch, loss, gradLoss, x=np.zeros((len(target), classes)))["x"]


def row(topic, where, returns, document, published, why, *arguments, pytorch=None, **given) -> Convention:
    return both(ours, theirs)(topic, where, lambda of: of(*arguments, **given), returns, document, published, why, pytorch)


IGNORED = [0, -100]
CONVENTIONS = (
    row("zero divisor", "every target ignored, mean: W = 0", [[NAN] * 2] * 2,
         "ignored targets do not influence the gradient; mean divides by W",
         f"grad / 0 and then 0 * inf: nan everywhere, also where rows are ignored ({KERNEL})",
         "the device's value, so that a run on the host shows what the device will do", [-100, -100], pytorch=[[0, 0]] * 2),
    row("zero divisor", "the weight of the only class that occurs is 0, mean: W = 0", [[NAN] * 2],
         "mean divides by W", "0 / 0", "the formula as printed", [0], weight=[0.0, 1.0]),
    row("not finite", "gradLoss = [1, inf] and the second row is ignored: row 2", [[-0.5, 0.5], [NAN, NAN]],
         "gradLoss times a mask that is 0", "gradLoss times a mask that is 0",
         "the product as printed; PyTorch does not visit ignored rows", IGNORED, [1.0, INF], reduction="none",
         pytorch=[[-0.5, 0.5], [0, 0]]),
    row("not finite", "gradLoss = [1, nan] and the second row is ignored: row 2", [[-0.5, 0.5], [NAN, NAN]],
         "gradLoss times a mask that is 0", "gradLoss times a mask that is 0",
         "the product as printed; PyTorch does not visit ignored rows", IGNORED, [1.0, NAN], reduction="none",
         pytorch=[[-0.5, 0.5], [0, 0]]),
    row("not finite", "the weight of a class that does not occur is nan, no smoothing", [[NAN] * 2], SILENT,
         f"only the weights of targets are looked up ({KERNEL})",
         "smoothing 0 times the sum of the weights, as the formula is printed", [0], weight=[1.0, NAN],
         pytorch=[[-0.5, 0.5]]),
    row("not finite", "the weight of the class that occurs is inf, mean", [[NAN] * 2], SILENT, "grad / inf * inf",
         "the formula as printed: 0 * inf", [0], weight=[INF, 1.0]),
    row("not finite", "gradLoss = inf, sum, no smoothing", [[NAN] * 2], SILENT,
         f"gradLoss * exp(logProb), less gradLoss at the target, and no smoothing ({KERNEL})",
         "smoothing 0 times gradLoss, as the formula is printed", [0], INF, reduction="sum", pytorch=[[NAN, INF]]),
    row("parameter", "ignoreIndex = -100 and a target of -100, sum: row 2", [[-0.5, 0.5], [0, 0]],
         "newest: masked; older: an ignoreIndex below 0 ignores nothing",
         "A2 and A3: masked; Ascend 950: masks only from 0 on, and asserts that targets are classes",
         "the newest formula, A2 and PyTorch agree", IGNORED, reduction="sum"),
    Convention("parameter", "logProb = -0.2 for 3 classes, whose exponentials add up to 2.456: sum of the row, sum",
               lambda: operator("cross_entropy_loss").backward(
                   gradLoss=np.array(1.0), logProb=np.full((1, 3), -0.2), target=np.array([0]),
                   reduction="sum")["xGradOut"].sum(), 3 * np.exp(-0.2) - 1, "logProb is the log-softmax",
               "exp(logProb) is used as the softmax, and never renormalised",
               "a kernel must be right for any logProb that it is given", pytorch="computes the softmax itself"),
    row("empty", "no rows, sum", np.zeros((0, 2)), SILENT, "phase 1 succeeds, and nothing runs",
        "nothing has no gradient", np.zeros(0, np.int64), reduction="sum"),
)
