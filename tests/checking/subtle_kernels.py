"""Kernels that are wrong only on what tests seldom hold: long axes, remainders, nan, zeros, many calls.

Each is right on everything else. The words are those by which a pass that did not try it must tell so.
"""

from itertools import count

import numpy as np

from aclnn_viz import operator

RMS, SWISH, LOSS, NORM, GRID, SILU = (
    operator(name)
    for name in (
        "rms_norm",
        "hardswish",
        "cross_entropy_loss",
        "group_norm_swish",
        "grid_sampler_2d",
        "silu",
    )
)


def beyond(op, name, measure, change=lambda value: value * value.dtype.type(1.5)):
    """The right kernel, whose first output goes wrong where a measure of one input's shape holds."""

    def kernel(**inputs):
        out = op.backward(**inputs)
        return out | {op.main: change(out[op.main])} if measure(inputs[name].shape) else out

    return kernel


def last_row_dropped(value):
    found = value.copy()
    found[-1:] = 0
    return found


def swish(change):
    """Hardswish, with a change of its output that sees the inputs: (out, self, gradOutput)."""

    def kernel(gradOutput, self):
        out = SWISH.backward(gradOutput=gradOutput, self=self)["out"]
        with np.errstate(all="ignore"):
            return np.asarray(change(out, self, gradOutput), out.dtype)

    return kernel


def silu(sigmoid):
    """Silu, of a sigmoid in float32."""

    def kernel(gradOutput, self):
        with np.errstate(all="ignore"):
            x = self.astype(np.float32)
            s = sigmoid(x)
            return (gradOutput.astype(np.float32) * s * (1 + x * (1 - s))).astype(self.dtype)

    return kernel


def masked(gradOutput, self):
    """Three masks times three branches: the linear branch of an infinite self is infinite, times 0."""
    wide = self if self.dtype == np.float64 else self.astype(np.float32)
    inside, above = (wide >= -3) & (wide <= 3), wide > 3
    slope = inside * (wide / 3 + wide.dtype.type(0.5)) + above * wide.dtype.type(1)
    return (gradOutput * np.where(np.isnan(wide), 1, slope)).astype(self.dtype)


def overwrites_signs(**inputs):
    inputs["dy"][...] = inputs["dy"] + inputs["dy"].dtype.type(0)
    return RMS.backward(**inputs)


def from_the_ninth_call():
    """Right each time, but another number of the same quality from the ninth call on."""
    calls = count(1)

    def kernel(**inputs):
        out, x = RMS.backward(**inputs), inputs["x"]
        if next(calls) < 9 or x.dtype != np.float32 or x.ndim != 2 or x.shape[1] < 5:
            return out
        return out | {"dxOut": np.nextafter(out["dxOut"], np.float32(np.inf))}

    return kernel


def weights(change):
    def kernel(**inputs):
        weight = inputs["weightOptional"]
        return LOSS.backward(
            **inputs if weight is None else inputs | {"weightOptional": change(weight)}
        )

    return kernel


def mean_over_nonzero_weights(**inputs):
    out, weight, target = LOSS.backward(**inputs), inputs["weightOptional"], inputs["target"]
    if weight is None or inputs["reduction"] != "mean" or not len(weight):
        return out
    counted = target != inputs["ignoreIndex"]
    taken = weight[np.where(counted, target, 0)][counted].astype(np.float64)
    if not taken.size or taken.all():
        return out
    wide = out["xGradOut"].astype(np.float64) * (
        len(taken) / np.count_nonzero(taken) if taken.any() else 1
    )
    return {"xGradOut": wide.astype(out["xGradOut"].dtype)}


def nan_reads_the_first_pixel(**inputs):
    grid = inputs["grid"]
    return GRID.backward(**inputs | {"grid": np.where(np.isnan(grid), grid.dtype.type(-1), grid)})


# Operator, how a new kernel is made, the series of a deep check that shows it, words of a normal pass (None: it sees it).
SUBTLE = {
    "wrong beyond 65,536 elements": (
        SWISH,
        lambda: beyond(SWISH, "self", lambda shape: np.prod(shape) > 65536),
        "one axis",
        "tensors of more than 35,000 elements",
    ),
    "wrong beyond 2^20 elements": (
        SWISH,
        lambda: beyond(SWISH, "self", lambda shape: np.prod(shape) > 2**20),
        "one axis",
        "tensors of more than 35,000 elements",
    ),
    "wrong beyond 4,000 rows": (
        LOSS,
        lambda: beyond(LOSS, "logProb", lambda shape: shape[0] > 4000),
        "shape 0",
        "N > 2,500",
    ),
    "wrong for n > 16,384": (
        RMS,
        lambda: beyond(RMS, "x", lambda shape: shape[-1] > 16384),
        "shape 1",
        "K > 6,100",
    ),
    "wrong for C > 1,024": (
        NORM,
        lambda: beyond(NORM, "x", lambda shape: shape[1] > 1024),
        "shape 1",
        "lengths beyond",
    ),
    "last row dropped when rows % 16 = 1": (
        RMS,
        lambda: beyond(
            RMS,
            "x",
            lambda shape: len(shape) > 1 and shape[0] > 1 and shape[0] % 16 == 1,
            last_row_dropped,
        ),
        "remainders",
        "every remainder of",
    ),
    "nan in self turned into 0": (
        SWISH,
        lambda: swish(lambda out, self, _: np.where(np.isnan(self), 0, out)),
        "numbers",
        "; nan;",
    ),
    "0 for inf * 0": (
        SWISH,
        lambda: swish(lambda out, self, grad: np.where(np.isinf(grad) & (self < -3), 0, out)),
        "numbers",
        "inf in gradOutput",
    ),
    "nan where exp overflows": (
        SILU,
        lambda: silu(lambda x: np.exp(x) / (1 + np.exp(x))),
        "numbers",
        "numbers from 64 to 128",
    ),
    "sigmoid clipped at -20": (
        SILU,
        lambda: silu(lambda x: 1 / (1 + np.exp(-np.maximum(x, -20)))),
        "numbers",
        "numbers from 64 to 128",
    ),
    "nan for inf * 0": (SWISH, lambda: masked, "numbers", None),
    "-0.0 for 0": (
        SWISH,
        lambda: swish(lambda out, self, _: np.where(out == 0, -0.0, out)),
        "numbers",
        "-0.0 in gradOutput",
    ),
    "+0 written over the -0.0 of an input": (RMS, lambda: overwrites_signs, "numbers", "; -0.0;"),
    "differs from the ninth call on": (
        RMS,
        from_the_ninth_call,
        "numbers",
        "calls in another order",
    ),
    "weight 0 read as 1": (
        LOSS,
        lambda: weights(lambda weight: np.where(weight == 0, 1, weight).astype(weight.dtype)),
        "numbers",
        "; 0;",
    ),
    "mean over the nonzero weights": (LOSS, lambda: mean_over_nonzero_weights, "numbers", "; 0;"),
    "a nan grid point reads pixel 0": (
        GRID,
        lambda: nan_reads_the_first_pixel,
        "numbers",
        "; nan;",
    ),
}
