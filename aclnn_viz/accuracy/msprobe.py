"""Judge an output by the rules of msprobe, Ascend's precision tool, as far as they need no second implementation to compare with.

msprobe compares the *positions* of infinities and nans and then sets them to zero: +inf passes for -inf. This is kept,
except in the absolute thresholds, which clip infinities to the largest number of their sign.
"""

import math

import numpy as np

from aclnn_viz.accuracy.measures import cosine, counted
from aclnn_viz.accuracy.standard import (
    FAIL,
    PASS,
    Standard,
    above,
    all_of,
    at_most,
    below,
    by,
    largest,
    none,
    not_applicable,
)
from aclnn_viz.dtypes import ulp
from aclnn_viz.words.messages import message

REPOSITORY = "python/msprobe"
NORM_EPS = 2.0**-52
ALL_FORMATS = ("float16", "bfloat16", "float32", "float64")
# All these limits are from msprobe's code. For MSPROBE_SMALL its documentation states others:
# 2^-11 (float16), 2^-8 (bfloat16), 2^-14 (float32).
MSPROBE_SMALL = {"float16": 2.0**-10, "bfloat16": 2.0**-10, "float32": 2.0**-20}
MSPROBE_SMALL_ERROR = {"float16": 1e-16, "bfloat16": 1e-16, "float32": 2.0**-30}
MSPROBE_EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-8, "float32": 2.0**-23}
MSPROBE_FLOOR = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-14}
EPS = MSPROBE_EPS | {"float64": 2.0**-52}
POSITIONS = message("positions of infinities and nans that differ")
LARGEST = message("largest absolute error")
COSINE = message("cosine")
SHARE = message("share of errors above {limit} ulp")


def _vectors(stretch, base):
    relative = stretch.absolute / (stretch.magnitude + EPS[stretch.fmt.name])
    return (
        {
            "size": stretch.raw_actual.size,
            "count": stretch.count,
            "positions": stretch.differing_kind,
            "max_abs": largest(stretch.absolute),
        }
        | stretch.products
        | {f"within_{limit:g}": counted(relative < limit) for limit in (1e-2, 1e-3, 1e-4)}
    )


def _cosine(sums) -> float:
    """Return msprobe's cosine: 1 when neither norm exceeds eps, nan when one does not."""
    small = [sums[name].root() <= NORM_EPS for name in ("actual", "truth")]
    if any(small):
        return 1.0 if all(small) else math.nan
    return cosine(sums["dot"], sums["actual"], sums["truth"])


def _compare(sums, fmt):
    if sums["positions"]:
        return all_of(none(POSITIONS, sums["positions"]))
    if sums["size"] == 1:
        return not_applicable(message("msprobe computes no cosine for a single element"))
    similarity, error = _cosine(sums), sums["max_abs"]
    if error > 1:
        return all_of(at_most(LARGEST, error, 1))
    if similarity < 0.9:
        return by(FAIL, above(COSINE, similarity, 0.9))
    if similarity < 0.99 and error > 0.001:
        return by(
            FAIL,
            above(COSINE, similarity, 0.99),
            message("with an absolute error above 0.001, {sentence}"),
        )
    if math.isnan(similarity):
        return by(
            PASS,
            at_most(LARGEST, error, 1),
            message("one of the two vectors is zero, so the cosine is undefined, but {sentence}"),
        )
    if error <= 0.001:
        return by(PASS, at_most(LARGEST, error, 0.001))
    return by(PASS, above(COSINE, similarity, 0.99))


compare = Standard(
    message("msprobe compare"),
    f"msprobe {REPOSITORY}/core/compare/multiprocessing_compute.py, check_accuracy; core/compare/npy_compare.py",
    message(
        "Fails when cosine < 0.99 and the largest absolute error > 0.001, or cosine < 0.9, or the largest absolute error "
        "> 1. An undefined cosine (one vector zero) fails none of these. The sign of infinities is not compared."
    ),
    ALL_FORMATS,
    _vectors,
    _compare,
)


def _api(sums, fmt):
    if sums["positions"]:
        return all_of(none(POSITIONS, sums["positions"]))
    similarity = above(COSINE, _cosine(sums), 0.99)
    if sums["size"] > 1 and not similarity.holds:
        return by(FAIL, similarity)
    near = below(LARGEST, sums["max_abs"], 0.001)
    if near.holds:
        return by(PASS, near)

    def share(limit, needed):
        return above(
            message("share of relative errors below {limit:g}", limit=limit),
            sums[f"within_{limit:g}"] / sums["count"],
            needed,
        )

    halves = fmt.bits == 16
    error = share(1e-2, 0.99) if halves else share(1e-3, 0.999)
    if not error.holds:
        return by(FAIL, error)
    warning = share(1e-3, 0.999) if halves else share(1e-4, 0.9999)
    return by(PASS, warning, "" if warning.holds else message("msprobe warns: {sentence}"))


