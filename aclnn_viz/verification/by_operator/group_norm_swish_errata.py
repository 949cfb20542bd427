"""Recompute errors in the vendor's document of group norm + swish: functions that the expressions of errata.toml call by name."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.operators.products import CANN, SOC
from aclnn_viz.verification import contract
from aclnn_viz.verification.contract import Run
from aclnn_viz.verification.errata.model import gradient

SAMPLE = np.arange(1.0, 25.0).reshape(2, 12)  # input x of the sample, one group per row
# x of one sample, one channel and two positions, whose x-hat is [-1, 1]
ONE = np.array([[[0.0, 2.0]]])
TWO = np.array([[[0.0, 2.0]], [[0.0, 4.0]]])  # two samples of one channel and two positions
DY = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])


def printed_dx(x, count: int, whole_batch: bool = False):
    """Return rstd (dYNew gamma - (x-hat sum gamma dGamma + sum gamma dBeta) / count) with gamma = s = 1, beta = eps = 0."""
    dy = DY[: len(x)]
    rstd = 1 / x.std(axis=(1, 2), keepdims=True)
    hat = (x - x.mean(axis=(1, 2), keepdims=True)) * rstd
    slope = (hat - hat / (np.exp(-hat) + 1) + 1) / (np.exp(-hat) + 1) * dy
    axes = (0, 1, 2) if whole_batch else (1, 2)
    along, shift = (np.sum(terms, axis=axes, keepdims=True) for terms in (slope * hat, slope))
    return rstd * (slope - (hat * along + shift) / count)


def slope_by_x(x):
    """Return the derivative of sum(dy out) by x, from differences of the forward operator."""
    one, zero = np.ones(1), np.zeros(1)

    def loss(x):
        return float(
            np.sum(
                DY[: len(x)]
                * operator("group_norm_swish").forward(
                    x=x, gamma=one, beta=zero, numGroups=1, eps=0.0
                )["y"]
            )
        )

    return gradient(loss, x)


def swish_slope(y: float, s: float, scaled: bool) -> float:
    """Return the printed slope ((y - y / e) s + 1) / e with e = exp(-s y) + 1; the factor s only if `scaled`."""
    e = np.exp(-s * y) + 1
    return ((y - y / e) * (s if scaled else 1) + 1) / e


def gns_run(cann: str = CANN, predict: bool = False, dtype=np.float32, **replaced) -> Run:
    """Run both phases for x-hat [-1, 1], gamma 1, beta 0, dy [1, 0]; the outputs hold 7 before the call."""
    given = {"dy": DY[:1], "mean": [[1]], "rstd": [[1]], "x": ONE, "gamma": [1], "beta": [0]}
    arrays = {name: np.asarray(value, dtype) for name, value in given.items()}
    outputs = {
        name: np.full(shape, 7, dtype)
        for name, shape in (("dxOut", (1, 1, 2)), ("dgammaOut", 1), ("dbetaOut", 1))
    }
    return contract.run(
        "group_norm_swish", SOC, cann, predict, **arrays | outputs | {"numGroups": 1} | replaced
    )


def predicted(cann: str):
    """Return dbetaOut for s = 2, rounded to four digits, on which float32 and the rounding of exp have no effect."""
    return np.round(np.float64(gns_run(cann, True, swishScale=2.0).outputs["dbetaOut"]), 4)


def wide_group(channels: int) -> dict:
    """Return the shapes of one group with this many channels."""
    return (
        {name: ((1, channels, 1),) for name in ("dy", "x", "dxOut")}
        | {name: ((channels,),) for name in ("gamma", "beta", "dgammaOut", "dbetaOut")}
        | {"mean": ((1, 1),), "rstd": ((1, 1),), "numGroups": 1}
    )
