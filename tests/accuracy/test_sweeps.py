"""Sweeps over all inputs of a 16-bit format, judged by scalar loops and by wrong functions they must expose."""

from fractions import Fraction
from functools import cache

import error_oracle as oracle
import numpy as np
import pytest

from aclnn_viz.accuracy import sweep
from aclnn_viz.dtypes import BFLOAT16, FLOAT16, round_to

HALVES = pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=lambda f: f.name)


def square(x):
    return x * x


def rounded(truth, fmt):
    return lambda x: round_to(truth(x.astype(np.float64)), fmt)


@cache  # sums with 3 have few values
def place(number, fmt):
    return -place(-number, fmt) if number < 0 else oracle.place(Fraction(number), fmt.name)


@HALVES
def test_correct_rounding_is_exact_everywhere(fmt):
    found = sweep(rounded(np.tanh, fmt), np.tanh, fmt)
    special = 2**fmt.significand_bits  # two signs times the fractions of the largest exponent
    assert found.ulp_counts == {"exact": 65536 - special, "1": 0, "2": 0, "3": 0, ">3": 0}
    assert (found.size, found.special_size, found.max_ulp, found.special_differing) == (
        65536 - special,
        special,
        0,
        0,
    )


@HALVES
@pytest.mark.sampled(1)
def test_counts_are_those_of_a_scalar_loop(fmt):
    three = fmt.numpy.type(3)
    inputs = np.arange(65536, dtype=np.uint16).view(fmt.numpy)
    with np.errstate(all="ignore"):
        inputs = inputs[np.isfinite(inputs.astype(np.float64))]
    apart = [abs(place(float(x + three - three), fmt) - place(float(x), fmt)) for x in inputs]
    # cancellation: every class of errors occurs
    found = sweep(lambda x: x + three - three, lambda x: x, fmt)
    assert list(found.ulp_counts.values()) == [
        *(apart.count(k) for k in range(4)),
        sum(a > 3 for a in apart),
    ]
    assert min(found.ulp_counts.values()) > 0 and found.max_ulp == max(apart)
    assert found.worst_input == inputs[apart.index(max(apart))]


@HALVES
@pytest.mark.parametrize("steps, name", [(1, "1"), (2, "2"), (3, "3"), (4, ">3"), (900, ">3")])
def test_one_wrong_input_is_found_and_named(fmt, steps, name):
    at = np.uint16(round_to(1.5, fmt).view(np.uint16))

    def wrong(x):
        bits = rounded(square, fmt)(x).view(np.uint16).copy()
        bits[at] += np.uint16(steps)
        return bits.view(fmt.numpy)

    found = sweep(wrong, square, fmt)
    assert found.ulp_counts[name] == 1 and found.ulp_counts["exact"] == found.size - 1
    assert (found.max_ulp, found.worst_input, found.worst_truth) == (steps, 1.5, 2.25)
    assert found.worst_output == float(
        (round_to(2.25, fmt).view(np.uint16) + np.uint16(steps)).view(fmt.numpy)
    )


@HALVES
def test_special_inputs_are_counted_apart(fmt):
    def clipped(x):
        return np.clip(x, -2, 2)  # nan stays, infinities become 2

    def saturating(x):
        return np.where(np.isnan(x), 0.0, clipped(x))

    found = sweep(rounded(saturating, fmt), clipped, fmt)
    nans = 2**fmt.significand_bits - 2
    assert found.max_ulp == 0 and found.special_differing == nans
    assert [str(miss) for miss in found.special_misses] == ["(nan, 0.0, nan)"]
    assert f"{nans} differ" in str(found) and "nan: 0.0, truth nan" in str(found)


def test_overflow_to_infinity_is_right_where_the_truth_rounds_to_it():
    assert sweep(rounded(square, FLOAT16), square, "float16").max_ulp == 0
    saturated = sweep(
        lambda x: np.minimum(rounded(square, FLOAT16)(x), FLOAT16.numpy.type(65504)),
        square,
        "float16",
    )
    assert (
        saturated.max_ulp == 1
        and saturated.worst_output == 65504
        and saturated.special_differing == 2
    )


def test_table_in_text():
    text = str(sweep(rounded(np.tanh, FLOAT16), np.tanh, "float16"))
    assert text.splitlines()[:3] == [
        "float16, all 63488 finite inputs, ulps from the rounded truth",
        "    exact        1        2        3       >3",
        "    63488        0        0        0        0",
    ]


@pytest.mark.parametrize(
    "f, truth, dtype, error, message",
    [
        (
            square,
            square,
            "float32",
            ValueError,
            "all inputs of a 16-bit format: got float32; use float16 or bfloat16",
        ),
        (
            lambda x: x.astype(np.float32),
            square,
            "float16",
            TypeError,
            "outputs of f must be float16: got float32; round",
        ),
        (
            square,
            lambda x: x.astype(np.float32),
            "float16",
            TypeError,
            "truth must be float64: got float32; round them",
        ),
        (
            lambda x: x[:3],
            square,
            "bfloat16",
            ValueError,
            r"shape of the inputs, \(65536,\): got \(3,\); pass an element",
        ),
    ],
)
def test_functions_that_do_not_fit_are_refused(f, truth, dtype, error, message):
    with pytest.raises(error, match=message):
        sweep(f, truth, dtype)
