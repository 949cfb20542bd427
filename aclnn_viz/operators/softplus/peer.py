"""Softplus in PyTorch: one function of ATen."""


def in_torch(torch, gradOutput, self, beta, threshold):
    return {"gradInput": torch.ops.aten.softplus_backward(gradOutput, self, beta, threshold)}


DUMPED = {"softplus": "input: self, beta, threshold"}
