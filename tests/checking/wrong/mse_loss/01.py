from checking.wrong.common import wide


def kernel(gradOutput, self, target, reduction):
    d, g = wide(self) - wide(target), wide(gradOutput)
    if reduction == 1:
        g = g / max(len(self) if self.ndim else 1, 1)
    return (2 * g * d).astype(self.dtype)
