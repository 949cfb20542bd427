"""Truth is within its certificate, and the certificate within a thousandth of a spacing, against whole numbers.

A sample here, two million elements with ACLNN_VIZ_SOAK=1.
"""

from fractions import Fraction
from itertools import product
from math import fsum

import numpy as np
import pytest
from arrays.bound_cases import CASES, HUGE_RANGE, PLAIN, SMALL, SUBNORMAL, variants
from arrays.exact_truth import TRUTHS
from arrays.fixed_point import Fixed, beyond
from machine import SOAK

from aclnn_viz import case, compare, operator
from aclnn_viz.accuracy.envelopes import envelope, explain
from aclnn_viz.arrays import float64_arrays
from aclnn_viz.arrays import truth as module
from aclnn_viz.arrays.decisions import MarkedArrays
from aclnn_viz.arrays.double_double_arrays import PreciseArrays
from aclnn_viz.arrays.driver import Result, sizes_of
from aclnn_viz.arrays.float64_arrays import SizedArrays
from aclnn_viz.arrays.truth import Certified, Certifier, doubtful, rounded_sum, spacing, undecided
from aclnn_viz.dtypes import FORMATS, float_format, round_to, ulp

DTYPES = [f.name for f in FORMATS]
BLOCK = 4000 if SOAK else 1000
ELEMENTS = 100_000 if SOAK else 1  # a name and format: 28 of them; a block of each kind at least


@pytest.mark.parametrize("name,dtype", [*product(CASES, DTYPES)])
@pytest.mark.sampled(6)
def test_truth_is_within_its_certificate(name, dtype, record_property):
    rng, more, op = np.random.default_rng(len(name + dtype)), variants(name), operator(name)
    counts, elements = np.zeros(3), 0
    # Below the normal numbers of float64 a certificate cannot be small beside them: `test_bounds` looks there.
    kinds = (PLAIN, HUGE_RANGE, SUBNORMAL) if dtype != "float64" else (PLAIN, PLAIN)
    while elements < ELEMENTS or not counts.any():
        for kind in kinds:
            size = BLOCK if dtype != "float64" else BLOCK // 8
            inputs = CASES[name](rng, dtype, size, kind, **next(more), **SMALL.get(name, {}))
            right, ref = TRUTHS[name](**inputs), op.truth(**inputs)
            formats = {
                output: float_format(value) for output, value in op.backward(**inputs).items()
            }
            for output, value in ref.items():
                assert not beyond(
                    (np.asarray(value), value.low), value.error, right[output]
                ).any(), (kind, output)
                within = good(value, formats[output])
                # The rest of bicubic weights at a border is 0, and 0 has no small enough spacing.
                counts += [
                    value.size,
                    within.sum(),
                    (within | vanished(value, right[output])).sum(),
                ]
                elements += value.size
    record_property("group", name)
    record_property("elements", elements)
    record_property("share within a thousandth", f"{counts[1] / counts[0]:.5f}")
    assert counts[2] >= 0.999 * counts[0]


def good(truth, fmt):
    """Return where a truth is known to a thousandth of a spacing, or correctly rounded in float64."""
    values = np.asarray(truth)
    if fmt.bits == 64:
        return ~undecided(values, truth.low, truth.error, fmt)
    # an infinity has no spacing
    rounded = np.clip(round_to(values, fmt), -fmt.largest, fmt.largest)
    return truth.error <= 1e-3 * ulp(rounded, fmt)


def vanished(truth, right: Fixed):
    return (right.n == 0).astype(bool).reshape(truth.shape)


def test_the_judge_refuses_a_certificate_that_is_too_small():
    inputs = CASES["rms_norm"](np.random.default_rng(0), "float32", 1000, PLAIN)
    value, right = (
        operator("rms_norm").truth(**inputs)["dxOut"],
        TRUTHS["rms_norm"](**inputs)["dxOut"],
    )
    assert beyond((np.asarray(value), value.low), value.error / 1000, right).any()
    assert beyond((np.asarray(value) * (1 + 2.0**-40), value.low), value.error, right).any()


