"""A kernel against truth: float32 within 8 u S, 16 bits within one step of the format or that bound.

S is the sum of the absolute values of the terms that make up the element, plus, for each intermediate that is itself a
sum, |d out / d intermediate| times the sum of its absolute parts; the files of the operators compute it.
"""

from collections.abc import Callable, Mapping

import numpy as np

from aclnn_viz.dtypes import FLOAT32, FLOAT64, float_format, ordinal_distance, round_to
from aclnn_viz.words.speech import message

STEPS = 8  # roundings on the longest way from an input to an output, about


def excess(name: str, actual: np.ndarray, truth: np.ndarray, size: np.ndarray) -> tuple[float, str | None]:
    """Return the worst error in units of u S (u of the type that was computed in), and what is wrong, if anything."""
    fmt = float_format(actual)
    compute = FLOAT64 if fmt is FLOAT64 else FLOAT32
    with np.errstate(invalid="ignore", over="ignore"):
        error = np.abs(actual.astype(np.float64) - truth)
        unit = compute.unit_roundoff * size.reshape(actual.shape)
        allowed = STEPS * unit + STEPS * 2.0**compute.min_exponent  # below the normal numbers a rounding is absolute
        # A weight of coordinates is a float64 polynomial: small, its error is that of the largest weight.
        allowed = allowed + STEPS * FLOAT64.unit_roundoff * np.max(size, initial=0.0, where=np.isfinite(size))
        within = (error <= allowed) | (np.isnan(actual) & np.isnan(truth)) | (actual == truth)
        if fmt.bits == 16:
            within |= ordinal_distance(actual, round_to(truth, fmt)) <= 1
        ratio = np.divide(error, unit, out=np.zeros_like(error), where=(unit > 0) & (error > 0) & np.isfinite(error))
    worst = float(np.max(np.where(np.isfinite(ratio), ratio, 0), initial=0)) if fmt.bits > 16 else 0.0
    if np.all(within):
        return worst, None
    at = np.unravel_index(np.argmin(within), within.shape)
    place = ", ".join(map(str, at))
    return worst, message("{name}[{place}] is {found} instead of {truth}, allowed {allowed}", name=name, place=place, found=actual[at],
                          truth=truth[at], allowed=f"{allowed[at]:.3g}")


def judge(op, inputs: Mapping, magnitudes: Callable, kernel: Callable | None = None) -> tuple[float, str | None]:
    """Judge all outputs of one call: the worst ratio and the first failure. `kernel` defaults to `op.backward`."""
    actual, truth = (kernel or op.backward)(**inputs), op.truth(**inputs)
    with np.errstate(all="ignore"):
        sizes = magnitudes(**inputs)
    if actual.keys() != truth.keys():
        return np.inf, message("outputs are {found} instead of {expected}", found=sorted(actual), expected=sorted(truth))
    results = [excess(name, value, truth[name], sizes[name]) for name, value in actual.items()]
    return max((r for r, _ in results), default=0.0), next((failure for _, failure in results if failure), None)
