"""PyTorch's gradient of GeGLU, to compare ours with: ATen's gradient of GELU, and products. It runs in float64, for ATen's exp
in float32 errs by up to 20 ulp.
"""


def in_torch(torch, gradOutput, self, gelu, dim, approximate):
    gradient, (a, b) = gradOutput.double(), self.double().chunk(2, dim)
    second = torch.ops.aten.gelu_backward(
        gradient * a, b, approximate=("none", "tanh")[approximate]
    )
    return torch.cat([gradient * gelu, second], dim)
