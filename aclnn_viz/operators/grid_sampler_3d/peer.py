"""PyTorch's gradient of the 3D grid sampler, to compare ours with: one function of ATen, which takes the vendor's numbers for
the modes.
"""

from aclnn_viz.operators.families.sampling import NEAREST, channels_first
from aclnn_viz.operators.families.sampling_peer import SOURCE, of_aten
from aclnn_viz.operators.families.sampling_plans import taps_and_slope
from aclnn_viz.operators.peers import narrow

from .page import voxel

in_torch = of_aten("grid_sampler_3d_backward")


def page(xp, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    """Return ATen's steps: coordinates in the format of grid, reflected without a fold; the multiplier last."""
    size, samples = input.shape[2:], input.shape[0]
    voxels = samples * size[0] * size[1] * size[2]
    grad, planes = channels_first(xp, gradOutput), channels_first(xp, input)
    modes = interpolationMode, paddingMode, alignCorners
    (xs, along_x), (ys, along_y), (zs, along_z) = (
        taps_and_slope(xp, grid[..., k], size[2 - k], *modes, True) for k in range(3)
    )
    indices, spread, sums = [], [], [xp.zeros(grad.shape[1], dtype=grad.dtype)] * 3
    for place, weight, slopes in (
        ((z, y, x), wx * wy * wz, (dx * wy * wz, wx * dy * wz, wx * wy * dz))
        for z, wz, dz in zs
        for y, wy, dy in ys
        for x, wx, dx in xs
    ):
        index, inside = voxel(xp, place, size)
        indices.append(xp.where(inside, index, xp.full_like(index, voxels)))
        spread.append(grad * xp.reshape(weight, (-1,)))
        if interpolationMode != NEAREST:
            value = xp.take(planes, index, axis=1) * grad
            terms = (xp.sum(value * xp.reshape(slope, (-1,)), axis=0) for slope in slopes)
            sums = [
                so_far + xp.where(inside, term, xp.zeros_like(term))
                for so_far, term in zip(sums, terms)
            ]
    image = xp.scatter_add(
        xp.zeros((planes.shape[0], voxels + 1), dtype=grad.dtype),
        xp.concat(indices),
        xp.concat(spread, axis=1),
    )
    sums = [
        total * xp.reshape(slope, (-1,)) for total, slope in zip(sums, (along_x, along_y, along_z))
    ]
    return {
        "inputGrad": xp.moveaxis(xp.reshape(image[:, :voxels], (-1, samples, *size)), 0, 1),
        "gridGrad": xp.reshape(xp.stack(sums, axis=-1), grid.shape),
    }


ARRANGEMENTS = (page,)
DIFFERENCES = {
    "torch": (
        narrow(
            "coordinates, weights and sums are rounded to 16 bits",
            SOURCE,
            "the grid sampler in 16 bits",
            page=page,
            accumulate="storage",
        ),
    )
}

DUMPED = {
    "grid_sample": "input, grid, mode: interpolationMode, padding_mode: paddingMode, align_corners: alignCorners"
}
