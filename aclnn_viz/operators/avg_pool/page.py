"""Formulas of average pooling of planes (planes, H, W), forward and backward, as array code to run and prove:
each output is the sum over a window, divided by the number of its elements.

With countIncludePad elements of the padding count, too; divisorOverride, if not 0, stands for their number.

Source: aclnnAvgPool2dBackward, CANN operator documentation, which prints one sum in the place of that over windows.
"""

from aclnn_viz.operators.families.pooling import offsets

AXES = {"self": "n..", "out": "n..", "gradOutput": "n..", "gradInput": "n.."}


def divisor(xp, like, found, countIncludePad, divisorOverride):
    if divisorOverride != 0:
        return divisorOverride
    return sum(
        xp.astype(padded if countIncludePad else inside, like.dtype) for _, inside, padded in found
    )


def forward(xp, self, kernelSize, stride, padding, countIncludePad, divisorOverride, rows, columns):
    found = list(offsets(xp, self.shape, (rows, columns), kernelSize, stride, padding))
    flat = xp.reshape(self, (self.shape[0], self.shape[1] * self.shape[2]))
    total = sum(
        xp.take(flat, at, axis=1) * xp.astype(inside, self.dtype) for at, inside, _ in found
    )
    mean = total / divisor(xp, self, found, countIncludePad, divisorOverride)
    return {"out": xp.reshape(mean, (self.shape[0], rows, columns))}


def backward(
    xp,
    gradOutput,
    self,
    kernelSize,
    stride,
    padding,
    countIncludePad,
    divisorOverride,
    rows,
    columns,
):
    planes, height, width = self.shape
    found = list(offsets(xp, self.shape, (rows, columns), kernelSize, stride, padding))
    share = xp.reshape(gradOutput, (planes, -1)) / divisor(
        xp, self, found, countIncludePad, divisorOverride
    )
    grad = xp.zeros((planes, height * width), dtype=self.dtype)
    for at, inside, _ in found:
        grad = xp.scatter_add(grad, at, share * xp.astype(inside, self.dtype))
    return {"gradInput": xp.reshape(grad, (planes, height, width))}
