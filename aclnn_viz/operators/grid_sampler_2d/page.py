"""Formulas of the 2D grid sampler, forward and backward, as array code to run and prove:
out[n, c, p] is the sum of weight * input[n, c, tap] over the taps (sampled pixels) around grid[n, p] = (x, y).

grid (N, P, 2) holds x and y in [-1, 1], (-1, -1) the top left corner. The weight of a tap is the product of one weight
of each axis.

Source: aclnnGridSampler2DBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.sampling import NEAREST, channels_first, taps

AXES = {
    "input": "nc..",
    "grid": "n..",
    "out": "nc.",
    "gradOutput": "nc.",
    "inputGrad": "nc..",
    "gridGrad": "n..",
}


def taps_2d(xp, grid, size, interpolationMode, paddingMode, alignCorners):
    """Yield each tap of every point: (row, column, weight, d weight / d x, d weight / d y), arrays (N, P)."""
    height, width = size
    grid = xp.astype(grid, xp.float64)
    modes = interpolationMode, paddingMode, alignCorners
    columns = taps(xp, grid[..., 0], width, *modes)
    for row, wy, dy in taps(xp, grid[..., 1], height, *modes):
        for column, wx, dx in columns:
            yield row, column, wy * wx, wy * dx, dy * wx


def pixel(xp, row, column, size):
    """Return each pixel's flat number among all N * H * W, 0 outside, and whether it lies on the image."""
    height, width = size
    inside = (row >= 0.0) & (row < height) & (column >= 0.0) & (column < width)
    # int64, because a floating format would round large pixel numbers
    row, column = xp.astype(row, xp.int64), xp.astype(column, xp.int64)
    first = xp.arange(row.shape[0], dtype=xp.int64)[:, None] * (height * width)
    index = xp.where(inside, first + (row * width + column), xp.zeros_like(first))
    return xp.reshape(index, (-1,)), xp.reshape(inside, (-1,))


def forward(xp, input, grid, interpolationMode, paddingMode, alignCorners):
    size = input.shape[2:]
    samples, points = grid.shape[:2]
    planes = channels_first(xp, input)
    out = xp.zeros((input.shape[1], samples * points), dtype=input.dtype)
    for row, column, weight, _, _ in taps_2d(
        xp, grid, size, interpolationMode, paddingMode, alignCorners
    ):
        index, inside = pixel(xp, row, column, size)
        value = xp.take(planes, index, axis=1) * xp.astype(xp.reshape(weight, (-1,)), input.dtype)
        out = out + xp.where(inside, value, xp.zeros_like(value))
    return {"out": xp.moveaxis(xp.reshape(out, (-1, samples, points)), 0, 1)}


def backward(xp, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    size = input.shape[2:]
    pixels = input.shape[0] * size[0] * size[1]
    grad, planes = channels_first(xp, gradOutput), channels_first(xp, input)
    indices, spread = [], []
    grad_x = grad_y = xp.zeros(grad.shape[1], dtype=xp.float64)
    for row, column, weight, dx, dy in taps_2d(
        xp, grid, size, interpolationMode, paddingMode, alignCorners
    ):
        index, inside = pixel(xp, row, column, size)
        if outputMask[0]:
            # One additional pixel collects taps outside the image; a nan there must not reach the
            # image.
            indices.append(xp.where(inside, index, xp.full_like(index, pixels)))
            spread.append(grad * xp.astype(xp.reshape(weight, (-1,)), grad.dtype))
        if outputMask[1] and interpolationMode != NEAREST:
            dot = xp.sum(grad * xp.take(planes, index, axis=1), axis=0)
            dot = xp.where(inside, xp.astype(dot, xp.float64), xp.zeros_like(grad_x))
            grad_x = grad_x + xp.where(inside, dot * xp.reshape(dx, (-1,)), dot)
            grad_y = grad_y + xp.where(inside, dot * xp.reshape(dy, (-1,)), dot)
    grads = {}
    if outputMask[0]:
        image = xp.zeros((planes.shape[0], pixels + 1), dtype=grad.dtype)
        image = xp.scatter_add(image, xp.concat(indices), xp.concat(spread, axis=1))
        grads["inputGrad"] = xp.moveaxis(
            xp.reshape(image[:, :pixels], (-1, input.shape[0], *size)), 0, 1
        )
    if outputMask[1]:
        grads["gridGrad"] = xp.reshape(xp.stack([grad_x, grad_y], axis=-1), grid.shape)
    return grads
