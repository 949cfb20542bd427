"""Causes of errors on problems whose conditioning is known by hand."""

import numpy as np
import pytest
from together import in_one

from aclnn_viz.accuracy import attribute_errors
from aclnn_viz.accuracy.envelopes import _nudged
from aclnn_viz.dtypes import FORMATS, ordinal_distance, round_to

ALL = pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
# the truth is computed in float64
THREE = pytest.mark.parametrize("fmt", FORMATS[:3], ids=lambda f: f.name)
NAN, INF = np.nan, np.inf


def difference(a, b):
    return a.astype(np.float64) - b.astype(np.float64)


def cancelling(fmt):
    """Return a - b with a and b a few ulps apart: the difference is as uncertain as it is large."""
    a = np.full(4, 1.5, fmt.numpy)
    return {"a": a, "b": round_to(1.5 - 3 * 2.0 ** (1 - fmt.significand_bits) * np.ones(4), fmt)}


@THREE
def test_exact_output_is_the_formats(fmt):
    inputs = cancelling(fmt)
    found = attribute_errors(round_to(difference(**inputs), fmt), difference, inputs)
    assert (
        found.counts == {"format": 4, "baseline": 0, "input": 0, "kernel": 0}
        and found.worst is None
    )


@THREE
def test_cancellation_is_the_inputs(fmt):
    inputs = cancelling(fmt)
    truth = difference(**inputs)
    one_ulp = 2.0 ** (1 - fmt.significand_bits)
    found = attribute_errors(round_to(truth + one_ulp, fmt), difference, inputs, samples=40)
    assert found.counts["input"] == 4
    assert np.all(found.spread == 2 * one_ulp)  # a and b move apart by one ulp each
    beyond = attribute_errors(round_to(truth + 3 * one_ulp, fmt), difference, inputs, samples=40)
    assert beyond.counts["kernel"] == 4 and beyond.worst == (0,)


@THREE
def test_a_wrong_kernel_is_the_kernels(fmt):
    inputs = {"x": round_to(np.linspace(1, 2, 12).reshape(3, 4), fmt), "n": 3}

    def truth(x, n):
        return x.astype(np.float64) / n

    wrong = round_to(truth(**inputs), fmt)
    wrong[1, 2] *= fmt.numpy.type(1.25)
    found = attribute_errors(wrong, truth, inputs)
    assert found.counts == {
        "format": 11,
        "baseline": 0,
        "input": 0,
        "kernel": 1,
    } and found.worst == (1, 2)
    assert "largest error of the kernel at (1, 2)" in str(found) and "  kernel    1" in str(found)


@THREE
def test_what_the_host_does_no_better_is_the_baselines(fmt):
    inputs = {"x": round_to(np.ones(5), fmt)}
    off = round_to(np.full(5, 1.5), fmt)
    found = attribute_errors(off, lambda x: x.astype(np.float64), inputs, baseline=off)
    assert found.counts["baseline"] == 5 and np.all(found.baseline == 0.5)
    better = attribute_errors(off, lambda x: x.astype(np.float64), inputs, baseline=inputs["x"])
    assert better.counts["kernel"] == 5


@in_one
@THREE
@pytest.mark.parametrize(
    "output, truth, cause",
    [
        (INF, INF, "format"),
        (NAN, NAN, "format"),
        (INF, 1e39, "format"),
        (-INF, INF, "kernel"),
        (NAN, 1.0, "kernel"),
        (1.0, NAN, "kernel"),
        (INF, 1.0, "kernel"),
        (1.0, INF, "kernel"),
    ],
)
def test_special_values(fmt, output, truth, cause):
    found = attribute_errors(
        np.full(1, output, fmt.numpy), lambda x: np.array([truth]), {"x": np.ones(1, fmt.numpy)}
    )
    assert found.cause.tolist() == [cause]


@ALL
def test_inputs_move_by_one_ulp_at_most_and_stay_finite(fmt):
    values = round_to(
        np.array(
            [0, 1, -1, fmt.largest, -fmt.largest, INF, -INF, NAN, fmt.smallest_subnormal] * 50
        ),
        fmt,
    )
    with np.errstate(all="ignore"):
        moved = _nudged(values, np.random.default_rng(0))
    steps = ordinal_distance(values, moved)
    assert moved.dtype == values.dtype and set(steps.tolist()) == {0.0, 1.0}
    assert np.array_equal(np.isfinite(moved), np.isfinite(values))
    ones = moved[1::9].astype(np.float64)
    assert (ones > 1).any() and (ones < 1).any() and (ones == 1).any()


@pytest.mark.parametrize("value", [3, "mean", None, True, 1e-6, np.arange(5)], ids=str)
def test_attributes_and_integers_do_not_move(value):
    assert _nudged(value, np.random.default_rng(0)) is value


def test_the_seed_decides():
    inputs, output = cancelling(FORMATS[2]), np.zeros(4, np.float32)
    first, again = (
        attribute_errors(output, difference, inputs, samples=1, seed=3).spread for _ in range(2)
    )
    assert np.array_equal(first, again)
    assert any(
        not np.array_equal(
            first, attribute_errors(output, difference, inputs, samples=1, seed=s).spread
        )
        for s in range(5)
    )


@pytest.mark.parametrize(
    "keywords, error, message",
    [
        ({"samples": 0}, ValueError, "samples is a number from 1 on: got 0; pass"),
        (
            {"baseline": np.zeros(3)},
            TypeError,
            "baseline must have the dtype of actual, float32: got float64; compute",
        ),
    ],
)
def test_what_does_not_fit_is_refused(keywords, error, message):
    with pytest.raises(error, match=message):
        attribute_errors(
            np.zeros(3, np.float32), lambda x: np.zeros(3), {"x": np.zeros(3)}, **keywords
        )
