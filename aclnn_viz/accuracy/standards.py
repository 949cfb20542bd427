"""The acceptance standards in use for Ascend operators, each with a public source, to see which of them accept an output.

Single benchmark, mixed tolerance and plain allclose need the output and the truth only. Dual benchmark, msprobe benchmark and
cancellation gate compare with a baseline, the output of another implementation of the same precision (another chip, or the
same formula on the host), whose errors show how much of the output's errors comes from the format and the input.

>>> import numpy as np
>>> from aclnn_viz.accuracy.standards import mixed_tolerance
>>> mixed_tolerance.judge(np.float32([1.0]), np.array([1.0])) == "pass"
True
"""

from functools import partial

import numpy as np

from aclnn_viz.accuracy import msprobe
from aclnn_viz.accuracy.measures import RELATIVE_EPS, Stretch, counted, same
from aclnn_viz.accuracy.msprobe import (
    MSPROBE_EPS,
    MSPROBE_FLOOR,
    MSPROBE_SMALL,
    MSPROBE_SMALL_ERROR,
)
from aclnn_viz.accuracy.standard import (
    Standard,
    all_of,
    at_least,
    at_most,
    below,
    largest,
    none,
    ratio,
)
from aclnn_viz.dtypes import ulp
from aclnn_viz.words.messages import message

SPECIALS = message("infinite or nan elements that differ from the truth")

# limits of MERE; the limits of MARE are ten times these
SINGLE_BENCHMARK = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-13}


def _relative_errors(stretch, base):
    return {
        "count": stretch.count,
        "relative": float(stretch.relative.sum()),
        "max_relative": largest(stretch.relative),
        "specials": stretch.differing,
    }


def _single_benchmark(sums, fmt):
    limit = SINGLE_BENCHMARK[fmt.name]
    return all_of(
        none(SPECIALS, sums["specials"]),
        below("MERE", sums["relative"] / max(sums["count"], 1), limit),
        below("MARE", sums["max_relative"], 10 * limit),
    )


single_benchmark = Standard(
    message("single benchmark"),
    "CANN opbase docs/zh/ops_precision_standard/experimental_standard.md, v9.0.0",
    message(
        "MERE < T and MARE < 10 T, where errors are divided by |truth| + 1e-7; T = 2^-10 float16, 2^-7 bfloat16, 2^-13 float32. Infinite and nan elements enter no mean; here they must agree with the truth."
    ),
    tuple(SINGLE_BENCHMARK),
    _relative_errors,
    _single_benchmark,
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
    # an error within `cap` or within 32 ulps passes: ulps decide only beyond `cap`
    beyond = part > 1
    spacing = CAP_ULPS * ulp(stretch.truth[beyond], stretch.fmt)
    part[beyond] = np.minimum(part[beyond], stretch.absolute[beyond] / spacing)
    return {
        "size": stretch.raw_actual.size,
        "specials": stretch.differing,
        "max_part": largest(part),
        "matched": int(matched) + stretch.specials[0].size - stretch.differing,
    }


def _mixed_tolerance(sums, fmt):
    cap = MIXED_TOLERANCE[fmt.name][2]
    return all_of(
        none(SPECIALS, sums["specials"]),
        at_least(
            message("share of elements within atol + rtol |truth|"),
            sums["matched"] / sums["size"],
            MATCHED,
        ),
        at_most(
            message(
                "largest error as a part of its cap ({cap:g} or {ulps} ulp)", cap=cap, ulps=CAP_ULPS
            ),
            sums["max_part"],
            1,
        ),
    )


mixed_tolerance = Standard(
    message("mixed tolerance"),
    "CANN opbase, ops_precision_standard at commit adbe441 (2026-07-15); special values as in ops-test-kit "
    "docs/Precision_Comparison.md, method mixed",
    message(
        "|error| <= atol + rtol |truth| for at least 99 % of the elements, and no error above its cap or 32 ulp of the "
        "truth, whichever is larger. nan matches nan, an infinity the same infinity; any other pair fails."
    ),
    tuple(MIXED_TOLERANCE),
    _mixed_counts,
    _mixed_tolerance,
)

ALLCLOSE_RTOL, ALLCLOSE_ATOL = 1e-5, 1e-8


def _far_elements(stretch, base):
    far = counted(~(stretch.absolute <= ALLCLOSE_ATOL + ALLCLOSE_RTOL * stretch.magnitude))
    if stretch.all_finite:
        return {"far": far}
    # The rule uses the unrounded truth: a truth that overflows the format is finite here, far from an infinity.
    special = ~stretch.is_finite
    equal = stretch.raw_actual[special].astype(np.float64) == stretch.raw_truth[special]
    return {"far": far + counted(~equal)}


def _allclose(sums, fmt):
    return all_of(none(message("elements outside the tolerance"), sums["far"]))


allclose = Standard(
    "allclose",
    "numpy.allclose with its default tolerances, NumPy documentation",
    message(
        "|error| <= 1e-8 + 1e-5 |truth| for every element, whatever the format. nan equals nothing, an infinity only "
        "the same infinity."
    ),
    ("float16", "bfloat16", "float32", "float64"),
    _far_elements,
    _allclose,
)


# per level, the limits of the ratios of MARE, MERE and RMSE
LEVELS = {"L0": (10, 2, 2), "L1": (5, 1.5, 1.5), "L2": (2, 1.2, 1.2)}
SMALL_RATIO = 2

SMALL_VALUES = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-14}
SMALL_ERROR = {"float16": 2.0**-16, "bfloat16": 2.0**-16, "float32": 2.0**-30}

