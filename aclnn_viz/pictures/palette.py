"""The colours of all pictures, from `drawing.toml`: perceptually uniform maps, and kinds of marks, which also differ in
shape.
"""

import tomllib
from pathlib import Path

import numpy as np

from aclnn_viz.pictures.text import choose

DRAWING = tomllib.loads(Path(__file__).with_name("drawing.toml").read_text("utf-8"))
HANDLE = DRAWING["handle"]
# each kind of mark: (name, colour in the light theme, in the dark theme, dash of the line,
# Matplotlib's marker, hatch)
KINDS = tuple(tuple(kind.values()) for kind in DRAWING["kinds"] + DRAWING["stage"])


def table(points: str, levels: int = 256) -> np.ndarray:
    """Return `levels` colours (levels, 3), uint8, interpolated linearly between the hexadecimal `points`."""
    knots = np.array(
        [[int(point[k : k + 2], 16) for k in (0, 2, 4)] for point in points.split()], np.float64
    )
    at = np.linspace(0, len(knots) - 1, levels)
    return np.stack(
        [np.rint(np.interp(at, np.arange(len(knots)), knots[:, k])) for k in range(3)], axis=1
    ).astype(np.uint8)


RUNS = len(DRAWING["kinds"])  # number of kinds, one for each run on an axis
MAPS = {name: table(points) for name, points in DRAWING["maps"].items()}


def scale(values, xp=np) -> tuple[str, float, float]:
    """Return (map, low, high) for a heat map of an array of `xp`: diverging around 0 if a value is negative."""
    if not values.size:
        return "sequential", 0.0, 1.0
    there = xp.isfinite(values)
    low = xp.minimum(xp.min(xp.where(there, values, np.inf)), 0.0)
    high = xp.max(xp.where(there, values, -np.inf))
    reach = xp.where(
        low < 0.0, xp.maximum(-low, high), xp.where((high == 0.0) | ~xp.any(there), 1.0, high)
    )
    return choose(low < 0.0, "sequential", "diverging"), xp.where(low < 0.0, -reach, 0.0), reach


def coloured(values: np.ndarray, name: str, low: float, high: float) -> np.ndarray:
    """Return `values` as colours of the map (..., 3), uint8; values beyond the ends get the end's colour, nan the lowest."""
    return MAPS[name][
        np.rint(
            np.clip(
                (np.nan_to_num(np.asarray(values, np.float64)) - low) / ((high - low) or 1.0),
                0.0,
                1.0,
            )
            * 255
        ).astype(np.intp)
    ]
