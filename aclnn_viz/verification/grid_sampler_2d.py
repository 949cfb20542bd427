"""What is verified of the grid sampler."""

from itertools import product

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.cases import case
from aclnn_viz.dtypes import FLOAT16, FLOAT32, FLOAT64
from aclnn_viz.kernels import grid_sampler_2d as page
from aclnn_viz.operators import operator
from aclnn_viz.products import A2, A3, ASCEND_950, INFERENCE, TRAINING
from aclnn_viz.verification.contract import HALVES_AND_FLOAT, INVALID, nulls
from aclnn_viz.verification.definitions import inlined
from aclnn_viz.words.speech import message

SHAPES = ((1, 1, 1, 1), (2, 3, 1, 7), (1, 2, 6, 1), (2, 3, 8, 5), (0, 2, 3, 3), (1, 5, 33, 31))
MODES = tuple({"interpolationMode": i, "paddingMode": p, "alignCorners": a}
              for i, p, a in product(range(3), range(3), (False, True)))
#: A large case for the accuracy report: shape and mode.
REPORTED = ((2, 10, 100, 100), {"grid_shape": (100, 100), "paddingMode": 2})


def draw(dtype, shape, mode, seed) -> dict:
    """A case; in float64 no point lies on a kink, where truth, which is wider, may stand on the other side."""
    points = mode.get("grid_shape", (7, 5))
    given = dict(mode) | {"grid_shape": points}
    if dtype == "float64":
        given["grid"] = np.random.default_rng(seed).uniform(-1.4, 1.4, (shape[0], *points, 2))
    return case("grid_sampler_2d", dtype=dtype, shape=shape, seed=seed, **given).inputs


