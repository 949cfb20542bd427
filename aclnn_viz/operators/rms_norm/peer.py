"""PyTorch's gradient of RMS norm, to compare ours with: PyTorch's own rms_norm with autograd, which takes no saved rstd but
computes it anew.

It takes the epsilon that gave the saved rstd; an rstd without such an epsilon is refused.
"""

from aclnn_viz.errors import NotSupported, problem

REFUSED = ("PyTorch's rms_norm takes no rstd, it computes that of x",)
ROUNDINGS = 8  # approximate number of roundings in the forward pass that computed the saved rstd


def in_torch(torch, dy, x, rstd, gamma):
    # gamma gets the format of dgammaOut, which is that of rstd
    leaves = x.requires_grad_(), gamma.to(rstd.dtype).requires_grad_()
    y = torch.nn.functional.rms_norm(
        x, gamma.shape, leaves[1], epsilon(torch, x.detach(), rstd, gamma)
    )
    return torch.autograd.grad(y, leaves, dy.to(y.dtype))


def epsilon(torch, x, rstd, gamma) -> float:
    """Return the epsilon with which rms norm of x has this rstd; raise NotSupported if there is none."""
    if rstd.numel() == 0:
        return 0.0
    wide = rstd.double().flatten()
    squares = x.double().reshape(rstd.numel(), -1).square().mean(dim=1)
    at = wide.argmax()  # the row that depends most on epsilon
    found = max(float(1.0 / wide[at] ** 2 - squares[at]), 0.0)
    off = (wide * (squares + found).sqrt() - 1.0).abs().max()
    if not off <= ROUNDINGS * torch.finfo(rstd.dtype).eps:
        raise NotSupported(
            problem(REFUSED[0], "another rstd", "pass the rstd that the forward operator saved")
        )
    return found


def liger(kernel, dy, x, rstd, gamma):
    """Call liger_kernel.ops.rms_norm.rms_norm_backward(dY, X, W, RSTD, offset, casting_mode, BLOCK_SIZE, num_warps,
    in_place, row_mode).
    """
    n, rows = gamma.numel(), rstd.numel()
    dx, dgamma = kernel(
        dy.reshape(*dy.shape[: dy.ndim - gamma.ndim], n),
        x.reshape(rows, n),
        gamma.reshape(-1),
        rstd.reshape(-1),
        0.0,
        "llama",
        1024,
        4,
        False,
        None,
    )
    if dgamma.dtype == gamma.dtype != rstd.dtype:
        raise NotSupported(
            problem(
                "dgammaOut is as wide as rstd",
                f"{dgamma.dtype}, as Liger's is",
                "leave this format out",
            )
        )
    return dx.reshape(x.shape), dgamma.reshape(gamma.shape)


SIGNATURES = {"liger": liger}

DUMPED = {"npu_rms_norm": "self: x, gamma, epsilon", "RMSNorm": "x, weight: gamma"}
