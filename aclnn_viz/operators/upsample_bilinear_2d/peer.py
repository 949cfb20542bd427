"""Bilinear interpolation in PyTorch: one function of ATen, called as its interpolate does."""

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.operators.families.resampling_peer import REFUSED, given_scales
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.peers import Difference
from aclnn_viz.operators.upsample_bilinear_2d import page


def in_torch(torch, gradOut, outputSize, inputSize, alignCorners, scalesH, scalesW):
    scales = given_scales(outputSize, inputSize, (scalesH, scalesW))
    return torch.ops.aten.upsample_bilinear2d_backward(
        gradOut, list(outputSize), list(inputSize), alignCorners, *scales
    )


QUOTIENT = (
    "under, over = ratio(length, places, scale)",
    "under, over = None, scale if scale > 0.0 else places / length",
)
DIFFERENCES = {
    "torch": (
        Difference(
            "places lie where products of float32 say",
            "ATen native/UpSample.h, area_pixel_compute_source_index",
            Plan(
                "interpolation with places in float32",
                order=SEQUENTIAL,
                coordinates="float32",
                page=changed(page, (QUOTIENT,)).backward,
            ),
            dtypes=("float32",),
        ),
    )
}
