"""Where an output is wrong: names for sets of its elements, by operator."""

import numpy as np

from aclnn_viz.cases.vacuity import wide
from aclnn_viz.kernels import grid_sampler_2d as grid_page


def regions(op, inputs: dict, output: str, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return masks of an output's shape by name; an element may lie in several.

    >>> import aclnn_viz as av
    >>> sorted(regions(av.operator("hardswish"), {"self": np.float32([-3, 1])}, "out", (2,)))
    ['-3 < x < 3', 'x < -3', 'x = -3', 'x = 3', 'x > 3']
    """
    values = {p.name: p.default for p in op.parameters} | inputs
    return {name: np.broadcast_to(mask, shape) for name, mask in _REGIONS[op.name](values, output, shape).items()}


def _axis(shape, axis: int, chosen) -> np.ndarray:
    """A mask of the places along one axis, ready to broadcast."""
    return np.reshape(chosen, [-1 if k == axis else 1 for k in range(len(shape))])


def _ends(shape, axis: int, name: str) -> dict[str, np.ndarray]:
    places = np.arange(shape[axis])
    last = shape[axis] - 1
    return {f"first {name}": _axis(shape, axis, places == 0), f"last {name}": _axis(shape, axis, places == last),
            f"{name}s between": _axis(shape, axis, (places > 0) & (places < last))}


def _hardswish(values, output, shape):
    x = wide(values["self"])
    return {"x < -3": x < -3, "x = -3": x == -3, "-3 < x < 3": np.abs(x) < 3, "x = 3": x == 3, "x > 3": x > 3}


def _rms_norm(values, output, shape):
    found = _ends(shape, -1 % len(shape), "column") if shape else {}
    if output == "dxOut":
        lead = len(shape) - values["gamma"].ndim
        row = np.arange(values["rstd"].size).reshape(values["rstd"].shape[:lead] + (1,) * values["gamma"].ndim)
        found |= {"first row": row == 0, "last row": row == values["rstd"].size - 1,
                  "rows between": (row > 0) & (row < values["rstd"].size - 1)}
    return found


def _grid_sampler_2d(values, output, shape):
    height, width = values["input"].shape[2:]
    if output == "inputGrad":
        row, column = np.arange(height)[:, np.newaxis], np.arange(width)
        on_edge = (row == 0) | (row == height - 1) | (column == 0) | (column == width - 1)
        return {"pixels on the edge": on_edge, "pixels inside": ~on_edge, **_ends(shape, 1, "channel")}
    grid = wide(values["grid"])
    u = np.stack([grid_page.unnormalise(grid[..., k], size, values["alignCorners"])[0]
                  for k, size in enumerate((width, height))], -1)
    last = np.array([width - 1, height - 1])
    inside = ((u > 0) & (u < last)).all(-1, keepdims=True)
    border = ((u == 0) | (u == last)).any(-1, keepdims=True)
    outside = ((u < 0) | (u > last)).any(-1, keepdims=True)
    names = {0: "points outside", 1: "clamped points", 2: "reflected points"}
    return {"interior points": inside, "points on the border": border & ~outside,
            names[values["paddingMode"]]: outside, "x components": np.arange(2) == 0, "y components": np.arange(2) == 1}


def _cross_entropy_loss(values, output, shape):
    target = values["target"][:, np.newaxis]
    ignored, hit = target == values["ignoreIndex"], target == np.arange(shape[1])
    return {"ignored rows": ignored, "target columns": hit & ~ignored, "other columns": ~hit & ~ignored}


def _group_norm_swish(values, output, shape):
    if output != "dxOut":
        return _ends(shape, 0, "channel")
    group = np.arange(shape[1]) // max(shape[1] // values["numGroups"], 1)
    return {"first group": _axis(shape, 1, group == 0), "other groups": _axis(shape, 1, group > 0),
            **_ends(shape, 0, "sample")}


_REGIONS = {"hardswish": _hardswish, "rms_norm": _rms_norm, "grid_sampler_2d": _grid_sampler_2d,
            "cross_entropy_loss": _cross_entropy_loss, "group_norm_swish": _group_norm_swish}
