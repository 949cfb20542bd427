from checking.wrong.common import sigmoid, wide


def kernel(gradOutput, self, betaOptional):
    x, beta = wide(self), betaOptional
    s = sigmoid(beta * x)
    return (wide(gradOutput) * s * (1 + beta * x * (1 - s))).astype(self.dtype)
