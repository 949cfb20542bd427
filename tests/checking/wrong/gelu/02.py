from checking.wrong.common import erf, wide


def kernel(gradOutput, self):
    x = wide(self)
    root = x.dtype.type(0.7071067811865476)
    return (wide(gradOutput) * ((1 + erf(x * root)) / 2)).astype(self.dtype)
