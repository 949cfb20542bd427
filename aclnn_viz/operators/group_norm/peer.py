"""PyTorch's gradient of group norm, to compare ours with: one function of ATen, which takes the saved mean and deviation."""


def in_torch(torch, gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask):
    gamma = mean.new_ones(C) if gamma is None else gamma.reshape(C)
    return torch.ops.aten.native_group_norm_backward(
        gradOut,
        input,
        mean.reshape(N, group),
        rstd.reshape(N, group),
        gamma,
        N,
        C,
        HxW,
        group,
        [True, True, True],
    )


def page(xp, gradOut, input, mean, rstd, gamma):
    """Return the sums of each channel, then one factor and summand per group: ATen's native/cpu/group_norm_kernel.cpp."""
    count = input.shape[2] * input.shape[3]
    mean, rstd = mean[:, :, None, None], rstd[:, :, None, None]
    products, sums = (xp.sum(part, axis=3, keepdims=True) for part in (gradOut * input, gradOut))
    weight = xp.ones_like(sums) if gamma is None else gamma[None, :, :, None] * xp.ones_like(sums)
    ds, db = (
        xp.sum(products * weight, axis=2, keepdims=True),
        xp.sum(sums * weight, axis=2, keepdims=True),
    )
    slope = (db * mean - ds) * rstd * rstd * rstd / count
    return {
        "gradInput": rstd * weight * gradOut + slope * input - slope * mean - db * rstd / count,
        "gradGammaOut": xp.sum((products - sums * mean) * rstd, axis=(0, 3)),
        "gradBetaOut": xp.sum(gradOut, axis=(0, 3)),
    }


ARRANGEMENTS = (page,)

DUMPED = {"group_norm": "input, num_groups: group, weight: gamma, bias: beta, eps"}
