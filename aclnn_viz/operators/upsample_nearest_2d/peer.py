"""Nearest neighbours in PyTorch: one function of ATen, called as its interpolate does."""

from math import floor

from aclnn_viz.errors import NotSupported, problem

REFUSED = ("PyTorch's interpolate makes floor(length * scale) places",)


def in_torch(torch, gradOut, outputSize, inputSize, scalesH, scalesW):
    scales = (scalesH, scalesW) if scalesH > 0.0 and scalesW > 0.0 else (None, None)
    made = [places if scale is None else floor(length * scale) for length, places, scale in zip(inputSize[2:], outputSize, scales)]
    if made != list(outputSize):
        raise NotSupported(problem(REFUSED[0], f"outputSize {outputSize} for {made}", "pass these, or no scales"))
    return {"gradInput": torch.ops.aten.upsample_nearest2d_backward(gradOut, list(outputSize), list(inputSize), *scales)}
