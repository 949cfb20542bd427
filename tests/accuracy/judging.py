"""Helpers of the standards' tests: build data at a threshold by hand, and pad it with exact elements."""

import numpy as np

from aclnn_viz.accuracy.standards import STANDARDS
from aclnn_viz.dtypes import FORMATS, round_to

BY_NAME = {standard.name: standard for standard in STANDARDS}
THREE = ("float16", "bfloat16", "float32")
FOUR = tuple(fmt.name for fmt in FORMATS)
UP, DOWN = np.inf, -np.inf


def verdict(name, dtype, pairs, base=None):
    """Judge (output, truth) pairs; outputs must be numbers of the format, so that no rounding hides."""
    outputs, truth = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    base = None if base is None else exactly(base, dtype)
    return BY_NAME[name].judge(exactly(outputs, dtype), truth, baseline=base)


def expect(name, dtype, rows):
    """Assert the outcome of each row: (outcome, pairs, baseline if there is one)."""
    for outcome, *data in rows:
        assert verdict(name, dtype, *data) == outcome, (name, dtype, data)


def exactly(values, dtype):
    values = np.asarray(values, dtype=np.float64)
    rounded = round_to(values, dtype)
    assert np.array_equal(rounded.astype(np.float64), values, equal_nan=True), (
        "the example is not in the format"
    )
    return rounded


def ones(count):
    return [(1.0, 1.0)] * count


def sides(limit, outcomes, pairs, steps=1):
    """Return rows just below a limit, at it, and just above it; `pairs` makes the data for a number."""
    values = nudged(limit, DOWN, steps), limit, nudged(limit, UP, steps)
    return [(outcome, pairs(value)) for outcome, value in zip(outcomes.split(), values)]


def nudged(value, direction, steps=1):
    """Return the next float64 number, or a few further, enough to leave a limit computed in float64."""
    for _ in range(steps):
        value = np.nextafter(value, direction)
    return float(value)


def at_relative(relative, eps, dtype):
    """Return an output and a truth whose |output - truth| / (|truth| + eps) is exactly `relative` in float64.

    At 2**40 an eps of 1e-7 is below the last digit. float16 ends earlier, and has an output of 0 instead.
    """
    if dtype != "float16":
        return 2.0**40 * (1 - relative), 2.0**40
    truth = relative * eps / (1 - relative)
    for near in truth + np.arange(-9, 9) * np.spacing(truth):
        if near / (near + eps) == relative:
            return 0.0, float(near)
    raise AssertionError("no float64 truth hits the limit")
