"""Call PyTorch's interpolate with scales, from which it computes the output size; refuse scales that miss outputSize. State how
paddings differ.
"""

from math import floor

from aclnn_viz.errors import NotSupported, problem
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.peers import narrow

REFUSED = ("PyTorch's interpolate makes floor(length * scale) places",)

#: The differences of paddings.
PADDED = {
    "torch": (
        narrow(
            "gradients that padding sends to an element are added in 16 bits",
            "ATen native/cpu/PaddingKernel.cpp",
            "padding in 16 bits",
            accumulate="storage",
        ),
    )
}

#: The offset from an element is a difference of rounded numbers, as in ATen's native/UpSample.h.
ROUNDED = (
    (
        "return whole, xp.astype(count - whole * parts, xp.float64) / parts",
        "return whole, xp.astype(count, xp.float64) / parts - xp.astype(whole, xp.float64)",
    ),
)


def arrangements(page) -> tuple:
    """Return the pages of a kernel that computes places in the format of the gradient."""
    return (changed(page, ROUNDED).backward,)


def given_scales(outputSize, inputSize, scales):
    """Return the scales, None for a scale <= 0; raise NotSupported if PyTorch's output would have another size."""
    made = [
        floor(length * scale) if scale > 0.0 else places
        for length, places, scale in zip(inputSize[2:], outputSize, scales)
    ]
    if made != list(outputSize):
        raise NotSupported(
            problem(REFUSED[0], f"outputSize {outputSize} for {made}", "pass these, or no scales")
        )
    return [scale if scale > 0.0 else None for scale in scales]


def interpolation(name: str):
    """Return an `in_torch` that calls a function of ATen with alignCorners."""

    def in_torch(torch, gradOut, outputSize, inputSize, alignCorners, scalesH, scalesW):
        scales = given_scales(outputSize, inputSize, (scalesH, scalesW))
        return getattr(torch.ops.aten, name)(
            gradOut, list(outputSize), list(inputSize), alignCorners, *scales
        )

    return in_torch
