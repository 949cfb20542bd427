"""Gradients of layer norm by PyTorch and by Liger, to compare ours with: from the saved mean and rstd, with PyTorch's known
differences.

With a float32 mean, PyTorch needs weight and bias in float32, and for each gradient its tensor.
"""

from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.operators.peers import narrow


def in_torch(
    torch, gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask
):
    rows = *input.shape[: input.ndim - len(normalizedShape)], *(1 for _ in normalizedShape)
    weight, bias = (
        torch.ones(normalizedShape, dtype=mean.dtype, device=mean.device)
        if given is None
        else given.to(mean.dtype)
        for given in (weightOptional, biasOptional)
    )
    return torch.ops.aten.native_layer_norm_backward(
        gradOut,
        input,
        list(normalizedShape),
        mean.reshape(rows),
        rstd.reshape(rows),
        weight,
        bias,
        list(outputMask),
    )


def page(xp, gradOut, input, mean, rstd, weightOptional, biasOptional):
    """Return the gradients as ATen's native/cpu/layer_norm_kernel.cpp does. Where the exact result is 0, a rounding
    error remains: in rstd * x - rstd * mean if x equals the mean, in the gradient of x if a row has one element.
    """
    xhat = rstd * input - rstd * mean
    grad = gradOut if weightOptional is None else gradOut * weightOptional
    along = xp.mean(grad, axis=-1, keepdims=True) + xhat * xp.mean(
        grad * xhat, axis=-1, keepdims=True
    )
    return {
        "gradInputOut": grad * rstd - along * rstd,
        "gradWeightOut": xp.sum(gradOut * xhat, axis=0),
        "gradBiasOut": xp.sum(gradOut, axis=0),
    }


ARRANGEMENTS = (page,)
DIFFERENCES = {
    "torch": (
        narrow(
            "the gradients of weight and bias are summed in 16 bits",
            "ATen native/cpu/layer_norm_kernel.cpp",
            "layer norm in 16 bits",
            page=page,
            accumulate="storage",
        ),
    )
}


def liger(
    kernel, gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask
):
    """Call liger_kernel.ops.layer_norm.layer_norm_backward(dY, X, W, B, Mean, RSTD)."""
    if weightOptional is None or biasOptional is None or not all(outputMask):
        raise NotSupported(
            problem(
                "Liger's layer norm has weight, bias and all gradients",
                "a call without one",
                "leave such cases out",
            )
        )
    n, rows = weightOptional.numel(), rstd.numel()
    dx, *others = kernel(
        gradOut.reshape(*gradOut.shape[: gradOut.ndim - weightOptional.ndim], n),
        input.reshape(rows, n),
        weightOptional.reshape(-1),
        biasOptional.reshape(-1),
        mean.reshape(-1),
        rstd.reshape(-1),
    )
    return dx.reshape(input.shape), *(one.reshape(weightOptional.shape) for one in others)


SIGNATURES = {"liger": liger}

DUMPED = {
    "layer_norm": "input, normalized_shape: normalizedShape, weight: weightOptional, bias: biasOptional, eps"
}
