"""Deep norm in PyTorch: ATen's backward of layer norm, on the sum that is normalised."""

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.operators.deep_norm import page
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.peers import Difference


def in_torch(torch, dy, x, gx, gamma, mean, rstd, alpha):
    u, gamma = alpha * x.to(mean.dtype) + gx.to(mean.dtype), gamma.to(mean.dtype)
    grad, dgamma, dbeta = torch.ops.aten.native_layer_norm_backward(
        dy.to(mean.dtype),
        u,
        list(gamma.shape),
        mean,
        rstd,
        gamma,
        torch.zeros_like(gamma),
        [True, True, True],
    )
    return (alpha * grad).to(x.dtype), grad.to(x.dtype), dbeta, dgamma


#: Where u is the mean, rounding is left.
EXPANDED = ("(alpha * x + gx - mean) * rstd", "rstd * (alpha * x + gx) - rstd * mean")
DIFFERENCES = {
    "torch": (
        Difference(
            "x-hat is rstd * u - rstd * mean, and not (u - mean) * rstd",
            "ATen native/cpu/layer_norm_kernel.cpp",
            Plan(
                "deep norm by layer norm",
                order=SEQUENTIAL,
                page=changed(page, (EXPANDED,)).backward,
            ),
        ),
    )
}
