"""Wrong kernels of the grid sampler's two gradients."""

import numpy as np

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.operators.families.sampling import unnormalise
from aclnn_viz.operators.faults.fault import STRIDES, TRUNCATED, Fault
from aclnn_viz.operators.faults.fault import ends
from aclnn_viz.words.messages import message

BILINEAR_FLOOR = "    first = xp.floor(u)\n    t = u - first"
NEAREST_ROUND = "(xp.round(u), xp.ones_like(u)"
SCATTER = "image = xp.scatter_add(image, xp.concat(indices), xp.concat(spread, axis=1))"
DOT = "dot = xp.sum(grad * xp.take(planes, index, axis=1), axis=0)"
SAMPLE = "xp.arange(row.shape[0], dtype=xp.int64)[:, None] * (height * width)"
INSIDE = "inside = (u > 0.0) & (u < size - 1)"
BICUBIC_SLOPE = "    return u, slope * xp.ones_like(u)\n\n\ndef bicubic_weights"
BILINEAR = ("the mode is bilinear", {"interpolationMode": 0})
ZEROS = ("padding is zeros", {"paddingMode": 0})
NEAREST = {"interpolationMode": 1}
ONE_SAMPLE = ("there is one sample", {"shape": (1, 2, 5, 4)})
ONE_CHANNEL = ("there is one channel", {"shape": (2, 1, 5, 4)})


FAULTS = (
    Fault("alignCorners swapped", "the two meanings of -1 and 1 are confused", "any image",
          {"    if alignCorners:\n        return (x": "    if not alignCorners:\n        return (x"}),
    Fault("scale of the other alignCorners", "W / 2 for (W - 1) / 2 in the gradient of the grid, and the reverse",
          "gridGrad", {"* (size - 1), (size - 1) / 2": "* (size - 1), size / 2",
                       "* size - 1.0) * 0.5, size / 2": "* size - 1.0) * 0.5, (size - 1) / 2"}),
    Fault("scale forgotten", "the gradient by pixels is stored as the gradient of the grid", "gridGrad",
          {"* (size - 1), (size - 1) / 2": "* (size - 1), 1.0",
           "* size - 1.0) * 0.5, size / 2": "* size - 1.0) * 0.5, 1.0"},
          hidden=("the mode is nearest", NEAREST | {"outputMask": (False, True)})),
    Fault("x and y swapped", "the grid is read as (row, column)", "an image or a grid that is not symmetric",
          {"grid[..., 1], height": "grid[..., 0], height", "grid[..., 0], width": "grid[..., 1], width"}),
    Fault("gridGrad x and y swapped", "the two components are stored in the order of the axes", "gridGrad",
          {"xp.stack([grad_x, grad_y], axis=-1)": "xp.stack([grad_y, grad_x], axis=-1)"},
          hidden=("the mode is nearest", NEAREST)),
    Fault("truncation for floor", "a cast to an integer rounds towards 0", "bilinear with coordinates in (-1, 0)",
          {BILINEAR_FLOOR: BILINEAR_FLOOR.replace("floor", "trunc")}, hidden=("the mode is nearest", NEAREST)),
    Fault("nearest ties up", "floor(u + 0.5) for round to even", "nearest with coordinates halfway",
          {NEAREST_ROUND: "(xp.floor(u + 0.5), xp.ones_like(u)"}, hidden=BILINEAR),
    Fault("nearest by floor", "the pixel is cut, not rounded", "nearest",
          {NEAREST_ROUND: "(xp.floor(u), xp.ones_like(u)"}, hidden=BILINEAR),
    Fault("reflection sign lost", "an odd number of mirrors turns the direction around", "reflected points",
          {"xp.where(forth == (offset >= 0.0), xp.ones_like(u), -xp.ones_like(u))": "xp.ones_like(u)"},
          hidden=ZEROS),
    Fault("period off by one", "the mirrors of unaligned corners are W - 1 apart, not W",
          "reflected points, alignCorners False", {"(-0.5, float(size))": "(-0.5, float(size - 1))"}, hidden=ZEROS),
    Fault("mirrors on the centres", "unaligned corners are reflected like aligned ones",
          "reflected points, alignCorners False", {"if alignCorners else (-0.5, float(size))":
                                                   "if True else (-0.5, float(size))"}, hidden=ZEROS),
    Fault("mirrors on the edges", "aligned corners are reflected like unaligned ones",
          "reflected points, alignCorners True", {"(0.0, float(size - 1)) if alignCorners":
                                                  "(0.0, float(size - 1)) if False"}, hidden=ZEROS),
    Fault("clipped points keep their gradient", "the clip is forgotten in the gradient of the grid",
          "border, points outside", {INSIDE: "inside = u == u"}, hidden=ZEROS),
    Fault("gradient on the border itself", "the clip is closed: the documented condition", "points on the border",
          {INSIDE: "inside = (u >= 0.0) & (u <= size - 1)"}, hidden=ZEROS),
    Fault("reflection as border", "mode 2 falls through to mode 1", "reflected points",
          alters=lambda inputs: inputs | {"paddingMode": min(inputs["paddingMode"], 1)},
          hidden=ZEROS),
    Fault("zeros as border", "taps outside are clamped to the image instead of dropped", "zeros, points outside",
          {"    inside = (row >= 0.0)": "    row, column = xp.clip(row, 0.0, height - 1.0), "
           "xp.clip(column, 0.0, width - 1.0)\n    inside = (row >= 0.0)"}),
    Fault("scatter overwrites", "the gradient is stored, not added: two points at one pixel", "more points than pixels",
          {SCATTER: "for at, part in zip(indices, spread):\n            image[:, at] = part"}),
    Fault("first sample for all", "the batch is missing in the address", "more than one sample",
          {SAMPLE: f"0 * {SAMPLE}"}, hidden=ONE_SAMPLE),
    Fault("row stride is the height", "H and W are confused in the address; here it wraps around",
          "images that are not square", {"row * width + column": "(row * height + column) % (height * width)"},
          hidden=("images are square", {"shape": (1, 2, 4, 4)})),
    Fault("channels averaged", "gridGrad averages over the channels", "more than one channel",
          {DOT: DOT.replace("xp.sum(", "xp.mean(")}, hidden=ONE_CHANNEL),
    Fault("last channel only", "each channel overwrites gridGrad", "more than one channel",
          {DOT: "dot = (grad * xp.take(planes, index, axis=1))[-1]"}, hidden=ONE_CHANNEL),
    Fault("nearest with the gradient of bilinear", "gridGrad of the nearest mode is not 0", "nearest",
          {"if interpolationMode == NEAREST:\n        return [(xp.round(u), xp.ones_like(u), xp.zeros_like(u))]":
           "if interpolationMode == NEAREST:\n        return [(xp.round(u), xp.ones_like(u), slope)]",
           "if outputMask[1] and interpolationMode != NEAREST:": "if outputMask[1]:"}, hidden=BILINEAR),
    Fault("A = -0.5", "the other usual bicubic kernel", "bicubic", {"A = -0.75": "A = -0.5"}, hidden=BILINEAR),
    Fault("bicubic signs of the last taps", "their distances shrink as t grows", "bicubic",
          {"(w2, -d2), (w3, -d3)]": "(w2, d2), (w3, d3)]"}, hidden=BILINEAR),
    Fault("bicubic taps start at floor", "the four taps are one pixel too far", "bicubic",
          {"first + (k - 1), size": "first + k, size"}, hidden=BILINEAR),
    Fault("bicubic clipped like bilinear", "the documented multiplier of the padding is applied to bicubic, too",
          "bicubic with border, points outside",
          {BICUBIC_SLOPE: "    if paddingMode == BORDER:\n        slope = slope * clip(xp, u, size)[1]\n"
           + BICUBIC_SLOPE}, hidden=BILINEAR),
    Fault("gradOutput forgotten in gridGrad", "the slope of the image is stored alone", "gradOutput that is not 1",
          {DOT: "dot = xp.sum(xp.take(planes, index, axis=1), axis=0)"},
          hidden=("gradOutput is 1", {"gradOutput": 1.0})),
    Fault("uninitialised where nothing lands", "the buffer is not cleared before the gradients are added",
          "pixels that no point touches",
          {SCATTER: f"untouched = xp.scatter_add(image, xp.concat(indices), xp.concat([xp.ones_like(part) for part in "
           f"spread], axis=1)) == 0.0\n        {SCATTER}\n        "
           "image = xp.where(untouched, xp.full_like(image, xp.nan), image)"}, garbage=True),
    Fault("outputMask reversed", "its entries are read in the other order", "an output that is masked out",
          alters=lambda inputs: inputs | {"outputMask": inputs["outputMask"][::-1]}, hidden=("both are asked for", {})),
    Fault("coordinates in 16 bits", "the coordinate is rounded to the format of the inputs, as on Ascend 950",
          "16-bit grids", {"    return xp.where(xp.abs(u) <= HUGE": "    u = xp.to_storage(u)\n"
                           "    return xp.where(xp.abs(u) <= HUGE"}, plan=Plan("coordinates in 16 bits"),
          hidden=("the format is float32", {})),
    Fault("inputGrad added up in float16", "atomic additions in 16 bits", "several points on a pixel",
          plan=Plan("atomics in float16", coordinates="float64", atomics="float16", order=SEQUENTIAL)),
    STRIDES, TRUNCATED,
)


