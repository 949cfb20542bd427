"""Limits of a kernel's distance from truth: float32 within 8 u S, 16 bits within one step of the format or that bound.

u is the unit roundoff of the computing type; S is such that 8 u S bounds the roundings of the kit's arithmetic in one
element, as `aclnn_viz.accuracy` sums them.
"""

from collections.abc import Callable, Mapping

import numpy as np

from aclnn_viz.accuracy.envelopes import envelope
from aclnn_viz.arrays.plan import HOST
from aclnn_viz.dtypes import FLOAT32, FLOAT64, float_format, ordinal_distance, round_to
from aclnn_viz.operators import Operator

STEPS = 8  # approximate roundings on the longest way from input to output


def magnitudes(op: Operator, inputs: Mapping) -> dict[str, np.ndarray]:
    """Return S of each output element, such that 8 u S is its rounding bound; inf if undecided."""
    fmt = float_format(inputs[op.like])
    unit = (FLOAT64 if fmt is FLOAT64 else FLOAT32).unit_roundoff
    return {
        name: np.where(
            found.undecided,
            np.inf,
            found.bound + np.abs(found.value.astype(np.float64)) * FLOAT64.unit_roundoff,
        )
        # truth is compared as float64
        / (STEPS * unit)
        for name, found in envelope(op, HOST, **inputs).items()
    }


def excess(
    name: str, actual: np.ndarray, truth: np.ndarray, size: np.ndarray
) -> tuple[float, str | None]:
    """Return the worst error in units of u S (u of the computing type), and a description of a failure, if any."""
    fmt = float_format(actual)
    compute = FLOAT64 if fmt is FLOAT64 else FLOAT32
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(actual.astype(np.float64) - truth)
        unit = compute.unit_roundoff * size.reshape(actual.shape)
        # below the normal numbers a rounding is absolute
        allowed = STEPS * unit + STEPS * 2.0**compute.min_exponent
        # A weight of coordinates is a float64 polynomial: small, its error is that of the largest weight.
        allowed = allowed + STEPS * FLOAT64.unit_roundoff * np.max(
            size, initial=0.0, where=np.isfinite(size)
        )
        within = (error <= allowed) | (np.isnan(actual) & np.isnan(truth)) | (actual == truth)
        if fmt.bits == 16:
            within |= ordinal_distance(actual, round_to(truth, fmt)) <= 1
        ratio = np.divide(
            error,
            unit,
            out=np.zeros_like(error),
            where=(unit > 0) & (error > 0) & np.isfinite(error),
        )
    worst = (
        float(np.max(np.where(np.isfinite(ratio), ratio, 0), initial=0)) if fmt.bits > 16 else 0.0
    )
    if np.all(within):
        return worst, None
    at = np.unravel_index(np.argmin(within), within.shape)
    place = ", ".join(map(str, at))
    return (
        worst,
        f"{name}[{place}] is {actual[at]} instead of {truth[at]}, allowed {allowed[at]:.3g}",
    )


def judge(
    op: Operator, inputs: Mapping, kernel: Callable | None = None
) -> tuple[float, str | None]:
    """Judge all outputs of one call: the worst ratio and the first failure. `kernel` defaults to `op.backward`."""
    actual, truth = (kernel or op.backward)(**inputs), op.truth(**inputs)
    if actual.keys() != truth.keys():
        return np.inf, f"outputs are {sorted(actual)} instead of {sorted(truth)}"
    with np.errstate(all="ignore"):
        sizes = magnitudes(op, inputs)
    return worst(excess(name, value, truth[name], sizes[name]) for name, value in actual.items())


def worst(results) -> tuple[float, str | None]:
    """Return the largest of several values, and the first failure."""
    values, failures = zip((0.0, None), *results)
    return max(values), next(filter(None, failures), None)
