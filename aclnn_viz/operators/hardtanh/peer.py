"""Hardtanh in PyTorch: one function of ATen."""


def in_torch(torch, gradOutput, self, min, max):
    return {"out": torch.ops.aten.hardtanh_backward(gradOutput, self, min, max)}


DUMPED = {"hardtanh": "input: self, min_val: min, max_val: max, inplace"}
