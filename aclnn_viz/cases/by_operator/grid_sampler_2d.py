"""Generate test cases of the 2D grid sampler, and measure which errors they can show: points on the image, across the border
and beyond, on centres, edges and mirrors.
"""

from operator import index

import numpy as np

from aclnn_viz.cases.default import Draw, sprinkle
from aclnn_viz.cases.vacuity import off, share, spread, wide
from aclnn_viz.dtypes import round_to
from aclnn_viz.errors import problem
from aclnn_viz.operators.families import sampling
from aclnn_viz.words.messages import message

SHAPE = (2, 3, 8, 8)
OPTIONS = ("grid_shape",)
FEW_POINTS = {"grid_shape": (2, 3)}  # points, where the picture shall stay small


def draw(source: Draw, shape) -> dict:
    if len(shape) != 4:
        raise ValueError(
            problem("shape must be that of input, (N, C, H, W)", repr(shape), "give four lengths")
        )
    n, c, height, width = shape
    asked = source.attribute("grid_shape", (6, 5))
    try:
        points = tuple(map(index, asked))
    except TypeError:
        points = ()
    points = points[1:3] if len(points) == 4 else points
    if len(points) != 2 or min(points) < 0:
        raise ValueError(
            problem(
                "grid_shape must be (Hout, Wout)", repr(asked), "give two lengths of at least 0"
            )
        )

    def coordinates(rng):
        values = rng.uniform(-1.4, 1.4, (n, *points, 2))
        for axis, size in enumerate((width, height)):
            centres = (2 * np.arange(size) + 1) / max(size, 1) - 1
            special = np.concatenate([centres, np.linspace(-1, 1, max(size, 1)), [-1, 1, -3, 3, 5]])
            values[..., axis] = sprinkle(rng, values[..., axis], special)
        return values

    given = {
        name: source.attribute(name, default)
        for name, default in (
            ("interpolationMode", 0),
            ("paddingMode", 0),
            ("alignCorners", False),
            ("outputMask", (True, True)),
        )
    }
    return {
        "gradOutput": source.normal("gradOutput", (n, c, *points)),
        "input": source.normal("input", shape),
        "grid": source.tensor("grid", (n, *points, 2), coordinates),
        **given,
    }


def meter(gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    found = {message("interpolation {k}", k=k): float(interpolationMode == k) for k in range(3)}
    found |= {message("padding {k}", k=k): float(paddingMode == k) for k in range(3)}
    found |= {f"alignCorners {k}": float(alignCorners == k) for k in (False, True)}
    height, width = input.shape[2:]
    places = [
        sampling.unnormalise(wide(grid[..., axis]), size, alignCorners)[0]
        for axis, size in enumerate((width, height))
    ]
    last = np.array([width - 1, height - 1]).reshape(2, 1, 1, 1)
    u = np.array(places)
    inside, zone = (u >= 0) & (u <= last), ((u > -1) & (u < 0)) | ((u > last) & (u < last + 1))
    touched = np.unique(np.rint(u).reshape(2, -1), axis=1).shape[1] if u.size else 0
    distance = np.min(np.abs(u - np.rint(u)), initial=np.inf)
    return found | {
        message("points inside"): share(inside.all(0)),
        message("points in the border zone"): share(zone.any(0)),
        message("points outside"): share((~inside & ~zone).any(0)),
        message("coordinates in (-1, 0)"): share((u > -1) & (u < 0)),
        message("mirrored points"): share(~inside.all(0)) * (paddingMode == 2),
        message("points on the border itself"): share((u == 0) | (u == last)),
        message("points halfway"): share(u % 1 == 0.5) * (interpolationMode == 1),
        message("samples"): 1 - 1 / max(input.shape[0], 1),
        message("channels"): 1 - 1 / max(input.shape[1], 1),
        message("height that is not the width"): float(height != width),
        message("x that is not y"): off(grid[..., 0] - grid[..., 1], 0),
        message("points sharing a pixel"): float(u[0].size > touched),
        message("closeness to a kink"): 1.0 / (1.0 + distance),
        message("pixels that no point touches"): max(0.0, 1.0 - 4 * touched / (height * width)),
        message("variation of gradOutput"): spread(gradOutput),
        message("variation of the image"): spread(input),
        message("masked outputs"): float(not all(outputMask)),
        "gridGrad": float(outputMask[1]),
    }


def rows_of(rows: int, n: int, seed: int, dtype: str) -> dict:
    """Some points are mirrored, but none lies on a kink, where rounding decides."""
    size = rows, max(n // 2, 1)
    grid = np.random.default_rng(seed).uniform(-1.4, 1.4, (1, *size, 2))
    return {
        "shape": (1, 1, *size),
        "grid_shape": size,
        "paddingMode": 2,
        "grid": round_to(grid, dtype),
    }
