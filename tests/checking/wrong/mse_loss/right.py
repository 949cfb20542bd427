from checking.wrong.common import wide


def kernel(gradOutput, self, target, reduction):
    d, g = wide(self) - wide(target), wide(gradOutput)
    if reduction == 1:
        g = g / max(self.size, 1)
    return (2 * g * d).astype(self.dtype)
