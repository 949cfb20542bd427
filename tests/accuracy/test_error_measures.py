"""The measures against their definitions in rational numbers, and against stated answers for every special case."""

import math
import tracemalloc
from fractions import Fraction

import error_oracle as oracle
import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from together import in_one

from aclnn_viz.accuracy import compare, measure, measures
from aclnn_viz.accuracy.measures import ScaledSum
from aclnn_viz.arrays.truth import Certified
from aclnn_viz.dtypes import FORMATS, round_to

ALL = pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
SCALARS = tuple("max_ulp max_abs max_relative mare mere mean_abs rmse cosine error_balance".split())
NAN, INF = math.nan, math.inf


def array(values, fmt):
    return round_to(np.asarray(values, dtype=np.float64), fmt)


def near(truth, fmt, rng):
    """Return an output a few ulps away from a truth."""
    rounded = round_to(truth, fmt)
    bits = rounded.view(f"i{fmt.bits // 8}")
    return (bits + rng.integers(0, 5, truth.shape).astype(bits.dtype)).view(fmt.numpy)


def ranges(fmt):
    tiny, top = fmt.smallest_subnormal, fmt.largest
    return {
        "ordinary": (0.1, 10.0),
        "subnormal": (max(0.3 * tiny, 5e-324), 2.0**fmt.significand_bits * tiny),
        "huge": (top / 64, top / 2),
    }


@ALL
@pytest.mark.parametrize("kind", ["ordinary", "subnormal", "huge"])
@pytest.mark.sampled(3)
def test_measures_are_their_definitions_in_exact_arithmetic(fmt, kind):
    rng = np.random.default_rng(7)
    low, high = ranges(fmt)[kind]
    truth = np.exp(rng.uniform(np.log(low), np.log(high), 300)) * rng.choice([-1, 1], 300)
    actual = near(truth, fmt, rng)
    exact, got = oracle.measures(actual, truth, fmt.name), measure(actual, truth)
    assert list(got.ulp_counts.values()) == exact["counts"]
    assert got.extremes["max_ulp"].index == (exact["worst"],)
    # Sums of 300 float64 terms: each measure is a few hundred roundings of 2**-53 away at most. Where the truth is
    # subnormal in float64 itself, so are the errors, exactly; their quotients are then ordinary numbers again.
    for name in SCALARS:
        assert getattr(got, name) == pytest.approx(exact[name], rel=1e-13, abs=0), name


@ALL
def test_statistics_do_not_depend_on_the_cut(fmt, monkeypatch):
    rng = np.random.default_rng(1)
    truth = rng.standard_normal((13, 77))
    actual = near(truth, fmt, rng)
    whole = measure(actual, truth)
    monkeypatch.setattr(measures, "LENGTH", 10)
    cut = measure(actual, truth)
    assert cut.extremes == whole.extremes and cut.ulp_counts == whole.ulp_counts
    assert [getattr(cut, n) for n in SCALARS] == pytest.approx(
        [getattr(whole, n) for n in SCALARS], rel=1e-13
    )


def certified(high, low, error=0.0):
    high = np.atleast_1d(np.float64(high))
    return Certified(
        high, *(np.broadcast_to(np.float64(part), high.shape) for part in (low, error))
    )


@ALL
def test_a_truth_with_a_low_part_is_rounded_once(fmt):
    half_ulp = 2.0**-fmt.significand_bits
    high = np.float64([1 + half_ulp, -1 - half_ulp, 1]) if fmt.bits < 64 else np.ones(3)
    above = np.float64([2.0**-62, -(2.0**-62), 0])
    right = array([1 + 2 * half_ulp, -1 - 2 * half_ulp, 1], fmt) if fmt.bits < 64 else np.ones(3)
    assert measure(right, certified(high, above)).max_ulp == 0
    if fmt.bits < 64:
        assert measure(array([1, -1, 1], fmt), certified(high, above)).max_ulp == 1


def test_a_low_part_resolves_errors_below_float64():
    assert measure(np.array([1.0]), certified(1.0, 2.0**-60)).max_abs == 2.0**-60


@pytest.mark.parametrize("fmt", FORMATS[:2], ids=lambda f: f.name)
@given(parts=st.tuples(st.integers(0, 2**12), st.integers(-3, 3), st.integers(55, 62)))
def test_a_sum_to_16_bits_is_nearest_even(fmt, parts):
    steps, side, bits = parts
    exact = 1 + Fraction(steps, 2**12) + Fraction(side, 2**bits)
    got = float(measures.rounded_truth(certified(1 + steps / 2**12, side * 2.0**-bits), fmt)[0])
    assert oracle.place(Fraction(got), fmt.name) == oracle.place(exact, fmt.name)