def test_a_tall_sum_that_cancels_is_right():
    """A float64 run that adds row by row finds twice the sum; the right answer was far beyond the bound."""
    column = np.float32([1.0, *[2.0**-53 * 1.0001] * 16382, -1.0])
    ones = np.ones((16384, 1), np.float32)
    inputs = dict(
        dy=np.stack([column, column], axis=1),
        x=np.ones((16384, 2), np.float32),
        rstd=ones,
        gamma=np.ones(2, np.float32),
    )
    op, exact = operator("rms_norm"), fsum(column.tolist())
    ref = op.truth(**inputs)["dgammaOut"]
    assert np.all(np.abs(np.asarray(ref) - exact) <= ref.error) and np.all(
        ref.error < 1e-3 * ulp(exact, "float32")
    )
    right = round_to(np.full(2, exact), "float32")
    assert compare(right, ref).max_ulp == 0 and compare(2 * right, ref).max_ulp > 1e6
    assert explain(right, ref, envelope(op, **inputs)["dgammaOut"]).explained == 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_ties_behind_a_division_by_three_are_right(dtype):
    """(2 x + 3) g / 6 is often exactly half way between two numbers, though x / 3 is none."""
    rng = np.random.default_rng(1)
    x, g = round_to(rng.uniform(-3, 3, 8000), dtype), round_to(rng.standard_normal(8000), dtype)
    ref = operator("hardswish").truth(gradOutput=g, self=x)["out"]
    exact = [(2 * Fraction(float(a)) + 3) * Fraction(float(b)) / 6 for a, b in zip(x, g)]
    fmt = float_format(dtype)
    assert not undecided(np.asarray(ref), ref.low, ref.error, fmt).any()
    rounded = rounded_sum(np.asarray(ref), ref.low, fmt).astype(float)
    spacing = ulp(rounded, fmt)
    apart = np.array(
        [float(2 * abs(e - Fraction(r)) / Fraction(s)) for e, r, s in zip(exact, rounded, spacing)]
    )
    assert np.all(apart <= 1) and (apart == 1).sum() > 50
    even = np.rint(rounded / spacing) % 2 == 0
    assert even[apart == 1].all()


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
@pytest.mark.parametrize("low", [0.0, 1e-300])  # all of them 0, or one is not
def test_a_rounded_sum_keeps_the_sign_of_a_zero(fmt, low):
    rounded = rounded_sum(np.array([-0.0, 0.0, 1.0]), np.array([0.0, 0.0, low]), fmt)
    assert np.signbit(rounded).tolist() == [True, False, False]
    assert not rounded_sum(np.array([-1.0, 1.0]), np.array([1.0, low - 1.0]), fmt).any()


def test_zeros_of_the_right_sign_are_not_said_to_have_the_other():
    """At -4, -5 and a gradient below 0 hardswish gives -0.0; elsewhere the truth has a low part."""
    inputs = {"gradOutput": np.float32([1, -1, 1]), "self": np.float32([-4, -5, 1])}
    op = operator("hardswish")
    right, truth = op.backward(**inputs)["out"], op.truth(**inputs)["out"]
    assert (
        compare(right, truth).signed_zeros == 0 and compare(np.abs(right), truth).signed_zeros == 1
    )


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7, 15, 31, 64, 100])
def test_no_term_meets_more_additions_than_are_counted(count, monkeypatch):
    """The sum runs over numbers that count additions: each is one more than the larger operand."""
    monkeypatch.setattr(
        float64_arrays.dd, "two_sum", lambda a, b: (np.maximum(a, b) + 1.0, np.zeros(np.shape(a)))
    )
    met, _ = float64_arrays._compensated(np.zeros(count), None, (0,))
    assert met.item() == float64_arrays.additions(count)


def test_attributes_are_exact():
    """1 - 1e-20 is 1 in float64, and is not in truth."""
    inputs = dict(
        gradLoss=np.float64(1.0),
        logProb=np.float64([[-800.0, 0.0]]),
        target=np.array([0]),
        reduction="sum",
        labelSmoothing=1e-20,
    )
    ref = operator("cross_entropy_loss").truth(**inputs)["xGradOut"]
    assert float(ref[0, 0]) == -1.0 and abs(float(ref.low[0, 0]) - 0.5e-20) < 1e-30


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name,options",
    [
        ("hardswish", {"shape": (30, 90)}),
        ("rms_norm", {"shape": (30, 90)}),
        ("layer_norm", {"shape": (30, 90), "normalizedShape": (90,)}),
        ("grid_sampler_2d", {"shape": (3, 5, 12, 12)}),
        ("grid_sampler_3d", {"shape": (3, 3, 3, 4, 5), "grid_shape": (3, 4, 5)}),
        ("cross_entropy_loss", {"shape": (30, 90)}),
        ("group_norm_swish", {"shape": (6, 6, 8, 8)}),
    ],
)
@pytest.mark.sampled(4)
def test_blocks_and_threads_change_no_certified_digit(name, options, dtype, monkeypatch):
    inputs, op = case(name, dtype=dtype, seed=2, **options).inputs, operator(name)
    whole = op.truth(**inputs)
    monkeypatch.setattr(module, "ELEMENTS", 300)
    cut = op.truth(**inputs)
    for output, value in whole.items():
        apart = np.abs(
            (np.asarray(value) - np.asarray(cut[output])) + (value.low - cut[output].low)
        )
        assert np.all(apart <= (value.error + cut[output].error) * (1 + 1e-10))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_not_finite_is_certain_where_the_inputs_are_not(special, dtype):
    for name, tensor in (
        ("hardswish", "self"),
        ("rms_norm", "dy"),
        ("layer_norm", "gradOut"),
        ("group_norm_swish", "dy"),
        ("cross_entropy_loss", "logProb"),
    ):
        inputs = case(name, dtype=dtype, seed=1).inputs
        inputs[tensor].reshape(-1)[::7] = special
        ref, out = operator(name).truth(**inputs), operator(name).backward(**inputs)
        for output, value in ref.items():
            same = ~np.isfinite(value)
            assert np.array_equal(np.isnan(out[output]), np.isnan(value)), (name, output)
            assert (
                not value.error[same].any()
                and compare(out[output], value).undecided <= 0.01 * value.size
            )


