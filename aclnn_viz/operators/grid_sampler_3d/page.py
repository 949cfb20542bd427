"""Formulas of the 3D grid sampler, forward and backward, as array code to run and prove:
out[n, c, p] is the sum of weight * input[n, c, tap] over the taps (sampled voxels) around grid[n, p] = (x, y, z).

Each axis is treated alone, as in the plane; the weight of a tap is the product of three.

Source: aclnnGridSampler3DBackward, CANN operator documentation; ops-cv image/grid_sampler3_d_grad.
"""

from aclnn_viz.operators.families.sampling import NEAREST, channels_first, taps

AXES = {
    "input": "nc...",
    "grid": "n..",
    "out": "nc.",
    "gradOutput": "nc.",
    "inputGrad": "nc...",
    "gridGrad": "n..",
}


def taps_3d(xp, grid, size, *modes):
    """Yield each tap of every point: place (plane, row, column), weight, and derivatives by x, y, z."""
    depth, height, width = size
    grid = xp.astype(grid, xp.float64)
    rows, columns = taps(xp, grid[..., 1], height, *modes), taps(xp, grid[..., 0], width, *modes)
    for plane, wz, dz in taps(xp, grid[..., 2], depth, *modes):
        for row, wy, dy in rows:
            for column, wx, dx in columns:
                yield (plane, row, column), wz * wy * wx, (wz * wy * dx, wz * dy * wx, dz * wy * wx)


def voxel(xp, place, size):
    """Return each voxel's flat number among all N * D * H * W, 0 outside, and whether it lies in the image."""
    first = xp.arange(place[0].shape[0], dtype=xp.int64)[:, None]
    number, inside = first, place[0] >= 0.0
    for at, length in zip(place, size):
        number, inside = (
            number * length + xp.astype(at, xp.int64),
            inside & (at >= 0.0) & (at < length),
        )
    return xp.reshape(xp.where(inside, number, xp.zeros_like(first)), (-1,)), xp.reshape(
        inside, (-1,)
    )


def forward(xp, input, grid, interpolationMode, paddingMode, alignCorners):
    samples, points = grid.shape[:2]
    planes = channels_first(xp, input)
    out = xp.zeros((input.shape[1], samples * points), dtype=input.dtype)
    for place, weight, _ in taps_3d(
        xp, grid, input.shape[2:], interpolationMode, paddingMode, alignCorners
    ):
        index, inside = voxel(xp, place, input.shape[2:])
        value = xp.take(planes, index, axis=1) * xp.astype(xp.reshape(weight, (-1,)), input.dtype)
        out = out + xp.where(inside, value, xp.zeros_like(value))
    return {"out": xp.moveaxis(xp.reshape(out, (-1, samples, points)), 0, 1)}


def backward(xp, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    size = input.shape[2:]
    voxels = input.shape[0] * size[0] * size[1] * size[2]
    grad, planes = channels_first(xp, gradOutput), channels_first(xp, input)
    indices, spread, along = [], [], [xp.zeros(grad.shape[1], dtype=xp.float64)] * 3
    for place, weight, slopes in taps_3d(
        xp, grid, size, interpolationMode, paddingMode, alignCorners
    ):
        index, inside = voxel(xp, place, size)
        if outputMask[0]:
            # One additional voxel collects taps outside the image; a nan there must not reach the
            # image.
            indices.append(xp.where(inside, index, xp.full_like(index, voxels)))
            spread.append(grad * xp.astype(xp.reshape(weight, (-1,)), grad.dtype))
        if outputMask[1] and interpolationMode != NEAREST:
            dot = xp.astype(xp.sum(grad * xp.take(planes, index, axis=1), axis=0), xp.float64)
            dot = xp.where(inside, dot, xp.zeros_like(dot))
            along = [
                sums + xp.where(inside, dot * xp.reshape(slope, (-1,)), dot)
                for sums, slope in zip(along, slopes)
            ]
    grads = {}
    if outputMask[0]:
        image = xp.zeros((planes.shape[0], voxels + 1), dtype=grad.dtype)
        image = xp.scatter_add(image, xp.concat(indices), xp.concat(spread, axis=1))
        grads["inputGrad"] = xp.moveaxis(
            xp.reshape(image[:, :voxels], (-1, input.shape[0], *size)), 0, 1
        )
    if outputMask[1]:
        grads["gridGrad"] = xp.reshape(xp.stack(along, axis=-1), grid.shape)
    return grads
