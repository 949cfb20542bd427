from checking.wrong.common import sigmoid, wide


def kernel(gradOutput, self):
    x = wide(self)
    s = sigmoid(x)
    return (wide(gradOutput) * s * (1 + x * (1 - s))).astype(self.dtype)
