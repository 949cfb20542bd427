"""Standards that need the output and the truth only: single benchmark, mixed tolerance, plain allclose."""

import numpy as np

from aclnn_viz.accuracy.standards.verdict import Standard, all_of, at_least, at_most, below, largest, none
from aclnn_viz.dtypes import ulp
from aclnn_viz.words.speech import message

SPECIALS = message("infinite or nan elements that differ from the truth")

SINGLE_BENCHMARK = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-13}  # MERE; MARE is ten times that


def _relative_errors(stretch, base):
    return {"count": stretch.count, "relative": float(stretch.relative.sum()),
            "max_relative": largest(stretch.relative), "specials": stretch.differing}


def _single_benchmark(sums, fmt):
    limit = SINGLE_BENCHMARK[fmt.name]
    return all_of(none(SPECIALS, sums["specials"]),
                  below("MERE", sums["relative"] / max(sums["count"], 1), limit),
                  below("MARE", sums["max_relative"], 10 * limit))


single_benchmark = Standard(
    message("single benchmark"),
    "CANN opbase docs/zh/ops_precision_standard/experimental_standard.md, v9.0.0",
    message("MERE < T and MARE < 10 T, with |truth| + 1e-7 below the fraction; T = 2^-10 float16, 2^-7 bfloat16, "
            "2^-13 float32. Infinite and nan elements enter no mean; here they must agree with the truth."),
    tuple(SINGLE_BENCHMARK), _relative_errors, _single_benchmark,
)

MIXED_TOLERANCE = {  # rtol, atol, cap of the absolute error
    "float16": (2.0**-9, 2.0**-9, 1e-1),
    "bfloat16": (2.0**-6, 2.0**-6, 1.0),
    "float32": (2.0**-10, 2.0**-16, 1e-2),
}
CAP_ULPS = 32
MATCHED = 0.99


def _mixed_counts(stretch, base):
    rtol, atol, cap = MIXED_TOLERANCE[stretch.fmt.name]
    matched = np.count_nonzero(stretch.absolute <= atol + rtol * stretch.magnitude)
    part = stretch.absolute / cap
    beyond = part > 1  # either bound of the cap suffices, so the ulps decide only there
    spacing = CAP_ULPS * ulp(stretch.truth[beyond], stretch.fmt)
    part[beyond] = np.minimum(part[beyond], stretch.absolute[beyond] / spacing)
    return {"size": stretch.raw_actual.size, "specials": stretch.differing, "max_part": largest(part),
            "matched": int(matched) + stretch.specials[0].size - stretch.differing}


def _mixed_tolerance(sums, fmt):
    cap = MIXED_TOLERANCE[fmt.name][2]
    return all_of(none(SPECIALS, sums["specials"]),
                  at_least(message("share of elements within atol + rtol |truth|"), sums["matched"] / sums["size"], MATCHED),
                  at_most(message("largest error as a part of its cap ({cap:g} or {ulps} ulp)", cap=cap, ulps=CAP_ULPS),
                          sums["max_part"], 1))


mixed_tolerance = Standard(
    message("mixed tolerance"),
    "CANN opbase, ops_precision_standard at commit adbe441 (2026-07-15); special values as in ops-test-kit "
    "docs/Precision_Comparison.md, method mixed",
    message("|error| <= atol + rtol |truth| for at least 99 % of the elements, and no error above its cap or 32 ulp of the "
            "truth, whichever is larger. nan matches nan, an infinity the same infinity; any other pair fails."),
    tuple(MIXED_TOLERANCE), _mixed_counts, _mixed_tolerance,
)

ALLCLOSE_RTOL, ALLCLOSE_ATOL = 1e-5, 1e-8


def _far_elements(stretch, base):
    near = stretch.absolute <= ALLCLOSE_ATOL + ALLCLOSE_RTOL * stretch.magnitude
    if stretch.all_finite:
        return {"far": near.size - int(np.count_nonzero(near))}
    # The rule looks at the truth as it is: one that overflows the format is finite here, and far from an infinity.
    special = ~stretch.is_finite
    equal = stretch.raw_actual[special].astype(np.float64) == stretch.raw_truth[special]
    return {"far": near.size - int(np.count_nonzero(near)) + equal.size - int(np.count_nonzero(equal))}


def _allclose(sums, fmt):
    return all_of(none(message("elements outside the tolerance"), sums["far"]))


allclose = Standard(
    "allclose",
    "numpy.allclose with its default tolerances, NumPy documentation",
    message("|error| <= 1e-8 + 1e-5 |truth| for every element, whatever the format. nan equals nothing, an infinity only "
            "the same infinity."),
    ("float16", "bfloat16", "float32", "float64"), _far_elements, _allclose,
)