CANCELLED = {"float16": 2.0**-5, "bfloat16": 2.0**-3, "float32": 2.0**-8}
CANCELLED_ERROR = {"float16": 10 * 2.0**-10, "bfloat16": 10 * 2.0**-7, "float32": 10 * 2.0**-13}


def _two_domains(small_below, small_error, eps, stretch: Stretch, base: Stretch) -> dict:
    """Return counts, sums and maxima of errors inside and outside the small-value domain, of output and baseline."""
    name = stretch.fmt.name
    sums = {}
    for prefix, maximum, side in (
        ("", "max_relative", stretch),
        ("base_", "max_base_relative", base),
    ):
        small = side.magnitude < small_below[name]
        absolute, magnitude = side.absolute[~small], side.magnitude[~small]
        relative = absolute / (magnitude + eps[name])
        sums |= {
            prefix + "small_errors": counted(side.absolute[small] > small_error[name]),
            prefix + "relative": float(relative.sum()),
            maximum: largest(relative),
            prefix + "squares": float((absolute * absolute).sum()),
            prefix + "normal": absolute.size,
            prefix + "total": small.size,
        }
    return sums


def _commercial_tally(stretch, base):
    special = ~stretch.is_finite
    actual, truth = stretch.specials
    baseline = base.raw_actual[special].astype(np.float64)
    accepted = same(actual, baseline) | (~np.isfinite(truth) & same(actual, truth))
    only_output = ~accepted & ~np.isfinite(truth) & same(baseline, truth)
    eps = dict.fromkeys(SMALL_VALUES, RELATIVE_EPS)
    return _two_domains(SMALL_VALUES, SMALL_ERROR, eps, stretch, base) | {
        "wrong": counted(only_output),
        "unsettled": counted(~accepted & ~only_output),
    }


def _ratios(sums, level, over):
    """Return the criteria on MARE, MERE and RMSE, each divided by the baseline's, outside the small-value domain."""
    if not sums["normal"]:
        return []
    n, base_n = sums["normal"], max(sums["base_normal"], 1)
    metrics = (
        ("MARE", sums["max_relative"], sums["max_base_relative"]),
        ("MERE", sums["relative"] / n, sums["base_relative"] / base_n),
        ("RMSE", (sums["squares"] / n) ** 0.5, (sums["base_squares"] / base_n) ** 0.5),
    )
    return [
        at_most(message("{what} over the baseline's", what=what), over(mine, theirs), limit)
        for (what, mine, theirs), limit in zip(metrics, LEVELS[level])
    ]


def _commercial(level, over, sums, fmt):
    small = at_most(
        message("count of small-value errors over the baseline's (at least 1)"),
        sums["small_errors"] / max(sums["base_small_errors"], 1),
        SMALL_RATIO,
    )
    return all_of(
        none(
            message("infinite or nan elements that the baseline has right and the output has not"),
            sums["wrong"],
        ),
        none(
            message("infinite or nan elements that the standard leaves to an investigation"),
            sums["unsettled"],
        ),
        small,
        *_ratios(sums, level, over),
    )