@ALL
def test_elements_that_the_certificate_cannot_judge_count_nowhere(fmt):
    half_ulp, far = 2.0**-fmt.significand_bits, array([3, 3, 3], fmt)
    truth = certified(
        [1 + half_ulp if fmt.bits < 64 else 1, 2, 3],
        0.0 if fmt.bits < 64 else [half_ulp, 0, 0],
        [1e-17, 1e-17, 0],
    )
    report = compare(far, truth)
    assert (report.undecided, report.finite_size, report.worst.index) == (1, 2, (1,))
    assert sum(report.ulp_counts.values()) == 2 and "1 elements are undecided" in str(report)
    nothing = compare(far[:1], truth[:1])
    assert nothing.undecided == 1 and {v.outcome for v in nothing.verdicts.values()} == {
        "not applicable"
    }


def test_a_truth_in_the_place_of_the_output_is_refused():
    with pytest.raises(
        TypeError, match="got a truth, with its certificate; swap the first two arguments"
    ):
        compare(certified(1.0, 0.0), np.ones(1))
    with pytest.raises(
        TypeError,
        match="got float32; compute the truth in float64; of the two arguments actual comes first",
    ):
        compare(np.ones(1), np.ones(1, np.float32))
    with pytest.raises(TypeError, match="truth must be an array of a floating format"):
        compare(np.ones(1), np.ones(1, np.longdouble))


@ALL
def test_truth_of_the_same_dtype_is_widened_exactly(fmt):
    rng = np.random.default_rng(3)
    truth = array(rng.standard_normal(50), fmt)
    actual = near(truth.astype(np.float64), fmt, rng)
    assert measure(actual, truth) == measure(actual, truth.astype(np.float64))


# (output, truth) -> ulps, absolute error, pairs that differ, zeros of the other sign; one element each
SPECIAL = [
    (0.0, -0.0, 0, 0, 0, 1),
    (-0.0, 0.0, 0, 0, 0, 1),
    (-0.0, -0.0, 0, 0, 0, 0),
    (INF, INF, 0, NAN, 0, 0),
    (-INF, -INF, 0, NAN, 0, 0),
    (NAN, NAN, 0, NAN, 0, 0),
    (NAN, 1.0, INF, INF, 1, 0),
    (1.0, NAN, INF, INF, 1, 0),
    (NAN, INF, INF, INF, 1, 0),
    (INF, NAN, INF, INF, 1, 0),
]


@in_one
@ALL
@pytest.mark.parametrize("output, truth, ulps, error, differing, zeros", SPECIAL)
def test_special_values_have_stated_answers(fmt, output, truth, ulps, error, differing, zeros):
    got = measure(array([output], fmt), np.array([truth]))
    found = (got.max_ulp, got.max_abs, got.differing, got.signed_zeros)
    assert found == pytest.approx((ulps, error, differing, zeros), nan_ok=True)
    assert got.notes  # the notes explain each of these


@ALL
def test_infinity_is_one_step_beyond_the_largest_number(fmt):
    top = np.array([fmt.largest])
    got = measure(array([INF], fmt), top)
    assert (got.max_ulp, got.max_abs, got.differing) == (1, INF, 1)
    assert measure(array([-INF], fmt), -top).max_ulp == 1
    assert measure(array([-INF], fmt), np.array([INF])).max_ulp == 2 * oracle.infinity(fmt.name)


@pytest.mark.parametrize("fmt", FORMATS[:3], ids=lambda f: f.name)
def test_a_truth_beyond_the_format_counts_as_infinity(fmt):
    truth = np.array([fmt.largest * 1.5, 1.0])
    assert measure(array([INF, 1], fmt), truth).differing == 0
    assert measure(array([fmt.largest, 1], fmt), truth).differing == 1


@ALL
def test_subnormals_have_places_of_their_own(fmt):
    tiny = fmt.smallest_subnormal
    assert measure(
        np.array([0, 3], f"u{fmt.bits // 8}").view(fmt.numpy), np.array([tiny, tiny])
    ).ulp_counts == {"exact": 0, "1": 1, "2": 1, "3": 0, ">3": 0}
    assert measure(array([-tiny], fmt), np.array([tiny])).max_ulp == 2


def test_zero_truth_has_a_relative_error_only_when_missed():
    assert measure(np.float32([0.0]), np.zeros(1)).max_relative == 0
    missed = measure(np.float32([1e-7]), np.zeros(1))
    assert missed.max_relative == INF and missed.mare == pytest.approx(
        float(np.float32(1e-7)) / 1e-7, rel=1e-15
    )


@ALL
def test_empty_data_says_so(fmt):
    got = measure(np.zeros((0, 3), fmt.numpy), np.zeros((0, 3)))
    assert all(math.isnan(getattr(got, name)) for name in SCALARS)
    assert (got.size, got.shape, got.extremes["max_ulp"].index) == (0, (0, 3), None)
    assert got.notes == ("no elements: every statistic is nan",)


@in_one
@ALL
@pytest.mark.parametrize(
    "a, g, cosine", [(0, 0, 1), (0, 1, NAN), (1, 0, NAN), (1, 1, 1), (-1, 1, -1)]
)
def test_cosine_of_constant_data_is_stated(fmt, a, g, cosine):
    got = measure(np.full(5, a, fmt.numpy), np.full(5, float(g)))
    assert got.cosine == pytest.approx(cosine, nan_ok=True)
    assert bool(got.notes) == (0 in (a, g))


