"""PyTorch's gradient of SwiGLU, to compare ours with: autograd differentiates SiLU of one half times the other."""

from aclnn_viz.operators.families.activations_peer import of_halves


def in_torch(torch, yGrad, x, dim):
    return of_halves(torch, lambda a, b: torch.nn.functional.silu(a) * b, yGrad, x, dim)


DUMPED = {"npu_swiglu": "self: x, dim"}
