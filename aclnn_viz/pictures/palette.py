"""The colours of all pictures: perceptually uniform maps, and colours of kinds that also differ in shape and dash.

The sequential map follows cividis (Nunez et al., 2018); the diverging one runs in equal steps of OKLab lightness from
blue through a light grey to brown. The kinds are those of Okabe and Ito. The browser gets the same numbers.
"""

import numpy as np

from aclnn_viz.words.moving import choose

_SEQUENTIAL = ("00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 8b8778 9a9376 aaa073 bbad6d ccba64 "
               "ddc858 efd748 fee838")
_DIVERGING = ("234f7d 326296 4177b1 5d8bbf 7aa0cc 96b5d9 b4cbe5 d3e0ef f5f5f5 eddad0 e1c0af d3a790 c58f71 b57754 "
              "a55f35 8c4d27 743c19")
_GREY = "0c0c0c f4f4f4"

HANDLE = "#ffc20a"  # of points that a hand may move, on pixels of any grey

# (name, light theme, dark theme, dash of the line, marker of Matplotlib)
KINDS = (
    ("zeros", "#0072b2", "#56b4e9", (7.0, 3.0), "s"),
    ("border", "#c04f00", "#f0a030", (2.0, 2.0), "^"),
    ("reflection", "#007d5a", "#2fd0a0", (), "o"),
)


def table(points: str, levels: int = 256) -> np.ndarray:
    """Return `levels` colours (levels, 3), uint8, on the straight lines between the hexadecimal `points`."""
    knots = np.array([[int(point[k:k + 2], 16) for k in (0, 2, 4)] for point in points.split()], np.float64)
    at = np.linspace(0, len(knots) - 1, levels)
    return np.stack([np.rint(np.interp(at, np.arange(len(knots)), knots[:, k])) for k in range(3)], axis=1).astype(np.uint8)


MAPS = {"grey": table(_GREY), "sequential": table(_SEQUENTIAL), "diverging": table(_DIVERGING)}


def scale(values, xp=np) -> tuple[str, float, float]:
    """Return (map, low, high) for a heat map of an array of `xp`: diverging around 0 as soon as a value is negative."""
    if not values.size:
        return "sequential", 0.0, 1.0
    there = xp.isfinite(values)
    low = xp.minimum(xp.min(xp.where(there, values, np.inf)), 0.0)
    high = xp.max(xp.where(there, values, -np.inf))
    reach = xp.where(low < 0.0, xp.maximum(-low, high), xp.where((high == 0.0) | ~xp.any(there), 1.0, high))
    return choose(low < 0.0, "sequential", "diverging"), xp.where(low < 0.0, -reach, 0.0), reach


def coloured(values: np.ndarray, name: str, low: float, high: float) -> np.ndarray:
    """Return `values` as colours of the map (..., 3), uint8; a value beyond the ends has their colour, nan the lowest."""
    share = np.clip((np.nan_to_num(np.asarray(values, np.float64)) - low) / ((high - low) or 1.0), 0.0, 1.0)
    return MAPS[name][np.rint(share * 255).astype(np.intp)]
