"""Cross entropy in PyTorch: the loss of saved log-probabilities by autograd, then ATen's backward of log-softmax.

It takes the saved log-probabilities as they are, as PyTorch's own backward does. The loss is written as ATen writes
cross entropy with label smoothing (aten/src/ATen/native/LossNLL.cpp, cross_entropy_loss_label_smoothing).
"""

from aclnn_viz.errors import NotSupported, problem


def in_torch(torch, gradLoss, logProb, target, weightOptional, gradZlossOptional, lseForZlossOptional, reduction,
             ignoreIndex, labelSmoothing, lseSquareScaleForZloss):
    if lseSquareScaleForZloss != 0.0:
        raise NotSupported(problem("PyTorch's cross entropy has no z-loss", f"lseSquareScaleForZloss {lseSquareScaleForZloss}",
                                   "leave it 0, or run the page on jax"))
    leaf = logProb.detach().requires_grad_()
    weight = None if weightOptional is None else weightOptional.to(logProb.dtype)  # nll_loss takes one format
    loss = torch.nn.functional.nll_loss(leaf, target.long(), weight, ignore_index=ignoreIndex, reduction=reduction)
    if labelSmoothing != 0.0:
        smooth = _smooth(leaf, target, weight, reduction, ignoreIndex)
        loss = (1.0 - labelSmoothing) * loss + smooth * (labelSmoothing / logProb.shape[1])
    grad, = torch.autograd.grad(loss, leaf, gradLoss.reshape(loss.shape))
    return {"xGradOut": torch.ops.aten._log_softmax_backward_data(grad, logProb, 1, logProb.dtype)}


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
