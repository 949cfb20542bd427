"""The grid sampler in PyTorch: one function of ATen, which takes the vendor's numbers for the modes."""


def in_torch(torch, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    found = torch.ops.aten.grid_sampler_2d_backward(
        gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, list(outputMask))
    return {name: grad for name, grad, asked in zip(("inputGrad", "gridGrad"), found, outputMask) if asked}