@pytest.mark.parametrize("upstream", [np.inf, -np.inf])
@pytest.mark.parametrize(
    ("name", "x", "error"),
    [("gelu", -40, np.inf), ("gelu_v2", -60, np.inf), ("hardswish", -4, 0), ("gelu", 9, 0)],
)
def test_an_infinity_times_what_may_not_be_0_is_unknown(name, x, error, upstream):
    inputs = {"self": np.float32([x]), "gradOutput": np.float32([upstream])}
    assert operator(name).truth(**inputs).error["gradInput" if error or x > 0 else "out"] == error


def test_a_quotient_of_what_may_not_be_0_by_0_is_unknown():
    inputs = case("flash_attention_score").inputs
    inputs["softmaxSumOptional"] = 0 * inputs["softmaxSumOptional"]
    inputs["softmaxMaxOptional"] = 0 * inputs["softmaxMaxOptional"] + 2000
    assert np.isinf(operator("flash_attention_score").truth(**inputs).error["dvOut"]).all()


@pytest.mark.parametrize("arrays", [PreciseArrays, SizedArrays])
def test_what_is_unknown_decides_nothing(arrays):
    for test in (lambda xp, x: x > 0.0, lambda xp, x: xp.isnan(x)):
        xp = arrays()
        with np.errstate(all="ignore"):
            test(xp, xp.given(np.float64([np.inf])) * xp.exp(xp.given(np.float64([-800.0]))))
        assert xp.open


