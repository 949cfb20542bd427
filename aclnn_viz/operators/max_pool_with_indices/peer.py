"""Max pooling in PyTorch: one function of ATen, which takes the indices."""

REFUSED = ("Expected 3D or 4D",)  # and no plane without elements


def in_torch(torch, gradOutput, self, indices, kernelSize, stride, padding, dilation, ceilMode):
    return {
        "gradInput": torch.ops.aten.max_pool2d_with_indices_backward(
            gradOutput,
            self,
            list(kernelSize),
            list(stride),
            list(padding),
            list(dilation),
            ceilMode,
            indices.long(),
        )
    }