api = Standard(
    message("msprobe API"),
    "msprobe docs/zh/user_guide/accuracy_checker/pytorch_accuracy_checker_instruct.md",
    message(
        "Cosine > 0.99, and then either the largest absolute error < 0.001, or enough small relative errors: 16-bit "
        "formats more than 99 % below 0.01 (a warning unless more than 99.9 % are below 0.001); float32 and float64 "
        "more than 99.9 % below 0.001 (a warning unless more than 99.99 % are below 0.0001). A warning counts as a pass and "
        "says so."
    ),
    ALL_FORMATS,
    _vectors,
    _api,
)

ULP_FORMATS = ("float16", "bfloat16", "float32")


def _ulp_errors(stretch, base):
    sums = {"positions": stretch.differing_kind}
    for prefix, side in (("", stretch), ("base_", base)):
        if side is None:
            continue
        errors = side.absolute / ulp(side.truth, side.fmt)
        sums |= {
            prefix + "count": errors.size,
            prefix + "total": float(errors.sum()),
            prefix + "above_1": counted(errors > 1),
            prefix + "above_32": counted(errors > 32),
        }
    return sums


def _ulp(sums, fmt):
    if sums["positions"]:
        return all_of(none(POSITIONS, sums["positions"]))
    count, base_count = max(sums["count"], 1), sums.get("base_count", 0)
    far = 1 if fmt.bits == 16 else 32
    share = sums[f"above_{far}"] / count
    alternatives = [below(message(SHARE, limit=far), share, 0.001 if fmt.bits == 16 else 0.05)]
    if fmt.bits == 32:
        alternatives.insert(0, below(message("mean error in ulp"), sums["total"] / count, 64))
    if base_count:
        alternatives.append(
            below(
                message("share of errors above {limit} ulp, beside the baseline's,", limit=far),
                share,
                sums[f"base_above_{far}"] / base_count,
            )
        )
    holding = [criterion for criterion in alternatives if criterion.holds]
    return by(PASS, holding[0]) if holding else by(FAIL, min(alternatives, key=lambda c: c.strain))


ulp_standard = Standard(
    message("msprobe ULP"),
    f"msprobe {REPOSITORY}/pytorch/api_accuracy_checker, ULP method",
    message(
        "Errors in units of the truth's ulp. 16-bit formats: the share above 1 is < 0.001. float32: the mean is < 64 or "
        "the share above 32 is < 0.05. With a baseline, a share below the baseline's passes too. Infinities and nans must "
        "be where the truth has them; the sign is not compared."
    ),
    ULP_FORMATS,
    _ulp_errors,
    _ulp,
)

RTOL = {"float16": 2.0**-10, "bfloat16": 2.0**-8, "float32": 2.0**-20}
ATOL = {"float16": 2.0**-16, "bfloat16": 1e-16, "float32": 2.0**-30}


def _absolute_threshold(stretch, base):
    fmt, name = stretch.fmt, stretch.fmt.name
    small = stretch.magnitude < MSPROBE_SMALL[name]
    relative = stretch.absolute / (stretch.magnitude + EPS[name])
    actual, truth = (np.clip(values, -fmt.largest, fmt.largest) for values in stretch.specials)
    apart = ~(np.abs(actual - truth) <= RTOL[name] * np.abs(truth)) & ~(
        np.isnan(actual) & np.isnan(truth)
    )
    return {
        "specials": counted(apart),
        "relative": counted((relative > RTOL[name]) & ~small),
        "absolute": counted((stretch.absolute > ATOL[name]) & small),
    }


def _no_errors(sums, fmt):
    return all_of(
        none(message("errors of infinities and nans"), sums["specials"]),
        none(message("relative errors above {limit:g}", limit=RTOL[fmt.name]), sums["relative"]),
        none(
            message("errors of small values above {limit:g}", limit=ATOL[fmt.name]),
            sums["absolute"],
        ),
    )


absolute_threshold = Standard(
    message("msprobe absolute threshold"),
    f"msprobe {REPOSITORY}/pytorch/api_accuracy_checker/precision_standard/standard_config.py",
    message(
        "No relative error above 2^-10 float16, 2^-8 bfloat16, 2^-20 float32; where |truth| is below 2^-10, 2^-10, 2^-20 "
        "(the code; the documentation says 2^-11, 2^-8, 2^-14), no absolute error above 2^-16, 1e-16, 2^-30. Infinities "
        "are clipped to the largest number of their sign, so their sign counts; nan matches nan."
    ),
    ULP_FORMATS,
    _absolute_threshold,
    _no_errors,
)
