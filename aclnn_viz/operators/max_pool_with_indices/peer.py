"""PyTorch's gradient of max pooling, to compare ours with: one function of ATen, which takes the indices."""

from aclnn_viz.errors import NotSupported, problem

REFUSED = ("PyTorch pools planes that have elements",)


def in_torch(torch, gradOutput, self, indices, kernelSize, stride, padding, dilation, ceilMode):
    if 0 in self.shape[-3:]:
        raise NotSupported(problem(REFUSED[0], "planes without any", "leave such cases out"))
    return torch.ops.aten.max_pool2d_with_indices_backward(
        gradOutput,
        self,
        list(kernelSize),
        list(stride),
        list(padding),
        list(dilation),
        ceilMode,
        indices.long(),
    )
