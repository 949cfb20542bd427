"""Threshold in PyTorch: one function of ATen."""


def in_torch(torch, gradOutput, self, threshold):
    return {"out": torch.ops.aten.threshold_backward(gradOutput, self, threshold)}
