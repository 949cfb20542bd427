"""Layer norm in PyTorch: one function of ATen, which takes the saved mean and rstd."""

OUTPUTS = "gradInputOut", "gradWeightOut", "gradBiasOut"


def in_torch(torch, gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask):
    rows = *input.shape[:input.ndim - len(normalizedShape)], *(1 for _ in normalizedShape)
    wide = [None if given is None else given.to(mean.dtype) for given in (weightOptional, biasOptional)]
    found = torch.ops.aten.native_layer_norm_backward(
        gradOut, input, list(normalizedShape), mean.reshape(rows), rstd.reshape(rows), *wide,
        list(outputMask))
    return {name: grad for name, grad, asked in zip(OUTPUTS, found, outputMask) if asked}
