"""The array functions of interactive pictures (explorers), so that one code runs in Python and is traced to JavaScript for
the browser.

The data and the panels of an explorer are functions over a namespace `xp`. Movable values and kernels' results are arrays of
it, never converted to Python numbers; choices and sizes of the state are fixed in a picture.
"""

from dataclasses import replace

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.dtypes import round_to, ulp
from aclnn_viz.pictures.text import STILL, choose


class ExplorerArrays(NumPyArrays):
    """The namespace of pages with two more functions: `round_to` and `ulp` of `aclnn_viz.dtypes`."""

    round_to, ulp = staticmethod(round_to), staticmethod(ulp)
    where = staticmethod(np.where)  # NumPy's where also takes plain numbers


XP = ExplorerArrays()


def element(xp, values, index, axis: int = 0):
    """Return the part of `values` at one index of an axis, without that axis; the index may be traced."""
    return xp.squeeze(xp.take(values, xp.reshape(index, (1,)), axis=axis), axis=axis)


def first(xp, *conditions):
    """Return the number of the first condition that holds; of none, their count."""
    which = len(conditions)
    for k, holds in reversed([*enumerate(conditions)]):
        which = xp.where(holds, k, which)
    return which


def double(xp, values):
    return xp.astype(values, xp.float64)


def paged(xp, arranged) -> dict:
    """Return the arrays of an arranged page by name, with those that its prelude computes from them."""
    arrays = arranged.arrays
    return arrays | (arranged.prelude(xp, arrays) if arranged.prelude else {})


def sheet(xp, values, state):
    """Return the matrix of a tensor's last two axes that a state shows."""
    stack = xp.reshape(values, (-1, *(1, 1, *values.shape)[-2:]))
    return stack[min(getattr(state, "plane", 0), len(stack) - 1)]


def point(value):
    """Return a number as an array (1,), the coordinate of a mark with a single place."""
    return value + np.zeros(1)


def strokes(xp, *ends):
    """Return a coordinate of a line through each element of `ends` in turn, with a nan behind each element."""
    return xp.reshape(xp.stack([*ends, np.full(ends[0].shape, np.nan)], axis=-1), (-1,))


def sweep(
    label: str, field: str, seconds: float = 8.0, ends=(0.0, 1.0), **more
) -> tuple[dict, ...]:
    """Return the animation that moves a field from one end to the other; a hand then sets the fields of `after`."""
    return ({"label": label, "seconds": seconds, "frames": [{field: end} for end in ends]} | more,)


def only(xp, there, mark) -> tuple:
    """Return (mark,) if a condition holds, else (). For a traced condition, the mark's
    places are nan where it does not hold.
    """
    if isinstance(there, STILL):
        return (mark,) if there else ()
    hidden = {
        name: xp.where(there, getattr(mark, name) + 0.0, np.nan)
        for name in ("x", "y", "at", "x0", "y0", "x1", "y1")
        if hasattr(mark, name)
    }
    if hasattr(mark, "label"):
        hidden["label"] = choose(there, "", mark.label)
    return (replace(mark, **hidden),)


def placed(moved, shape: tuple):
    """Return the coordinates of dragged points as an array (rows, columns, 2), nan for points that nobody dragged; in a
    trace `moved` is such an array already.
    """
    if not isinstance(moved, tuple):
        moved = moved[: shape[0], : shape[1]]
        rest = np.full((moved.shape[0], shape[1] - moved.shape[1], 2), np.nan)
        return moved.xp.concat([moved, rest], axis=1) if rest.size else moved
    dragged = np.full(shape, np.nan)
    for row, column, x, y in moved:
        if row < shape[0] and column < shape[1]:
            dragged[row, column] = x, y
    return dragged
