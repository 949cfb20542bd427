"""Average pooling of planes (planes, H, W): each output is the sum over its window, divided by its number of elements.

With countIncludePad padded zeros count as elements, without it only those of the plane do.

Source: aclnnAvgPool2dBackward, CANN operator documentation.
"""

AXES = {"self": "n..", "out": "n..", "gradOutput": "n..", "gradInput": "n.."}


def taps(xp, length, kernel, stride, padding, k):
    """Where element k of every window along an axis lies, clipped into the plane, and whether it lies there (1.0 or 0.0)."""
    windows = (length + 2 * padding - kernel) // stride + 1
    at = xp.arange(windows, dtype=xp.int64) * stride - padding + k
    return xp.clip(at, 0, length - 1), (at >= 0) & (at < length)


def offsets(xp, height, width, kernelSize, stride, padding):
    """For each element of a window: its place in the flat plane for all windows (P,), and whether it lies in it."""
    for i in range(kernelSize[0]):
        row, in_rows = taps(xp, height, kernelSize[0], stride[0], padding[0], i)
        for j in range(kernelSize[1]):
            column, in_columns = taps(xp, width, kernelSize[1], stride[1], padding[1], j)
            inside = in_rows[:, None] & in_columns[None, :]
            yield (
                xp.reshape(row[:, None] * width + column[None, :], (-1,)),
                xp.reshape(inside, (-1,)),
            )


def divisor(xp, like, found, kernelSize, countIncludePad):
    if countIncludePad:
        return float(kernelSize[0] * kernelSize[1])
    return sum(xp.astype(inside, like.dtype) for _, inside in found)


def forward(xp, self, kernelSize, stride, padding, countIncludePad):
    planes, height, width = self.shape
    found = list(offsets(xp, height, width, kernelSize, stride, padding))
    flat = xp.reshape(self, (planes, -1))
    total = sum(xp.take(flat, at, axis=1) * xp.astype(inside, self.dtype) for at, inside in found)
    rows = (height + 2 * padding[0] - kernelSize[0]) // stride[0] + 1
    return {
        "out": xp.reshape(
            total / divisor(xp, self, found, kernelSize, countIncludePad), (planes, rows, -1)
        )
    }


def backward(xp, gradOutput, self, kernelSize, stride, padding, countIncludePad):
    planes, height, width = self.shape
    found = list(offsets(xp, height, width, kernelSize, stride, padding))
    share = xp.reshape(gradOutput, (planes, -1)) / divisor(
        xp, self, found, kernelSize, countIncludePad
    )
    grad = xp.zeros((planes, height * width), dtype=self.dtype)
    for at, inside in found:
        grad = xp.scatter_add(grad, at, share * xp.astype(inside, self.dtype))
    return {"gradInput": xp.reshape(grad, (planes, height, width))}