#: The terms of one element cancel, to the last bit only in one order: a kernel may keep a rounding of the largest.
CANCELLING = True


def regions(values, output, shape):
    height, width = values["input"].shape[2:]
    if output == "inputGrad":
        row, column = np.arange(height)[:, np.newaxis], np.arange(width)
        on_edge = (row == 0) | (row == height - 1) | (column == 0) | (column == width - 1)
        return {message("pixels on the edge"): on_edge, message("pixels inside"): ~on_edge,
                **ends(shape, 1, message("channel"))}
    grid = values["grid"].astype(np.float64)
    u = np.stack([unnormalise(grid[..., k], size, values["alignCorners"])[0]
                  for k, size in enumerate((width, height))], -1)
    last = np.array([width - 1, height - 1])
    inside = ((u > 0) & (u < last)).all(-1, keepdims=True)
    border = ((u == 0) | (u == last)).any(-1, keepdims=True)
    outside = ((u < 0) | (u > last)).any(-1, keepdims=True)
    names = {0: message("points outside"), 1: message("clamped points"), 2: message("reflected points")}
    return {message("interior points"): inside, message("points on the border"): border & ~outside,
            names[values["paddingMode"]]: outside, message("x components"): np.arange(2) == 0,
            message("y components"): np.arange(2) == 1}


# What usual tests feed; the vendor's tables hold no reflection and no bicubic.
USUAL_SHAPE = (2, 3, 8, 8)
POINTS = (2, 6, 5, 2)


def random_options(rng):
    return {"grid": rng.uniform(-1, 1, POINTS).astype(np.float32)}


def vendor_options(uniform, number):
    return {"grid": uniform(-5, 5, *POINTS), "interpolationMode": number % 2, "paddingMode": number // 2 % 2,
            "alignCorners": number % 3 == 0}

#: One of each kind: a wrong formula, one that is slightly wrong, and one that is seldom seen.
KINDS = {"formula": "x and y swapped", "slight": "inputGrad added up in float16",
         "seldom": "mirrors on the centres"}