def dual_benchmark(level: str, guarded: bool = False) -> Standard:
    """Return the standard of one level: as in the release tag, or `guarded` against division by 0, as in a later commit."""
    mare, mere, rmse = LEVELS[level]
    return Standard(
        message("dual benchmark {level}, guarded", level=level)
        if guarded
        else message("dual benchmark {level}", level=level),
        "CANN opbase docs/zh/ops_precision_standard/commercial_standard.md, "
        + ("commit 3e62966" if guarded else "v9.1.0-beta.1"),
        message(
            "Where |truth| >= 2^-11 float16, 2^-8 bfloat16, 2^-14 float32: MARE, MERE and RMSE at most {mare}, {mere} and "
            "{rmse} times the baseline's{guard}. Below: errors above 2^-16 (2^-30 float32) at most twice as many as the "
            "baseline has. An infinite or nan element is right when it equals the baseline's or the truth's; the rule of "
            "INF_NAN_MODE_ENABLE=1. What the standard leaves to an investigation fails here.",
            mare=mare,
            mere=mere,
            rmse=rmse,
            guard=message(" plus 1e-7") if guarded else message(" (0 over 0 is 1)"),
        ),
        tuple(SMALL_VALUES),
        _commercial_tally,
        partial(_commercial, level, _guarded if guarded else ratio),
        needs_baseline=True,
    )


def _guarded(mine, theirs):
    return mine / (theirs + RELATIVE_EPS)


def _msprobe_tally(stretch, base):
    sums = _two_domains(MSPROBE_SMALL, MSPROBE_SMALL_ERROR, MSPROBE_EPS, stretch, base)
    return sums | {"positions": stretch.differing_kind}


def _msprobe(level, sums, fmt):
    def over(mine, theirs):
        return mine / max(theirs, MSPROBE_FLOOR[fmt.name])

    mine, theirs = (
        sums[side + "small_errors"] / max(sums[side + "total"], 1) for side in ("", "base_")
    )
    small = at_most(
        message("share of small-value errors over the baseline's"), over(mine, theirs), SMALL_RATIO
    )
    return all_of(none(msprobe.POSITIONS, sums["positions"]), small, *_ratios(sums, level, over))


def msprobe_benchmark(level: str) -> Standard:
    maximum, mean, rmse = LEVELS[level]
    return Standard(
        message("msprobe benchmark {level}", level=level),
        "msprobe python/msprobe/pytorch/api_accuracy_checker/precision_standard/standard_config.py and "
        "compare/algorithm.py",
        message(
            "As the dual benchmark, ratios {maximum}, {mean}, {rmse} and 2 for small values, but |truth| + machine eps "
            "below the fraction, the baseline's metric at least 2^-11, 2^-8, 2^-14, and the small-value thresholds of the "
            "code, 2^-10, 2^-10, 2^-20 (the documentation says 2^-11, 2^-8, 2^-14). rms norm and cross entropy are judged at "
            "L2, other operators at L0. Infinities and nans must be where the truth has them; the sign is not compared.",
            maximum=maximum,
            mean=mean,
            rmse=rmse,
        ),
        tuple(MSPROBE_SMALL),
        _msprobe_tally,
        partial(_msprobe, level),
        needs_baseline=True,
    )


def _cancelled(stretch, base):
    name = stretch.fmt.name
    sums = {"specials": stretch.differing}
    for prefix, side in (("", stretch), ("base_", base)):
        region = (side.magnitude >= SMALL_VALUES[name]) & (side.magnitude < CANCELLED[name])
        region &= np.abs(side.actual) < CANCELLED[name]
        sums[prefix + "errors"] = counted(side.relative[region] > CANCELLED_ERROR[name])
    return sums


def _cancellation(sums, fmt):
    return all_of(
        none(SPECIALS, sums["specials"]),
        at_most(
            message(
                "count of relative errors above the MARE limit over the baseline's (at least 1)"
            ),
            sums["errors"] / max(sums["base_errors"], 1),
            SMALL_RATIO,
        ),
    )


cancellation_gate = Standard(
    message("cancellation gate"),
    "cann-bench docs/design/precision_comparison_design.md and src/kernel_eval/utils/thresholds.py",
    message(
        "Where |output| and |truth| are below 2^-5 float16, 2^-3 bfloat16, 2^-8 float32, and |truth| is no small value "
        "(2^-11, 2^-8, 2^-14): relative errors above 10 x 2^-10, 2^-7, 2^-13 at most twice as many as the baseline has. "
        "Infinite and nan elements are outside the region; here they must agree with the truth."
    ),
    tuple(CANCELLED),
    _cancelled,
    _cancellation,
    needs_baseline=True,
)


STANDARDS = (
    mixed_tolerance,
    single_benchmark,
    *(dual_benchmark(level, guarded) for guarded in (False, True) for level in LEVELS),
    cancellation_gate,
    msprobe.compare,
    msprobe.api,
    msprobe.ulp_standard,
    msprobe.absolute_threshold,
    *(msprobe_benchmark(level) for level in LEVELS),
    allclose,
)
