from checking.wrong.common import sigmoid, wide


def kernel(gradOutput, self, target, weightOptional, posWeightOptional, reduction):
    x, t, g = wide(self), wide(target), wide(gradOutput)
    pos = 1 if posWeightOptional is None else wide(posWeightOptional)
    slope = (pos * t + 1 - t) * sigmoid(x) - pos * t
    if weightOptional is not None:
        slope = slope * wide(weightOptional)
    if reduction == 1:
        g = g / max(x.size, 1)
    return (g * slope).astype(self.dtype)
