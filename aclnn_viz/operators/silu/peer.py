"""SiLU in PyTorch: one function of ATen."""


def in_torch(torch, gradOutput, self):
    return {"gradInput": torch.ops.aten.silu_backward(gradOutput, self)}


DUMPED = {"silu": "input: self, inplace"}
