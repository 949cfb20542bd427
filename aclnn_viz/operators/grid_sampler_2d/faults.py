"""Name regions of the grid sampler's outputs (edges, points outside), so that a report can say where a kernel is wrong; also
mistakes that faults.toml calls by name.
"""

import numpy as np

from aclnn_viz.operators.families.sampling import unnormalise
from aclnn_viz.operators.faults.fault import ends
from aclnn_viz.words.messages import message


def reflection_as_border(inputs):
    return inputs | {"paddingMode": min(inputs["paddingMode"], 1)}


def mask_reversed(inputs):
    return inputs | {"outputMask": inputs["outputMask"][::-1]}


#: The terms of an element cancel to the last bit in one order only; a kernel may keep a rounding of the largest term.
CANCELLING = True


def regions(values, output, shape):
    height, width = values["input"].shape[2:]
    if output == "inputGrad":
        row, column = np.arange(height)[:, np.newaxis], np.arange(width)
        on_edge = (row == 0) | (row == height - 1) | (column == 0) | (column == width - 1)
        return {
            message("pixels on the edge"): on_edge,
            message("pixels inside"): ~on_edge,
            **ends(shape, 1, message("channel")),
        }
    grid = values["grid"].astype(np.float64)
    u = np.stack(
        [
            unnormalise(grid[..., k], size, values["alignCorners"])[0]
            for k, size in enumerate((width, height))
        ],
        -1,
    )
    last = np.array([width - 1, height - 1])
    inside = ((u > 0) & (u < last)).all(-1, keepdims=True)
    border = ((u == 0) | (u == last)).any(-1, keepdims=True)
    outside = ((u < 0) | (u > last)).any(-1, keepdims=True)
    names = {
        0: message("points outside"),
        1: message("clamped points"),
        2: message("reflected points"),
    }
    return {
        message("interior points"): inside,
        message("points on the border"): border & ~outside,
        names[values["paddingMode"]]: outside,
        message("x components of the gradient"): np.arange(2) == 0,
        message("y components of the gradient"): np.arange(2) == 1,
    }


#: One fault of each kind: wrong, slightly wrong, and rarely visible.
KINDS = {
    "formula": "x and y swapped",
    "slight": "inputGrad added up in float16",
    "seldom": "mirrors on the centres",
}