def test_means_run_over_the_finite_pairs_and_maxima_over_all():
    got = measure(np.float32([1, NAN, INF, 3]), np.array([1.0, 1.0, INF, 2.0]))
    assert (got.finite_size, got.differing, got.mean_abs, got.error_balance) == (2, 1, 0.5, 0.5)
    assert (
        got.rmse == math.sqrt(0.5) and got.max_abs == INF and got.extremes["max_abs"].index == (1,)
    )


def test_extremes_carry_index_numbers_and_inputs():
    actual, truth = np.float16([[1, 2], [3, 4]]), np.array([[1.0, 2.0], [3.0, 4.5]])
    inputs = {
        "x": np.float32([[10, 20], [30, 40]]),
        "gamma": np.ones(2),
        "eps": 1e-6,
        "flags": None,
        "b": np.arange(4).reshape(2, 2).astype(ml_dtypes.bfloat16),
    }
    worst = measure(actual, truth, inputs=inputs).extremes["max_abs"]
    assert (worst.value, worst.index, worst.actual, worst.truth) == (0.5, (1, 1), 4.0, 4.5)
    assert worst.inputs == {"x": 40.0, "b": 3.0}


def test_first_of_equal_maxima_is_named():
    assert measure(np.ones(70000, np.float32), np.zeros(70000)).extremes["max_abs"].index == (0,)


@pytest.mark.parametrize("scale", [1e-300, 1e300, 5e-324])
def test_squares_neither_overflow_nor_vanish(scale):
    got = measure(np.array([scale, scale]), np.array([0.0, scale]))
    assert got.rmse == pytest.approx(scale * math.sqrt(0.5), rel=1e-15, abs=5e-324)
    assert got.cosine == pytest.approx(math.sqrt(0.5))


def test_means_and_ratios_hold_where_sums_and_differences_are_beyond_the_largest_number():
    top = FORMATS[-1].largest
    assert measure(np.full(2, top), np.full(2, top / 4)).mean_abs == pytest.approx(0.75 * top)
    assert measure(np.full(2, 1e301), np.zeros(2)).mere == pytest.approx(1e308)
    apart = measure(np.array([top, 0, 0, 0, 101 * 5e-324]), np.array([-top, 0, 0, 0, 5e-324]))
    assert (apart.mare, apart.max_relative, apart.max_abs) == (2.0, 100.0, INF)
    assert (apart.mere, apart.mean_abs, apart.rmse) == pytest.approx(
        (0.4, 0.4 * top, top / 5**0.5 * 2)
    )
    low = measure(np.array([top, 1.0]), certified([-top, 1.0], [0.0, 2.0**-60]))
    assert (low.mare, low.below) == (2.0, 1)


def test_scaled_sums_of_unlike_size_add():
    big, small = (
        ScaledSum.of_products(np.array([v]), np.array([v])) for v in (2.0**600, 2.0**-600)
    )
    assert (big + small).root() == (small + big).root() == 2.0**600
    assert (ScaledSum() + small).root() == (small + ScaledSum()).root() == 2.0**-600
    assert (big + big).root() == pytest.approx(2.0**600 * math.sqrt(2), rel=1e-15)


def test_memory_is_that_of_stretches_not_of_the_data():
    truth = np.random.default_rng(0).standard_normal(1 << 21)
    actual = truth.astype(np.float32)
    tracemalloc.start()
    measure(actual, truth)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.3 * (actual.nbytes + truth.nbytes)  # a single float64 copy would be two thirds


def test_non_contiguous_and_swapped_data():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((20, 30))
    actual = truth.astype(np.float32) + np.float32(1e-3)
    swapped = measure(actual.T.astype(">f4"), truth.T.astype(">f8"))
    assert swapped == measure(np.ascontiguousarray(actual.T), np.ascontiguousarray(truth.T))


@pytest.mark.parametrize(
    "actual, truth, text",
    [
        ("i8", "f8", "actual must be an array of a floating format: got int64; use float16"),
        ("f8", "i8", "truth must be an array of a floating format: got int64; use float16"),
        ("f8", "f4", "output's format float64: got float32; compute the truth in float64"),
        ("f2", "bfloat16", "hold every number of the output's format float16: got bfloat16"),
        ("bfloat16", "f2", "format bfloat16: got float16; compute"),
    ],
)
def test_formats_that_do_not_fit_are_refused_in_three_parts(actual, truth, text):
    with pytest.raises(TypeError, match=text):
        measure(np.zeros(3, actual), np.zeros(3, truth))


@pytest.mark.parametrize(
    "shape, text",
    [
        (
            (2, 4),
            r"shape of actual, \(2, 3\): got \(2, 4\) \(axis 1 disagrees\); compare arrays element",
        ),
        ((3,), r"got \(3,\) \(rank 1 against 2\); compare arrays element"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_in_three_parts(shape, text):
    with pytest.raises(ValueError, match=text):
        measure(np.zeros((2, 3)), np.zeros(shape))
