"""PyTorch's gradient of the 2D grid sampler, to compare ours with: one function of ATen, which takes the vendor's numbers for
the modes.
"""

from aclnn_viz.operators.families.sampling_peer import SOURCE, of_aten
from aclnn_viz.operators.faults.fault import page_from, rewritten
from aclnn_viz.operators.peers import Difference, narrow

from . import plans

# ATen reflects x without `fold`, which first takes x modulo 4. Far from the image, a coordinate in
# 16 bits has too few digits to tell neighbouring taps apart.
UNFOLDED = rewritten(plans, ()).replace("fold(xp, x) if paddingMode == REFLECTION else x", "x")


in_torch = of_aten("grid_sampler_2d_backward")


DIFFERENCES = {
    "torch": (
        narrow(
            "coordinates, weights and sums are rounded to 16 bits",
            SOURCE,
            "the grid sampler in 16 bits",
            page=page_from(UNFOLDED, plans).simt_page,
            accumulate="storage",
        ),
        Difference(
            "bicubic taps of a coordinate beyond int32 read the edge on the same side",
            SOURCE,
            convention="x = 1e10, bicubic, border: inputGrad, and last the x part of gridGrad",
        ),
        Difference(
            "border padding of a coordinate that is nan ends the process on a CPU: refused",
            SOURCE,
            convention="x = nan, bilinear, border: inputGrad, and last the x part of gridGrad",
        ),
        Difference(
            "reflection padding of an infinite coordinate ends the process on a CPU: refused",
            SOURCE,
            convention="x = inf, bilinear, reflection: inputGrad, and last the x part of gridGrad",
        ),
        Difference(
            "between two mirrors that coincide a coordinate that is nan becomes 0, too",
            SOURCE,
            convention="x = nan, one pixel, bilinear, reflection, aligned: inputGrad, and last the x part of gridGrad",
        ),
        Difference(
            "bicubic weights of a coordinate that is nan reach the gradient by the grid",
            SOURCE,
            convention="x = nan, bicubic, zeros: inputGrad, and last the x part of gridGrad",
        ),
        Difference(
            "gradOutput of a point outside is multiplied by 0, and a nan stays",
            SOURCE,
            convention="gradOutput = nan at a point far outside, bilinear, zeros: inputGrad, and last the x part of gridGrad",
        ),
    )
}

DUMPED = {
    "grid_sample": "input, grid, mode: interpolationMode, padding_mode: paddingMode, align_corners: alignCorners"
}
