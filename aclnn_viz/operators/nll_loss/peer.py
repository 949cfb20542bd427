"""PyTorch's gradient of negative log-likelihood, to compare ours with: one function of ATen, which takes the saved sum of
weights.
"""

from aclnn_viz.operators.peers import narrow


def in_torch(torch, gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight):
    each = gradOutput.reshape(target.shape if reduction == 0 else ())
    return torch.ops.aten.nll_loss_backward(
        each, self, target.long(), weight, reduction, ignoreIndex, totalWeight.reshape(())
    )


DIFFERENCES = {
    "torch": (
        narrow(
            "the gradient of the mean is rounded to 16 bits before it is weighted",
            "ATen native/LossNLL.cpp",
            "nll_loss in 16 bits",
        ),
    )
}

DUMPED = {
    name: f"input: self, target, weight=1, size_average!, ignore_index: ignoreIndex, reduce!, reduction{more}"
    # cross_entropy calls log_softmax, then nll_loss, and has one parameter more
    for name, more in (("nll_loss", ""), ("cross_entropy", ", label_smoothing!"))
}
