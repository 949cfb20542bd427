"""Precision plans against scalar emulations: exact fractions rounded step by step, in loops."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from arrays.scalar_rounding import FORMATS, rounded
from arrays.test_driver import SHAPES

from aclnn_viz import case, operator
from aclnn_viz.arrays import driver
from aclnn_viz.arrays.plan import HOST, Plan, round_away
from aclnn_viz.arrays.plan_arrays import PlannedArrays
from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.operators import plans


def chain(terms, dtype):
    total = Fraction(0)
    for term in terms:
        total = rounded(total + Fraction(term), dtype)
    return total


def tree(terms, dtype):
    """Return the sum by adding neighbours; an odd last term waits for the next round."""
    terms = [Fraction(t) for t in terms]
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2])
        terms = [rounded(a + b, dtype) for a, b in pairs] + terms[len(terms) // 2 * 2 :]
    return terms[0]


def terms_of(dtype, count=53, seed=4):
    values = np.random.default_rng(seed).standard_normal(count) * 2.0 ** np.arange(count) ** 0.3
    return round_to(values, dtype)


def planned_sum(terms, dtype, **settings):
    xp = PlannedArrays(Plan(compute=dtype, accumulate=dtype, **settings), dtype)
    return float(xp.sum(xp.given(terms)).data)


@pytest.mark.parametrize("dtype", FORMATS)
def test_sequential_and_pairwise_sums(dtype):
    terms = terms_of(dtype)
    numbers = terms.astype(float)
    assert planned_sum(terms, dtype, order="sequential") == chain(numbers, dtype)
    assert planned_sum(terms, dtype, order="pairwise") == tree(numbers, dtype)
    assert chain(numbers, dtype) != tree(numbers, dtype)  # the orders differ on these terms


@pytest.mark.parametrize("dtype", FORMATS)
def test_blocked_sums_take_tiles_then_cores(dtype):
    terms = terms_of(dtype, 48)
    # 12 tiles on 3 cores
    tiles = [tree(terms[at : at + 4].astype(float), dtype) for at in range(0, 48, 4)]
    cores = [chain(tiles[at : at + 4], dtype) for at in (0, 4, 8)]
    assert planned_sum(terms, dtype, order="blocked", tile=4, cores=3) == chain(cores, dtype)


def test_shuffled_sums_are_some_order_of_the_cores_fixed_by_the_seed():
    terms = terms_of("float16", 5, seed=4)
    orders = {
        float(chain(order, "float16")) for order in itertools.permutations(terms.astype(float))
    }
    sums = [
        planned_sum(terms, "float16", order="shuffled", tile=1, cores=5, seed=seed)
        for seed in range(40)
    ]
    again = [
        planned_sum(terms, "float16", order="shuffled", tile=1, cores=5, seed=seed)
        for seed in range(40)
    ]
    assert sums == again
    assert len(set(sums)) > 1 and set(sums) <= orders


def test_leading_axis_has_an_order_of_its_own():
    terms = terms_of("float16", 60).reshape(6, 10)
    xp = PlannedArrays(
        Plan(compute="float16", accumulate="float16", order="pairwise", leading="sequential"),
        "float16",
    )
    rows = [tree(row.astype(float), "float16") for row in terms]
    assert float(xp.sum(xp.given(terms), axis=(0, 1)).data) == chain(rows, "float16")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("scatter", ["sequential", "shuffled"])
def test_scattered_terms_add_up_in_the_format_of_the_atomics(dtype, scatter):
    rng = np.random.default_rng(3)
    index, values = rng.integers(0, 3, 40), round_to(rng.standard_normal((2, 40)), "float32")
    xp = PlannedArrays(Plan(atomics="storage", scatter=scatter, seed=5), dtype)
    image = xp.scatter_add(xp.zeros((2, 4), np.float32), index, xp.given(values)).data
    order = np.random.default_rng(5).permutation(40) if scatter == "shuffled" else range(40)
    for c, column in itertools.product(range(2), range(4)):
        terms = [rounded(Fraction(float(values[c, p])), dtype) for p in order if index[p] == column]
        assert image[c, column] == chain(terms, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_ties_away(dtype):
    fmt = float_format(dtype)
    steps = np.arange(1, 200) / 4 * fmt.smallest_subnormal  # subnormal ties, too
    values = np.concatenate(
        [steps, -steps, 1 + np.arange(64) * fmt.unit_roundoff / 2, np.float64([fmt.largest])]
    )
    expected = [float(rounded(Fraction(float(v)), dtype, away=True)) for v in values]
    assert round_away(values, fmt).astype(float).tolist() == expected
    assert expected != round_to(values, fmt).astype(float).tolist()


def test_rounding_is_that_of_each_output():
    # slope 3/2 at 3 makes 1 + 2**-10 a tie of float16
    inputs = dict(gradOutput=np.float16([1 + 2.0**-10]), self=np.float16([3.0]))
    for rounding in ("even", "away"):  # up is even
        assert (
            plans.run(operator("hardswish"), Plan(rounding=rounding), **inputs)["out"][0]
            == 1.5 + 2.0**-9
        )
    inputs["gradOutput"] = np.float16([1 + 2.0**-9 + 2.0**-10])  # the tie above an even number
    down, up = 1.5 + 2.0**-8, 1.5 + 2.0**-8 + 2.0**-10
    for rounding, expected in (
        ("even", down),
        ("away", up),
        ({"out": "away"}, up),
        ({"other": "away"}, down),
    ):
        assert (
            plans.run(operator("hardswish"), Plan(rounding=rounding), **inputs)["out"][0]
            == expected
        )


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_operation_rounds_python_numbers_included(dtype):
    x = round_to(np.linspace(-3, 3, 41), dtype)
    out = plans.run(
        operator("hardswish"),
        Plan(compute=dtype),
        gradOutput=np.full(41, 0.7).astype(x.dtype),
        self=x,
    )
    grad = Fraction(float(np.float64(0.7).astype(x.dtype)))
    for value, got in zip(x.astype(float), out["out"].astype(float)):
        third = rounded(Fraction(value) / 3, dtype)
        assert got == rounded(grad * rounded(third + Fraction(1, 2), dtype), dtype)


def test_saturation_leaves_no_infinity_and_no_nan():
    op, x = operator("hardswish"), np.float16([6e4, np.nan, -np.inf, 1.0])
    grad = np.float16([60000.0, 1.0, 1.0, np.inf])
    plain = plans.run(op, Plan(compute="float16"), gradOutput=grad, self=np.float16([2.9, *x[1:]]))[
        "out"
    ]
    kept = plans.run(
        op, Plan(compute="float16", saturate=True), gradOutput=grad, self=np.float16([2.9, *x[1:]])
    )["out"]
    assert plain.tolist()[0] == np.inf and plain.tolist()[3] == np.inf
    assert kept.tolist() == [65504.0, 1.0, 0.0, 65504.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("block", [400, 1 << 15])
@pytest.mark.sampled(3)
def test_host_plan_is_the_kit_itself_to_the_bit(dtype, block, monkeypatch):
    monkeypatch.setattr(driver, "BLOCK_ELEMENTS", block)
    for name, shape in [*SHAPES.items()][:5]:
        inputs = case(name, dtype=dtype, seed=1, shape=shape).inputs
        ours, kit = plans.run(operator(name), HOST, **inputs), operator(name).backward(**inputs)
        assert all(np.array_equal(ours[output], kit[output]) for output in kit), name


@pytest.mark.parametrize(
    "settings,asked",
    [
        ({"order": "random"}, "order must be one of"),
        ({"rounding": {"out": "up"}}, "rounding must be one of"),
        ({"scatter": "pairwise"}, "scatter must be one of"),
        ({"compute": "int8"}, "dtype must be a floating format"),
        ({"coordinates": "float16"}, "coordinates must be float32 or float64"),
        ({"tile": 0}, "tile is a number from 1 on"),
    ],
)
def test_a_wrong_plan_is_refused(settings, asked):
    with pytest.raises(ValueError, match=asked):
        Plan(**settings)


def test_float64_inputs_are_computed_in_float64():
    inputs = case("rms_norm", dtype="float64", seed=1).inputs
    out, kit = (
        plans.run(operator("rms_norm"), Plan(), **inputs),
        operator("rms_norm").backward(**inputs),
    )
    assert out["dxOut"].dtype == np.float64
    assert np.allclose(out["dxOut"], kit["dxOut"], rtol=1e-12, atol=1e-12)
