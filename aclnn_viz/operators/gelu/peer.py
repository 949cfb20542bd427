"""Backward of GELU in PyTorch: one function of ATen, in float64, for its exp in float32 errs by up to 20 ulp."""


def in_torch(torch, gradOutput, self):
    with torch.backends.mkldnn.flags(enabled=False):  # oneDNN broadcasts nothing
        return torch.ops.aten.gelu_backward(gradOutput.double(), self.double())
