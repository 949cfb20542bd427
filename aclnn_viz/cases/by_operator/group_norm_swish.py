"""Generate test cases of group norm + swish: groups of several elements, a mean far
from 0, mean and rstd from the forward pass.
"""

from math import prod

from aclnn_viz.cases.default import Draw, stretches
from aclnn_viz.errors import invalid
from aclnn_viz.operators import operator

SHAPE = (2, 6, 4, 4)
OPTIONS = ()


def draw(source: Draw, shape) -> dict:
    if len(shape) < 2:
        raise invalid(
            "shape must be that of x, (N, C, ...)", repr(shape), "give at least two lengths"
        )
    channels = shape[1]
    groups = source.attribute("numGroups", _some_groups(channels, prod(shape[2:])))
    swish_scale = source.attribute("swishScale", 1.0)
    x = source.tensor(
        "x", shape, lambda rng: (1.5 + 2 * part for part in stretches(rng.standard_normal, shape))
    )
    gamma = source.tensor("gamma", (channels,), lambda rng: 1 + 0.5 * rng.standard_normal(channels))
    beta = source.normal("beta", (channels,), 0.5)
    dy = source.normal("dy", shape)
    saved = operator("group_norm_swish").forward(
        x=x,
        gamma=gamma,
        beta=beta,
        numGroups=groups,
        eps=source.attribute("eps", 1e-5),
        swishScale=swish_scale,
    )
    flags = {name: source.attribute(name, True) for name in ("dgammaIsRequire", "dbetaIsRequire")}
    return {
        "dy": dy,
        "mean": source.saved("mean", saved["mean"]),
        "rstd": source.saved("rstd", saved["rstd"]),
        "x": x,
        "gamma": gamma,
        "beta": beta,
        "numGroups": groups,
        "dataFormatOptional": source.attribute("dataFormatOptional", "NCHW"),
        "swishScale": swish_scale,
        **flags,
    }


def _some_groups(channels: int, positions: int) -> int:
    """Return the smallest divisor above 1 that leaves a group more than one element, else 1."""
    return next(
        (g for g in range(2, channels + 1) if channels % g == 0 and channels // g * positions > 1),
        1,
    )


def rows_of(rows: int, n: int, seed: int, dtype: str) -> dict:
    """Return options with two groups of n elements per sample, or one for one row; a scale other than 1 shows a kernel that
    ignores it.
    """
    groups, channels = min(rows, 2), min(n, 2)
    return {
        "shape": (max(rows // 2, 1), groups * channels, n // channels),
        "numGroups": groups,
        "swishScale": 1.5,
    }
