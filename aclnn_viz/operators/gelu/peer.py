"""PyTorch's gradient of GELU, to compare ours with: gelu_backward of ATen, in float64, for ATen's exp in float32 errs by up to
20 ulp.
"""


def in_torch(torch, gradOutput, self):
    with torch.backends.mkldnn.flags(enabled=False):  # PyTorch's oneDNN path cannot broadcast
        return torch.ops.aten.gelu_backward(gradOutput.double(), self.double())
