"""Generate test cases of group norm + swish, and measure which errors they can show: groups of several elements, a mean far
from 0, mean and rstd from the forward pass.
"""

from math import prod

import numpy as np

from aclnn_viz.cases.default import Draw, stretches
from aclnn_viz.cases.vacuity import off, spread, wide
from aclnn_viz.errors import problem
from aclnn_viz.operators import operator
from aclnn_viz.words.messages import message

SHAPE = (2, 6, 4, 4)
OPTIONS = ()


def draw(source: Draw, shape) -> dict:
    if len(shape) < 2:
        raise ValueError(
            problem(
                "shape must be that of x, (N, C, ...)", repr(shape), "give at least two lengths"
            )
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
    """The smallest divisor above 1 that leaves more than one element to a group, else 1."""
    return next(
        (g for g in range(2, channels + 1) if channels % g == 0 and channels // g * positions > 1),
        1,
    )


def meter(
    dy,
    mean,
    rstd,
    x,
    gamma,
    beta,
    numGroups,
    dataFormatOptional,
    swishScale,
    dgammaIsRequire,
    dbetaIsRequire,
):
    samples, channels = x.shape[:2]
    depth, positions = channels // numGroups, prod(x.shape[2:])
    groups = wide(dy).reshape(samples * numGroups, -1) if dy.size else np.zeros((0, 1))
    return {
        message("factor 1/n"): 1 - 1 / max(depth * positions, 1),
        message("samples"): 1 - 1 / max(samples, 1),
        message("channels in a group"): 1 - 1 / depth,
        message("groups"): 1 - 1 / numGroups,
        message("variation of dy in a group"): spread(groups, 1),
        "mean": off(mean, 0.0),
        "rstd": off(rstd, 1.0),
        "gamma": off(gamma, 1.0),
        "beta": off(beta, 0.0),
        "swishScale": abs(swishScale - 1.0),
        message("large swishScale"): float(abs(swishScale) > 40),
        message("flags"): float(not (dgammaIsRequire and dbetaIsRequire)),
    }


def rows_of(rows: int, n: int, seed: int, dtype: str) -> dict:
    """Two groups of n elements in a sample, one of one row; the scale shows where it is forgotten."""
    groups, channels = min(rows, 2), min(n, 2)
    return {
        "shape": (max(rows // 2, 1), groups * channels, n // channels),
        "numGroups": groups,
        "swishScale": 1.5,
    }
