"""Kernels that are wrong only on rare inputs: long axes, remainders, nan, zeros, many calls.

Each is right on everything else. A pass that did not try such inputs must say so in the given words.
"""

from itertools import count

import numpy as np
from checking.wrong import edited

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
    """Return the right kernel with a wrong first output when a measure of one input's shape holds."""

    def kernel(**inputs):
        out = op.backward(**inputs)
        return out | {op.main: change(out[op.main])} if measure(inputs[name].shape) else out

    return kernel


def last_row_dropped(value):
    found = value.copy()
    found[-1:] = 0
    return found


def overwrites_signs(**inputs):
    inputs["dy"][...] = inputs["dy"] + inputs["dy"].dtype.type(0)
    return RMS.backward(**inputs)


def from_the_ninth_call():
    """Return a kernel that is right each time, but returns another, equally good number from the ninth call on."""
    calls = count(1)

    def kernel(**inputs):
        out, x = RMS.backward(**inputs), inputs["x"]
        if next(calls) < 9 or x.dtype != np.float32 or x.ndim != 2 or x.shape[1] < 5:
            return out
        return out | {"dxOut": np.nextafter(out["dxOut"], np.float32(np.inf))}

    return kernel


def nan_reads_the_first_pixel(**inputs):
    grid = inputs["grid"]
    return GRID.backward(**inputs | {"grid": np.where(np.isnan(grid), grid.dtype.type(-1), grid)})


PRODUCT = "grad * slope(part)"
NUMPY = "from", "import numpy as np\n\nfrom"

# Operator, function that makes the kernel, series of a deep check that shows it, words of a normal pass (None: it fails).
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
        lambda: edited("hardswish", (PRODUCT, f"np.where(np.isnan(part), 0, {PRODUCT})")),
        "numbers",
        "; nan;",
    ),
    "0 for inf * 0": (
        SWISH,
        lambda: edited(
            "hardswish", (PRODUCT, f"np.where(np.isinf(grad) & (part < -3), 0, {PRODUCT})")
        ),
        "numbers",
        "inf in gradOutput",
    ),
    "nan where exp overflows": (
        SILU,
        lambda: edited("silu", NUMPY, ("sigmoid(x)", "np.exp(x) / (1 + np.exp(x))")),
        "numbers",
        None,
    ),
    "sigmoid clipped at -20": (
        SILU,
        lambda: edited("silu", NUMPY, ("sigmoid(x)", "sigmoid(np.maximum(x, -20))")),
        "numbers",
        None,
    ),
    "nan for inf * 0": (
        SWISH,
        lambda: edited(
            "hardswish",
            (
                "np.where(free, x / 3 + np.float32(0.5), gate)",
                "free * (x / 3 + np.float32(0.5)) + (x > 3)",
            ),
        ),
        "numbers",
        None,
    ),
    "-0.0 for 0": (
        SWISH,
        lambda: edited(
            "hardswish", ("return out.", "return np.where(out == 0, np.float32(-0.0), out).")
        ),
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
        lambda: edited(
            "cross_entropy_loss",
            (
                "is None else weightOptional",
                "is None else np.where(weightOptional == 0, 1, weightOptional)",
            ),
        ),
        "numbers",
        "; 0;",
    ),
    "mean over the nonzero weights": (
        LOSS,
        lambda: edited(
            "cross_entropy_loss",
            (
                "dtype=np.float32)\n    if",
                "dtype=np.float32)\n"
                "        divisor *= sum(w[target[row]] != 0 for row in counted) / max(len(counted), 1)\n"
                "    if",
            ),
        ),
        "numbers",
        "; 0;",
    ),
    "a nan grid point reads pixel 0": (
        GRID,
        lambda: nan_reads_the_first_pixel,
        "numbers",
        "; nan;",
    ),
}