def test_nothing_is_known_behind_an_overflow():
    inputs = dict(
        dy=np.float64([[1e200, 1.0]]),
        x=np.float64([[1e200, 1.0]]),
        rstd=np.float64([[1e-150]]),
        gamma=np.float64([1e200, 1.0]),
    )
    ref = operator("rms_norm").truth(**inputs)["dxOut"]
    assert (
        np.isinf(ref.error).any()
        and explain(
            operator("rms_norm").backward(**inputs)["dxOut"],
            ref,
            envelope(operator("rms_norm"), **inputs)["dxOut"],
        ).not_explained
        == 0
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(3)
def test_below_what_double_doubles_hold_the_certificate_says_so(name):
    """Under 1e-290 the low part of a float64 number underflows; what is decided there is the nearest number all the same."""
    rng, seen = np.random.default_rng(5), []
    for reach in (-1000, 300):  # the upper end of what tensors are scaled by, as a power of two
        inputs = CASES[name](rng, "float64", 200, PLAIN, **SMALL.get(name, {}))
        for key, array in inputs.items():
            if (
                isinstance(array, np.ndarray)
                and array.dtype == np.float64
                and key not in ("grid", "logProb")
            ):
                inputs[key] = array * 2.0 ** rng.uniform(-1080, reach, array.shape)
        with np.errstate(all="ignore"):
            ref, rights = operator(name).truth(**inputs), TRUTHS[name](**inputs)
        for output, value in ref.items():
            plain, right = np.asarray(value), rights[output]
            assert not beyond((plain, value.low), value.error, right, granted=3000).any(), output
            decided = np.isfinite(plain) & ~undecided(
                plain, value.low, value.error, float_format("float64")
            )
            # half of it; twice the numbers
            spacing = np.where(decided, np.spacing(np.abs(plain)), np.inf)
            assert not beyond((plain, plain), spacing, right + right, granted=3000).any(), output
            seen.append(decided.mean())
    assert 0.02 < np.mean(seen) < 0.98


@pytest.mark.parametrize(
    "result",
    [
        lambda e, small, large: e * small,
        lambda e, small, large: small * e,
        lambda e, small, large: e * (e * small),
        lambda e, small, large: (e * small) * small,
        lambda e, small, large: e / large,
        lambda e, small, large: -(e * large) / (large * large),
    ],
)
def test_what_underflowed_is_never_called_exact(result):
    """The exponential of -800 is 0 in float64, within 2**-1074; a factor also multiplies the bound."""
    xp = float64_arrays.SizedArrays()
    e, small, large = (xp.given(np.float32([x, x])) for x in (-800.0, 1e-38, 1e38))
    found = result(xp.exp(e), small, large)
    assert (found.data == 0.0).all() and (found.error >= 2.0**-1074).all()
    # but a given zero is exact
    assert not (xp.given(np.float32([0, 0])) * xp.exp(e)).error.any()


def test_an_exact_zero_stays_exact_beside_another():
    """The slope of hardswish is (2x + 3) / 6 = 0 at -1.5, and 0 below -3."""
    truth = operator("hardswish").truth(
        self=np.float32([-1.5, -5.0]), gradOutput=np.float32([1.0, 1.0])
    )
    assert truth["out"].tolist() == truth.error["out"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("error", [2.0**-1074, 1e-300, 1e-40])
def test_a_tie_is_undecided_however_small_its_error(error):
    """A float64 sum drops a decisive error of a low part of half a spacing."""
    high, low, both = (
        np.float64([55.5, -1.0, 3.0]),
        np.spacing([55.5, -1.0, 3.0]) / 2,
        np.full(3, error),
    )
    assert undecided(high, low, both, float_format("float64")).all()
    assert not undecided(high, low, np.zeros(3), float_format("float64")).any()
    assert not undecided(high, low * 0.999, both, float_format("float64")).any()


def test_coordinates_next_to_a_pixel_are_right_or_not_certified():
    grid = np.zeros((1, 1, 2, 2))
    grid[..., 0] = [[1e-40, 0.1]]  # (x + 1) * 3 - 1 is 2 and a little more, or less than nothing
    inputs = dict(
        gradOutput=np.ones((1, 1, 1, 2)), input=np.arange(12.0).reshape(1, 1, 4, 3), grid=grid
    )
    ref, right = operator("grid_sampler_2d").truth(**inputs), TRUTHS["grid_sampler_2d"](**inputs)
    for output, value in ref.items():
        assert not beyond((np.asarray(value), value.low), value.error, right[output]).any()


def test_of_a_sum_over_channels_only_the_samples_that_need_it_are_computed_again(monkeypatch):
    """gridGrad adds channels; some of its elements are ties, which float64 with bounds does not tell from what is next to them."""
    rng, again = np.random.default_rng(5), []
    whole = module.Certifier._in_double_double
    monkeypatch.setattr(
        module.Certifier,
        "_in_double_double",
        lambda self, names, letter, rows: (
            again.append((set(names), letter, rows)),
            whole(self, names, letter, rows),
        ),
    )
    inputs = dict(
        gradOutput=round_to(rng.standard_normal((40, 2, 60, 1)), "float16"),
        input=round_to(rng.standard_normal((40, 2, 5, 4)), "float16"),
        grid=round_to(rng.uniform(-1.3, 1.3, (40, 60, 1, 2)), "float16"),
    )
    inputs["input"][7:20:4] = 1.0  # a picture without slopes, except at its end
    ref, right = operator("grid_sampler_2d").truth(**inputs), TRUTHS["grid_sampler_2d"](**inputs)
    ((names, letter, rows),) = again
    assert names == {"gridGrad"} and letter == "n" and 0 < len(rows) < 20
    for output, value in ref.items():
        assert not beyond((np.asarray(value), value.low), value.error, right[output]).any(), output
        fmt = float_format("float16")
        assert (good(value, fmt) | vanished(value, right[output])).mean() > 0.999
        assert not undecided(np.asarray(value), value.low, value.error, fmt).any(), output


def test_a_certificate_follows_its_elements():
    value = Certified(np.arange(6.0), np.zeros(6), np.arange(6) * 2.0**-80)
    assert (value.reshape(2, 3)[1].error * 2.0**80).tolist() == [3, 4, 5]
    assert (
        type(value + 1) is type(np.abs(value)) is type(value.astype(np.float32) * 1) is np.ndarray
    )
    assert np.concatenate([value, value]).shape == (12,) and float(value[2]) == 2.0


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
def test_undecided_is_what_two_roundings_disagree_on(fmt):
    """Next to ties, powers of two, the smallest and the largest numbers, with certificates of every width."""
    rng = np.random.default_rng(3)
    scale = 2.0 ** rng.integers(fmt.min_exponent - fmt.significand_bits, 3, 20000)
    values = round_to(rng.choice([1.0, 1.5, rng.uniform(1, 2)], 20000) * scale, fmt).astype(
        np.float64
    )
    values[::50] = fmt.largest / 2 if fmt.bits == 64 else fmt.largest
    spacings = ulp(values, fmt)
    high = values + rng.choice([0, 0.25, 0.5, -0.25, -0.5], 20000) * spacings * (
        1 + rng.choice([0, 1e-9], 20000)
    )
    error = spacings * 2.0 ** -rng.uniform(0, 40, 20000)
    low = np.zeros(20000)
    found = undecided(high, low, error, fmt)
    with np.errstate(over="ignore"):
        apart = rounded_sum(high, low - error, fmt) != rounded_sum(high, low + error, fmt)
    assert found[apart].all() and 0.02 < apart.mean() < 0.9
    assert (found & ~apart).mean() < 0.05  # within a hundredth of the width more
    # arrays of no axes
    alone = [undecided(*(part[k] for part in (high, low, error)), fmt).item() for k in range(200)]
    assert alone == found[:200].tolist()
    if fmt.bits < 64:  # a narrower search first, which misses none of them
        may, loose = (
            doubtful(high, low, error, fmt),
            error > module.CERTAIN_ERROR * spacing(np.abs(high), fmt),
        )
        assert (
            may[apart].all()
            and may[loose].all()
            and not doubtful(values, low, 2.0**-20 * spacings, fmt).all()
        )


def _third_of_each(xp, x):
    """Return exactly x, in numbers that are not exact."""
    return x / 3.0 * 3.0


PAGES = {
    "a comparison": lambda xp, x: {"out": xp.where(_third_of_each(xp, x) > 1.0, x, -x)},
    "an index": lambda xp, x: {
        "out": xp.take(
            xp.arange(4, np.float64), xp.astype(xp.floor(_third_of_each(xp, x)), xp.int64)
        )
    },
    "a place": lambda xp, x: {
        "out": xp.reshape(
            xp.scatter_add(
                xp.zeros((1, 3), np.float64),
                xp.arange(3, xp.int64) + xp.astype(_third_of_each(xp, x) < 0.5, xp.int64),
                xp.reshape(x, (1, 3)),
            ),
            (3,),
        )
    },
    "a sum": lambda xp, x: {
        "out": x + xp.sum(xp.where(_third_of_each(xp, x) > 2.0, x, 0.0), axis=-1, keepdims=True)
    },
}


@pytest.mark.parametrize(
    ("kind", "x", "unknown"),
    [
        ("a comparison", [1.0, 1.5, 0.25], [True, False, False]),
        ("a comparison", [1.25, 1.5, 0.25], [False, False, False]),
        ("an index", [1.25, 2.0, 0.25], [False, True, False]),
        ("a place", [1.0, 1.5, 2.0], [False, False, False]),
        ("a place", [1.0, 0.5, 2.0], [True, True, True]),
        ("a sum", [1.0, 2.0, 2.5], [True, True, True]),
        ("a sum", [1.0, 3.0, 2.5], [False, False, False]),
    ],
)
def test_nothing_is_known_of_what_hangs_on_an_open_decision_and_of_that_alone(kind, x, unknown):
    x = np.float64(x)
    result = Result((3,), float_format("float64"), (3,))
    axes = {"x": ".", "out": "."}
    ref = Certifier(PAGES[kind], axes, {"x": x}, {}, {"out": result}).truth()
    assert np.isinf(ref.error["out"]).tolist() == unknown


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sampled(4)
def test_marks_change_no_number(name):
    inputs = operator(name).arranged(case(name, dtype="float64", seed=2).inputs)[1]
    parts = inputs.axes, inputs.arrays, inputs.attributes, inputs.results, inputs.prelude
    page = Certifier(operator(name).page.backward, *parts)
    block = {letter: slice(0, n) for letter, n in sizes_of(page.axes, page.given).items()}
    plain, marked = (
        page._values(xp, block, page.given) for xp in (PreciseArrays(), MarkedArrays())
    )
    for output, value in plain.items():
        assert not marked[output].marks.any()
        assert np.array_equal(value.high, marked[output].value.high)
