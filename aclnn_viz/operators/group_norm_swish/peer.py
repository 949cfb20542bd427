"""PyTorch's gradient of group norm, then swish, to compare ours with: ATen's gradients of swish, then of group norm, from the
saved mean and rstd.
"""

from math import prod

from aclnn_viz.operators.peers import Difference, narrow


def in_torch(
    torch,
    dy,
    mean,
    rstd,
    x,
    gamma,
    beta,
    numGroups,
    dataFormatOptional,
    swishScale,
    dgammaIsRequire,
    dbetaIsRequire,
):
    samples, channels, *positions = x.shape
    each = (samples, numGroups, channels // numGroups, prod(positions))
    z = (x.reshape(each) - mean[..., None, None]) * rstd[..., None, None]
    z = z * gamma.reshape(numGroups, -1, 1) + beta.reshape(numGroups, -1, 1)
    # y = z * sigmoid(s * z) is silu(s * z) / s, whose slope is that of silu at s * z.
    dz = torch.ops.aten.silu_backward(dy, (swishScale * z).reshape(x.shape).to(dy.dtype))
    return torch.ops.aten.native_group_norm_backward(
        dz,
        x,
        mean,
        rstd,
        gamma,
        samples,
        channels,
        prod(positions),
        numGroups,
        [True, dgammaIsRequire, dbetaIsRequire],
    )


DIFFERENCES = {
    "torch": (
        narrow(
            "values between group norm and swish are rounded to 16 bits",
            "PyTorch has no fused operator",
            "group norm and swish, one after the other",
        ),
        Difference(
            "the slope of swish at an infinite number is inf * 0",
            "ATen native/cpu/Activation.cpp: silu_backward",
            convention="beta = inf, and beta = -inf: dbetaOut for x = [0, 2], eps = 0",
        ),
    )
}

DUMPED = {
    "npu_group_norm_swish": "input: x, num_groups: numGroups, weight: gamma, bias: beta, eps, swish_scale: swishScale"
}