def axis_taps(x, size, interpolation, padding, align, rounded):
    """Taps along one axis as (index, |weight|, |d weight / d x|), the index -1 where there is no pixel.

    `rounded` tells that coordinates are computed in the type of the outputs. Of the bicubic polynomials, 5 bounds the
    second derivative and 36 the sum of the absolute terms.
    """
    u = (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2
    slope = np.full_like(u, (size - 1) / 2 if align else size / 2)
    low, span = (0, size - 1) if align else (-0.5, size)

    def padded(v):
        if padding == 2:
            v = np.abs((v - low) - 2 * span * np.rint((v - low) / (2 * span))) + low if span else 0 * v
        return v if padding == 0 else np.clip(v, 0, size - 1)

    if interpolation == 2:
        t = u - np.floor(u)
        d = [1 + t, t, 1 - t, 2 - t]
        w = [np.where(a <= 1, 1.25 * a**3 - 2.25 * a**2 + 1, -0.75 * (a**3 - 5 * a**2 + 8 * a - 4)) for a in d]
        dw = [np.where(a <= 1, 3.75 * a**2 - 4.5 * a, -0.75 * (3 * a**2 - 10 * a + 8)) for a in d]
        taps = [(padded(np.floor(u) + k - 1), w[k], dw[k]) for k in range(4)]
    else:
        if padding:
            u = padded(u)
            slope = np.where((u <= 0) | (u >= size - 1), 0, slope)
        t = u - np.floor(u)
        taps = [(np.rint(u), np.ones_like(u), np.zeros_like(u))] if interpolation == 1 else [
            (np.floor(u), 1 - t, np.ones_like(u)), (np.floor(u) + 1, t, np.ones_like(u))]
    # Coordinates and weights of float32 are exact beside the rest; those of float64 are sums of parts of their own.
    parts = rounded * ((np.abs(x) + 1) * size + 1) / 2
    cubic = rounded * (interpolation == 2)
    floor = 36 * 2.0**-52 * (interpolation == 2)  # to which two ways of writing the polynomials agree in float64
    return [(np.where((i >= 0) & (i < size), i, -1).astype(int), np.abs(w) + np.abs(d) * parts + 36 * cubic + floor,
             (np.abs(d) + (5 * parts + 36) * cubic) * slope) for i, w, d in taps]


def magnitudes(*, gradOutput, input, grid, interpolationMode=0, paddingMode=0, alignCorners=False,
               outputMask=(True, True)) -> dict:
    """S of each output element: one term a tap, and for gridGrad one a tap and channel."""
    n, c, height, width = input.shape
    count = grid.shape[1] * grid.shape[2]
    grad = np.abs(gradOutput.astype(np.float64)).reshape(n, c, count)
    image = np.abs(input.astype(np.float64)).reshape(n, c, height * width)
    points = grid.astype(np.float64).reshape(n, count, 2)
    spread, gx, gy = np.zeros(image.shape), *np.zeros((2, *points.shape[:2]))
    modes = interpolationMode, paddingMode, alignCorners, grid.dtype == np.float64
    for sample in range(n):
        for row, wy, dy in axis_taps(points[sample, :, 1], height, *modes):
            for column, wx, dx in axis_taps(points[sample, :, 0], width, *modes):
                inside = (row >= 0) & (column >= 0)
                at = np.where(inside, row * width + column, 0)
                dot = inside * np.einsum("cp,cp->p", grad[sample], image[sample][:, at])
                gx[sample] += dot * wy * dx
                gy[sample] += dot * wx * dy
                for channel in range(c):
                    weight = inside * wy * wx
                    spread[sample, channel] += np.bincount(at, weight * grad[sample, channel], height * width)
    return {"inputGrad": spread, "gridGrad": np.stack([gx, gy], -1)}


def normalised(u, size, align):
    """The grid value that unnormalises to the pixel coordinate u."""
    if align:
        return 2 * u / (size - 1) - 1 if size > 1 else 0 * u
    return (2 * u + 1) / size - 1


def pullback(mode, image, grid, seed, forward=operator("grid_sampler_2d").forward):
    op = operator("grid_sampler_2d")
    point = {"input": image, "grid": grid}
    loss = lambda p: float(np.sum(seed * forward(**p, **mode)["out"]))  # noqa: E731
    out = op.backward(gradOutput=seed, **point, **mode)
    return point, loss, {"input": out["inputGrad"], "grid": out["gridGrad"]}


def smooth(rng, mode, forward=operator("grid_sampler_2d").forward):
    """A point no nearer than a tenth of a pixel to any kink: pixels, borders, mirrors, and ties of nearest."""
    height, width = 5, 4

    def between(size):
        pixels, shape = rng.integers(-2 * size, 3 * size, (2, 6, 6)), (2, 6, 6)
        pixels[:, ::2] = rng.integers(0, size - 1, (2, 3, 6))  # every other row of points lies on the image
        u = pixels + rng.choice([0.25, 0.75], shape) + rng.uniform(-0.15, 0.15, shape)
        return normalised(u, size, mode["alignCorners"])

    grid = np.stack([between(width), between(height)], axis=-1)
    image, seed = rng.standard_normal((2, 3, height, width)), rng.standard_normal((2, 3, 6, 6))
    return pullback(mode, image, grid, seed, forward)


def kinks():
    """(where, point, loss, gradient, direction) such that the one-sided Taylor rate is 2.

    On a pixel bilinear has the derivative from the right; on the border of a clipped or mirrored axis the documented
    multiplier is 0, which for the border mode is the derivative from outside.
    """
    rng = np.random.default_rng(0)
    for align in (False, True):
        width = 5 if align else 4  # so that every pixel has an exact grid value
        image, seed = rng.standard_normal((1, 2, 3, width)), rng.standard_normal((1, 2, 1, 1))
        for padding, u, sign, where in (
                (0, 1.0, 1.0, message("on a pixel to the right")), (1, 2.0, 1.0, message("on a pixel to the right")),
                (1, 0.0, -1.0, message("on the border outwards")), (1, width - 1.0, 1.0, message("on the border outwards"))):
            mode = {"interpolationMode": 0, "paddingMode": padding, "alignCorners": align}
            grid = np.array([normalised(u, width, align), 0.125]).reshape(1, 1, 1, 2)
            direction = {"grid": np.array([sign, 0.0]).reshape(1, 1, 1, 2)}
            where = message("{where}, paddingMode {padding}, alignCorners {align}", where=where, padding=padding, align=align)
            yield where, *pullback(mode, image, grid, seed), direction


def small(mode, seed) -> dict:
    """A small case in float32, no point near a kink."""
    rng = np.random.default_rng(seed)
    point, _, _ = smooth(rng, mode)
    grid, image = point["grid"][:1, :2, :3].astype(np.float32), point["input"][:1, :2].astype(np.float32)
    return {"gradOutput": rng.standard_normal((1, 2, 2, 3)).astype(np.float32), "input": image, "grid": grid, **mode}


def symbols(inputs):
    """The sizes of the derived formulas, and the inputs by the names that stand in them."""
    from derivations.grid_sampler_2d import C, H, N, P, Q, W

    n, c, height, width = inputs["input"].shape
    return {N: n, C: c, H: height, W: width, P: inputs["grid"].shape[1], Q: inputs["grid"].shape[2]}, inputs


def symbolic_forward(*, input, grid, interpolationMode, paddingMode, alignCorners) -> dict:
    """The definition that the gradients were derived from, evaluated in the cell in which each point lies.

    In an open cell the padded coordinate is s * i + o, and floor and taps are constants: these numbers name the cell.
    """
    from derivations import evaluate

    xp, modes = NumPyArrays(), (paddingMode, alignCorners)
    out, definition = inlined("grid_sampler_2d", "out", interpolationMode, *modes)
    samples, channels, height, width = input.shape
    values = {"input": input, "N": samples, "C": channels, "H": height, "W": width}
    values |= dict(zip("PQ", grid.shape[1:3]))
    for name, size, x in (("x", width, grid[..., 0]), ("y", height, grid[..., 1])):
        pixel, slope = page.unnormalise(x, size, alignCorners)
        padded, sloped = (pixel, slope) if interpolationMode == page.BICUBIC else page.source(xp, x, size, *modes)
        sign = sloped / slope
        indices = [index for index, _, _ in page.taps(xp, x, size, interpolationMode, *modes)]
        values |= {f"g{name}": x, f"s{name}": sign, f"o{name}": padded - sign * pixel,
                   f"floor_{name}": np.floor(padded), name.upper(): np.array(indices).astype(np.int64)}
    shape = samples, channels, *grid.shape[1:3]
    return {"out": evaluate(definition, values, dict(zip(out.indices, shape)))}


#: Formats that a call in one format may have, by product; all else is refused.
SUPPORTED = dict.fromkeys((A2, A3, ASCEND_950), HALVES_AND_FLOAT | {FLOAT64}) | {
    TRAINING: {FLOAT16, FLOAT32, FLOAT64},  # DOUBLE is not in the documents; the library's check takes it
    INFERENCE: {FLOAT16, FLOAT32, FLOAT64}}  # 310P is not in the documents; the library's check is the one of 910
#: Arguments of phase 1 that pass: (shape, dtype) of tensors.
GOOD = dict(gradOutput=((1, 2, 3, 3),), input=((1, 2, 4, 5),), grid=((1, 3, 3, 2),),
            interpolationMode=0, paddingMode=0, alignCorners=False, outputMask=[True, True],
            inputGrad=((1, 2, 4, 5),), gridGrad=((1, 3, 3, 2),))
#: (what is spoiled, the status of phase 1 on an Atlas A2 with CANN 9.1).
CLAUSES = (
    ({}, 0), *nulls("gradOutput input grid inputGrad gridGrad"), ({"outputMask": None, "input": None}, 0),
    ({"interpolationMode": 3}, INVALID), ({"interpolationMode": 2}, 0), ({"paddingMode": 3}, INVALID),
    ({"paddingMode": -1}, INVALID), ({"input": ((2, 4, 5),)}, INVALID), ({"grid": ((2, 3, 3, 2),)}, INVALID),
    ({"gradOutput": ((1, 1, 3, 3),)}, INVALID), ({"grid": ((1, 4, 3, 2),)}, INVALID),
    ({"grid": ((1, 3, 4, 2),)}, INVALID), ({"input": ((1, 2, 0, 5),), "inputGrad": ((1, 2, 0, 5),)}, INVALID),
    ({"grid": ((1, 3, 3, 3),)}, INVALID), ({"inputGrad": ((1, 2, 4, 4),)}, INVALID),
    ({"gridGrad": ((1, 3, 3, 1),)}, INVALID), ({"grid": ((1, 3, 3, 2), FLOAT16.acl_code)}, INVALID),
)
