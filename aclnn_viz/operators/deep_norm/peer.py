"""PyTorch's gradient of deep norm, to compare ours with: ATen's backward of layer norm, at alpha * x + gx."""

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.operators.deep_norm import page as textbook
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.peers import Difference

# In a row of one element the gradient is 0. This order of steps leaves a rounding error instead
# where the compiler fuses a product and a sum.
ARRANGEMENTS = (
    changed(textbook, (("(grad - along) * rstd", "grad * rstd - along * rstd"),)).backward,
)


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


def page(xp, dy, x, gx, gamma, mean, rstd, alpha):
    """Return the gradient with the products with u - mean multiplied out, as ATen does. Where u equals the mean, or in
    a row of one element, a rounding error replaces the exact 0.
    """
    u, g = alpha * x + gx, dy * gamma
    shift, along = xp.mean(g, axis=1, keepdims=True), xp.mean(g * u, axis=1, keepdims=True)
    slope = (shift * mean - along) * rstd * rstd * rstd
    grad = rstd * g + slope * u + (-slope * mean - shift * rstd)
    return {
        "dxOut": alpha * grad,
        "dgxOut": grad,
        "dbetaOut": xp.sum(dy, axis=0),
        "dgammaOut": xp.sum(dy * (rstd * u - rstd * mean), axis=0),
    }


DIFFERENCES = {
    "torch": (
        Difference(
            "the products with u - mean are multiplied out",
            "ATen native/cpu/layer_norm_kernel.cpp",
            Plan("deep norm by layer norm", order=SEQUENTIAL, page=page),
        ),
    )
}
