"""Generate test cases of the 2D grid sampler: points on the image, across the border
and beyond, on centres, edges and mirrors.
"""

from operator import index

import numpy as np

from aclnn_viz.cases.default import Draw, sprinkle
from aclnn_viz.dtypes import round_to
from aclnn_viz.errors import invalid

SHAPE = (2, 3, 8, 8)
OPTIONS = ("grid_shape",)
FEW_POINTS = {"grid_shape": (2, 3)}  # a small grid, for pictures that must stay small


def draw(source: Draw, shape) -> dict:
    if len(shape) != 4:
        raise invalid("shape must be that of input, (N, C, H, W)", repr(shape), "give four lengths")
    n, c, height, width = shape
    asked = source.attribute("grid_shape", (6, 5))
    try:
        points = tuple(map(index, asked))
    except TypeError:
        points = ()
    points = points[1:3] if len(points) == 4 else points
    if len(points) != 2 or min(points) < 0:
        raise invalid(
            "grid_shape must be (Hout, Wout)", repr(asked), "give two lengths of at least 0"
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


def rows_of(rows: int, n: int, seed: int, dtype: str) -> dict:
    """Return options with some mirrored points and none at a kink, where rounding would decide."""
    size = rows, max(n // 2, 1)
    grid = np.random.default_rng(seed).uniform(-1.4, 1.4, (1, *size, 2))
    return {
        "shape": (1, 1, *size),
        "grid_shape": size,
        "paddingMode": 2,
        "grid": round_to(grid, dtype),
    }
