"""The floating formats are judged against exact rational arithmetic and NumPy's own tables."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from aclnn_viz import dtypes
from aclnn_viz.dtypes import (
    FORMATS,
    KNOWN,
    float_format,
    ordinal_distance,
    ordinals,
    round_into,
    round_to,
    ulp,
)

ALL = pytest.mark.parametrize("fmt", KNOWN, ids=lambda f: f.name)
HALVES = pytest.mark.parametrize("fmt", FORMATS[:2], ids=lambda f: f.name)


def every_half(fmt):
    return np.arange(65536, dtype=np.uint16).view(fmt.numpy)


@pytest.fixture(autouse=True)
def signalling_nans_are_expected():
    # half of the nan patterns raise the flag when they are widened
    with np.errstate(invalid="ignore"):
        yield


@ALL
def test_constants_are_those_of_the_type_tables(fmt):
    info = ml_dtypes.finfo(fmt.numpy)
    assert fmt.unit_roundoff == float(info.eps) / 2
    assert fmt.smallest_subnormal == float(info.smallest_subnormal)
    assert fmt.largest == float(info.max)
    assert fmt.bits == info.bits


def test_vendor_names_and_codes():
    table = {(f.name, f.vendor_name, f.acl_code, f.c_name) for f in KNOWN}
    assert table == {
        ("float16", "FLOAT16", 1, "ACL_FLOAT16"),
        ("bfloat16", "BFLOAT16", 27, "ACL_BF16"),
        ("float32", "FLOAT32", 0, "ACL_FLOAT"),
        ("float64", "DOUBLE", 11, "ACL_DOUBLE"),
        ("float8_e5m2", "FLOAT8_E5M2", 35, "ACL_FLOAT8_E5M2"),
        ("float8_e4m3fn", "FLOAT8_E4M3FN", 36, "ACL_FLOAT8_E4M3FN"),
    }
    assert (
        float_format("BF16")
        is float_format(ml_dtypes.bfloat16)
        is float_format(np.zeros(1, ml_dtypes.bfloat16))
    )


@pytest.mark.parametrize(
    "wrong", ["float8", "int64", np.int32, np.zeros(3, np.int8), None, object()]
)
def test_what_is_no_format_is_refused_in_three_parts(wrong):
    with pytest.raises(
        ValueError, match="dtype must be a floating format: got .*; use one of float16, bfloat16"
    ):
        float_format(wrong)


def test_float64_to_bfloat16_rounds_once():
    value = 1 + 2**-8 + 2**-30
    assert float(np.float64(value).astype(ml_dtypes.bfloat16)) == 1.0  # the library's two roundings
    assert float(round_to(value, "bfloat16")) == 1.0078125
    foreign = np.array([value], np.dtype(np.float64).newbyteorder())
    into = np.empty(1, ml_dtypes.bfloat16)
    round_into(into, foreign)
    assert float(round_to(foreign, "bfloat16")[0]) == float(into[0]) == 1.0078125


def nearest_even(value: float, finite, fmt) -> float:
    """Return the nearest number by comparing both neighbours in rational numbers; `finite` has all numbers of the format."""
    at = int(np.searchsorted(finite, value))
    low, high = finite[max(at - 1, 0)], finite[min(at, finite.size - 1)]
    to_low, to_high = abs(Fraction(value) - Fraction(low)), abs(Fraction(high) - Fraction(value))
    if to_low != to_high:
        return low if to_low < to_high else high
    return low if int(ordinals(np.asarray(low).astype(fmt.numpy))) % 2 == 0 else high


@HALVES
def test_rounding_matches_exact_arithmetic_near_every_kind_of_midpoint(fmt):
    rng = np.random.default_rng(0)
    whole = every_half(fmt)
    whole = np.sort(whole[np.isfinite(whole)].astype(np.float64))
    finite, at = np.unique(whole), rng.integers(0, whole.size - 1, 400)
    middle = (whole[at] + whole[at + 1]) / 2
    nudge = np.abs(middle) * 2.0**-40 + fmt.smallest_subnormal * 2.0**-20
    for values in (middle, middle + nudge, middle - nudge):
        expected = [nearest_even(v, finite, fmt) for v in values]
        assert np.array_equal(round_to(values, fmt).astype(np.float64), expected)


@HALVES
def test_rounding_keeps_every_value_of_the_format(fmt):
    values = every_half(fmt)
    back = round_to(values.astype(np.float64), fmt)
    assert np.array_equal(np.isnan(back), np.isnan(values))
    assert np.array_equal(
        back.view(np.uint16)[~np.isnan(values)], values.view(np.uint16)[~np.isnan(values)]
    )


@HALVES
def test_rounding_overflows_at_half_a_step_beyond_the_largest(fmt):
    edge = fmt.largest + float(ulp(fmt.largest, fmt)) / 2
    assert (
        np.isinf(round_to(edge, fmt)) and float(round_to(np.nextafter(edge, 0), fmt)) == fmt.largest
    )


@ALL
def test_ulp_is_the_distance_to_the_next_number(fmt):
    values = np.array([1.0, 1.5, 2.0, 0.75, fmt.smallest_subnormal, 0.0, 2.0**fmt.min_exponent])
    ordinal = ordinals(values.astype(fmt.numpy))
    after = (ordinal + 1).astype(f"i{fmt.bits // 8}").view(fmt.numpy).astype(np.float64)
    assert np.array_equal(ulp(values, fmt), after - values)
    assert np.isnan(ulp([np.inf, np.nan], fmt)).all()


@HALVES
def test_ordinals_number_all_values_without_gaps(fmt):
    values = every_half(fmt)
    values = values[~np.isnan(values)]
    order = np.argsort(values.astype(np.float64), kind="stable")
    steps = np.diff(ordinals(values)[order])
    # only the zeros coincide
    assert np.count_nonzero(steps == 0) == 1 and np.all((steps == 1) | (steps == 0))


def test_distance_states_an_answer_for_special_values():
    nan, inf = np.float32(np.nan), np.float32(np.inf)
    assert ordinal_distance(nan, nan) == 0 and ordinal_distance(nan, np.float32(1)) == np.inf
    assert ordinal_distance(np.float32(0.0), np.float32(-0.0)) == 0
    assert ordinal_distance(inf, np.finfo(np.float32).max) == 1
    assert ordinal_distance(inf, -inf) == 2.0 * 0x7F800000
    assert ordinal_distance(np.float64(np.inf), np.float64(-np.inf)) == 2.0 * 0x7FF0000000000000
    assert ordinal_distance(np.float16(2.0**-24), np.float16(-(2.0**-24))) == 2


def test_module_lists_each_format_once():
    assert len({f.acl_code for f in dtypes.FORMATS}) == 4


@pytest.mark.parametrize("fmt", KNOWN[4:], ids=lambda f: f.name)
def test_eight_bits_round_once_and_count_up(fmt):
    every = np.arange(256, dtype=np.uint8).view(fmt.numpy)
    numbers = np.unique(every[np.isfinite(every)].astype(np.float64))
    between = np.concatenate([numbers, (numbers[:-1] + numbers[1:]) / 2, np.nextafter(numbers, 0)])
    for value in between:
        low, high = (
            numbers[max(np.searchsorted(numbers, value) - 1, 0)],
            numbers[np.searchsorted(numbers, value)],
        )
        found = float(round_to(value, fmt))
        assert abs(Fraction(found) - Fraction(value)) == min(
            abs(Fraction(one) - Fraction(value)) for one in (low, high)
        )
    steps = ordinals(round_to(numbers, fmt))
    assert (np.diff(steps) == 1).all() and steps[0] == -steps[-1]
    assert ordinals(every[np.isnan(every)]).max() == np.iinfo(np.int64).min
    assert np.isinf(float(round_to(np.inf, fmt))) == fmt.infinite


def test_no_operator_takes_eight_bits():
    import aclnn_viz as av

    inputs = {
        name: round_to(value, "float8_e5m2") for name, value in av.case("hardswish").inputs.items()
    }
    with pytest.raises(
        TypeError,
        match="self must be of dtype float16, bfloat16, float32, float64: got float8_e5m2",
    ):
        av.operator("hardswish").backward(**inputs)


@HALVES
def test_a_long_array_is_rounded_spaced_and_numbered_as_its_elements_are(fmt):
    """Around every midpoint of the format, in more than one stretch, and transposed, so in none."""
    half = every_half(fmt).astype(np.float64)
    middle = half + ulp(half, fmt) / 2
    values = np.stack([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])
    for call in (round_to, ulp, lambda x, f: ordinals(round_to(x, f))):
        whole = call(values, fmt)
        parts = np.concatenate(
            [call(part, fmt) for part in np.array_split(values.reshape(-1), 200)]
        )
        assert whole.shape == values.shape and whole.tobytes() == parts.tobytes()
        assert np.ascontiguousarray(call(values.T, fmt).T).tobytes() == parts.tobytes()
