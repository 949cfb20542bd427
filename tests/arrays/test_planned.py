"""Precision plans against scalar emulations: exact fractions rounded step by step, in loops."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from reference.exact import mp

from aclnn_viz import case, operator
from aclnn_viz.acl import HostAcl
from aclnn_viz.arrays.plan import HOST, Plan, round_away
from aclnn_viz.arrays.planned import PlannedArrays
from aclnn_viz.devices.device import Device
from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.operators import device_pages, plans
from aclnn_viz.products import PRODUCTS

FORMATS = {"float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126)}


def rounded(value, dtype, away=False):
    """A Fraction rounded to the nearest number of a format; ties to even, or away from zero."""
    bits, least = FORMATS[dtype]
    value = Fraction(value)
    if not value:
        return value
    exponent = math.frexp(abs(float(value)))[1] - 1
    step = Fraction(2) ** (max(exponent, least) - bits + 1)
    whole, rest = divmod(abs(value) / step, 1)
    up = rest > Fraction(1, 2) or rest == Fraction(1, 2) and (away or whole % 2 == 1)
    return (1 if value > 0 else -1) * (whole + up) * step


def chain(terms, dtype):
    total = Fraction(0)
    for term in terms:
        total = rounded(total + Fraction(term), dtype)
    return total


def tree(terms, dtype):
    """Halves are added to each other; an odd last term waits for the next round."""
    terms = [Fraction(t) for t in terms]
    while len(terms) > 1:
        half = len(terms) // 2
        terms = [rounded(a + b, dtype) for a, b in zip(terms, terms[half:])][:half] + terms[2 * half:]
    return terms[0]


def terms_of(dtype, count=53, seed=1):
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
    tiles = [tree(terms[at:at + 4].astype(float), dtype) for at in range(0, 48, 4)]  # 12 tiles on 3 cores
    cores = [chain(tiles[at:at + 4], dtype) for at in (0, 4, 8)]
    assert planned_sum(terms, dtype, order="blocked", tile=4, cores=3) == chain(cores, dtype)


def test_shuffled_sums_are_some_order_of_the_cores_fixed_by_the_seed():
    terms = terms_of("float16", 5, seed=4)
    orders = {float(chain(order, "float16")) for order in itertools.permutations(terms.astype(float))}
    sums = [planned_sum(terms, "float16", order="shuffled", tile=1, cores=5, seed=seed) for seed in range(40)]
    again = [planned_sum(terms, "float16", order="shuffled", tile=1, cores=5, seed=seed) for seed in range(40)]
    assert sums == again
    assert len(set(sums)) > 1 and set(sums) <= orders


def test_leading_axis_has_an_order_of_its_own():
    terms = terms_of("float16", 60).reshape(6, 10)
    xp = PlannedArrays(Plan(compute="float16", accumulate="float16", order="pairwise", leading="sequential"), "float16")
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
    values = np.concatenate([steps, -steps, 1 + np.arange(64) * fmt.unit_roundoff / 2, np.float64([fmt.largest])])
    expected = [float(rounded(Fraction(float(v)), dtype, away=True)) for v in values]
    assert round_away(values, fmt).astype(float).tolist() == expected
    assert expected != round_to(values, fmt).astype(float).tolist()


def test_rounding_is_that_of_each_output():
    # slope 3/2 at 3 makes 1 + 2**-10 a tie of float16
    inputs = dict(gradOutput=np.float16([1 + 2.0**-10]), self=np.float16([3.0]))
    for rounding in ("even", "away"):  # up is even
        assert plans.run(operator("hardswish"), Plan(rounding=rounding), **inputs)["out"][0] == 1.5 + 2.0**-9
    inputs["gradOutput"] = np.float16([1 + 2.0**-9 + 2.0**-10])  # the tie above an even number
    down, up = 1.5 + 2.0**-8, 1.5 + 2.0**-8 + 2.0**-10
    for rounding, expected in (("even", down), ("away", up), ({"out": "away"}, up), ({"other": "away"}, down)):
        assert plans.run(operator("hardswish"), Plan(rounding=rounding), **inputs)["out"][0] == expected


@pytest.mark.parametrize("dtype", FORMATS)
def test_every_operation_rounds_python_numbers_included(dtype):
    x = round_to(np.linspace(-3, 3, 41), dtype)
    out = plans.run(operator("hardswish"), Plan(compute=dtype), gradOutput=np.full(41, 0.7).astype(x.dtype), self=x)
    grad = Fraction(float(np.float64(0.7).astype(x.dtype)))
    for value, got in zip(x.astype(float), out["out"].astype(float)):
        third = rounded(Fraction(value) / 3, dtype)
        assert got == rounded(grad * rounded(third + Fraction(1, 2), dtype), dtype)


def test_saturation_leaves_no_infinity_and_no_nan():
    op, x = operator("hardswish"), np.float16([6e4, np.nan, -np.inf, 1.0])
    grad = np.float16([60000.0, 1.0, 1.0, np.inf])
    plain = plans.run(op, Plan(compute="float16"), gradOutput=grad, self=np.float16([2.9, *x[1:]]))["out"]
    kept = plans.run(op, Plan(compute="float16", saturate=True), gradOutput=grad, self=np.float16([2.9, *x[1:]]))["out"]
    assert plain.tolist()[0] == np.inf and plain.tolist()[3] == np.inf
    assert kept.tolist() == [65504.0, 1.0, 0.0, 65504.0]


def test_host_plan_is_the_kit_itself():
    for name in ("hardswish", "rms_norm", "grid_sampler_2d", "cross_entropy_loss", "group_norm_swish"):
        inputs = case(name, dtype="float32", seed=1).inputs
        ours, kit = plans.run(operator(name), HOST, **inputs), operator(name).backward(**inputs)
        for output in kit:  # sums in float64 may differ in their last bit, and with them the rounded number
            assert np.max(np.abs(ours[output] - kit[output]), initial=0) <= 2.0**-22 * np.max(np.abs(kit[output]))


def group_norm_inputs(scale, offset=0.0, dtype="float32"):
    inputs = case("group_norm_swish", dtype=dtype, seed=3, shape=(2, 4, 6), numGroups=2, swishScale=scale).inputs
    return inputs | {"x": inputs["x"] + np.float32(offset), "mean": inputs["mean"] + np.float32(offset)}


def test_the_scale_is_missing_before_9_1_in_one_factor():
    old, new = (plans.preset("group_norm_swish", "Ascend910B2", cann) for cann in ("9.1.0-beta.3", "9.1.0"))
    op = operator("group_norm_swish")
    for output in op.outputs:  # a scale of 1 cannot miss
        inputs = group_norm_inputs(1.0)
        assert np.array_equal(plans.run(op, old, **inputs)[output], plans.run(op, new, **inputs)[output])
    inputs = group_norm_inputs(2.0)
    dbeta = plans.run(op, old, **inputs)["dbetaOut"]
    for channel in range(4):
        total, right = mp.zero, mp.zero
        for n, k in itertools.product(range(2), range(6)):
            group = channel // 2
            xhat = (mp.mpf(float(inputs["x"][n, channel, k])) - mp.mpf(float(inputs["mean"][n, group]))) * mp.mpf(
                float(inputs["rstd"][n, group]))
            y = xhat * float(inputs["gamma"][channel]) + float(inputs["beta"][channel])
            e = mp.exp(-2 * y) + 1
            total += ((y - y / e) + 1) / e * float(inputs["dy"][n, channel, k])
            right += (2 * (y - y / e) + 1) / e * float(inputs["dy"][n, channel, k])
        assert abs(float(dbeta[channel]) - total) < 1e-5  # float32 against a difference of the formulas of order 0.1
        assert abs(total - right) > 1e-3


def test_xhat_of_the_device_cancels_where_the_mean_is_large():
    op, inputs = operator("group_norm_swish"), group_norm_inputs(1.0, offset=1000.0)
    truth = op.truth(**inputs)["dxOut"]
    errors = {page: np.max(np.abs(plans.run(op, Plan(page=page), **inputs)["dxOut"] - truth))
              for page in (None, device_pages.group_norm_swish)}
    assert errors[device_pages.group_norm_swish] > 20 * errors[None]


def test_coordinates_of_the_950_are_rounded_to_the_format_of_the_inputs():
    x, grad = np.float16(0.0373), np.float16(1.7)
    plan = plans.preset("grid_sampler_2d", "Ascend950PR_9579")
    out = plans.run(operator("grid_sampler_2d"), plan, gradOutput=np.full((1, 1, 1, 1), grad),
                    input=np.zeros((1, 1, 1, 64), np.float16), grid=np.float16([x, 0.0]).reshape(1, 1, 1, 2))
    u = rounded(((Fraction(float(x)) + 1) * 64 - 1) / 2, "float16")
    first = math.floor(u)
    expected = [rounded(Fraction(float(grad)) * rounded(w, "float16"), "float16") for w in (first + 1 - u, u - first)]
    assert out["inputGrad"][0, 0, 0, first:first + 2].astype(float).tolist() == expected
    exact = rounded(((Fraction(float(x)) + 1) * 64 - 1) / 2, "float32")
    assert abs(u - exact) > Fraction(1, 1000)  # the rounding is visible here


@pytest.mark.parametrize("soc", ["Ascend910B2", "Ascend950PR_9579"])
def test_nearest_has_no_grid_gradient_even_at_infinite_pixels(soc):
    out = plans.run(operator("grid_sampler_2d"), plans.preset("grid_sampler_2d", soc),
                    gradOutput=np.ones((1, 1, 1, 1), np.float32), input=np.full((1, 1, 2, 2), np.inf, np.float32),
                    grid=np.full((1, 1, 1, 2), 0.3, np.float32), interpolationMode=1)
    assert not out["gridGrad"].any()
    assert out["inputGrad"].ravel().tolist() == [0, 0, 0, 1]


def test_nan_of_the_tbe_hardswish_depends_on_the_format():
    op, plan = operator("hardswish"), plans.preset("hardswish", "Ascend910B2")
    for dtype, expected in (("float32", 1.0), ("bfloat16", 1.0), ("float16", np.nan)):
        out = plans.run(op, plan, gradOutput=round_to([5.0], dtype), self=round_to([np.nan], dtype))["out"]
        assert np.array_equal(out.astype(float), [expected], equal_nan=True)


@pytest.mark.parametrize("product", PRODUCTS, ids=str)
@pytest.mark.parametrize("cann", ["8.1.RC1", "9.0.1", "9.1", "9.2.0-beta.1"])
def test_every_preset_says_where_it_comes_from_and_runs(product, cann):
    for op in (operator(name) for name in plans._PRESETS):
        plan = plans.preset(op, product, cann)
        assert plan.saturate == (product.overflow_modes[0] == "saturate")
        assert all(note.source and str(note).startswith(("documented", "inferred")) for note in plan.notes)
        inputs = case(op, dtype="float32", seed=0).inputs
        assert plans.run(op, plan, **inputs).keys() == op.backward(**inputs).keys()


def test_an_emulated_device_predicts_its_product():
    soc, op = "Ascend950PR_9579", operator("grid_sampler_2d")
    inputs = case(op, dtype="float16", seed=0).inputs
    with Device("host", HostAcl(soc=soc, cann="9.1", backward=plans.predicting(soc, "9.1"))) as device:
        out = device.run(op, **inputs)
    expected = plans.run(op, plans.preset(op, soc, "9.1"), **inputs)
    assert all(np.array_equal(out[name], expected[name]) for name in expected)
    assert not np.array_equal(out["inputGrad"], op.backward(**inputs)["inputGrad"])


@pytest.mark.parametrize("name,soc,settings", [
    ("group_norm_swish", "Ascend910B2", {"rounding": "away", "leading": "shuffled", "reciprocal_mean": False}),
    ("group_norm_swish", "Ascend950PR_9579", {"rounding": "away", "leading": "sequential", "reciprocal_mean": True}),
    ("grid_sampler_2d", "Ascend910_9391", {"rounding": {"inputGrad": "away", "gridGrad": "even"},
                                           "scatter": {"float32": "shuffled"}}),
    ("grid_sampler_2d", "Ascend950PR_9579", {"rounding": "even", "atomics": "storage", "scatter": "shuffled"}),
    ("rms_norm", "Ascend910B2", {"rounding": "even", "leading": "shuffled", "reciprocal_mean": True, "cores": 48}),
    ("rms_norm", "Ascend950PR_9579", {"leading": "blocked"}),
    ("cross_entropy_loss", "Ascend910B3", {"rounding": "even", "order": "blocked", "cores": 40})])
def test_presets_hold_what_the_kernels_do(name, soc, settings):
    plan = plans.preset(name, soc, "9.1")
    assert {field: getattr(plan, field) for field in settings} == settings


def test_16_bit_atomics_of_the_950_lose_what_a_float32_workspace_keeps():
    op = operator("grid_sampler_2d")
    inputs = dict(gradOutput=np.float16([4096, 1, 1, 1]).reshape(1, 1, 1, 4), input=np.zeros((1, 1, 1, 1), np.float16),
                  grid=np.zeros((1, 1, 4, 2), np.float16), interpolationMode=1)
    sums = {soc: {float(plans.run(op, replace(plans.preset(op, soc), seed=seed), **inputs)["inputGrad"].item())
                  for seed in range(20)} for soc in ("Ascend910B2", "Ascend950PR_9579")}
    # The steps of float16 are 4 there: 1 + 1 + 1 + 4096 rounds to 4100, any 1 alone is lost on 4096.
    assert sums == {"Ascend910B2": {4100.0}, "Ascend950PR_9579": {4096.0, 4100.0}}


def test_only_the_float32_atomics_of_the_a2_have_no_fixed_order():
    op = operator("grid_sampler_2d")
    for dtype, fixed in (("float16", True), ("float32", False)):
        inputs = case(op, dtype=dtype, seed=2, shape=(1, 1, 2, 2), grid_shape=(16, 16)).inputs
        plan = replace(plans.preset(op, "Ascend910B2"), rounding="even")
        images = {plans.run(op, replace(plan, seed=seed), **inputs)["inputGrad"].tobytes() for seed in range(5)}
        assert (len(images) == 1) == fixed


def test_the_device_multiplies_by_a_rounded_third():
    x = np.random.default_rng(1).uniform(-3, 3, 300).astype(np.float32)
    inputs = dict(gradOutput=np.ones(300, np.float32), self=x)
    third = rounded(Fraction(1, 3), "float32")
    expected = [rounded(rounded(Fraction(float(v)) * third, "float32") + Fraction(1, 2), "float32") for v in x]
    for soc in ("Ascend910B2", "Ascend950PR_9579"):
        out = plans.run(operator("hardswish"), plans.preset("hardswish", soc), **inputs)["out"]
        assert out.astype(float).tolist() == [float(v) for v in expected]
    assert not np.array_equal(out, plans.run(operator("hardswish"), Plan(), **inputs)["out"])


def test_the_a2_counts_mirrors_by_a_reciprocal():
    xp = PlannedArrays(Plan(), "float32")
    u = xp.given(np.float32([41.0]))  # the mirror of 42 aligned pixels; 41 times the rounded 1/41 is below 1
    assert 41 * rounded(Fraction(1, 41), "float32") < 1
    (vector, vector_slope), (simt, simt_slope) = (device_pages._reflect(xp, u, 42, True, k) for k in (False, True))
    assert (vector.data.item(), simt.data.item()) == (41.0, 41.0)
    assert (vector_slope.data.item(), simt_slope.data.item()) == (1.0, -1.0)


def test_presets_label_what_is_inferred():
    inferred = {note.text for note in plans.preset("rms_norm", "Ascend910B2").notes if note.inferred}
    assert any("dealt to the cores" in text for text in inferred)
    assert any(not note.inferred for note in plans.preset("rms_norm", "Ascend910B2").notes)


@pytest.mark.parametrize("settings,asked", [
    ({"order": "random"}, "order must be one of"), ({"rounding": {"out": "up"}}, "rounding must be one of"),
    ({"scatter": "pairwise"}, "scatter must be one of"), ({"compute": "int8"}, "dtype must be a floating format"),
    ({"coordinates": "float16"}, "coordinates must be float32 or float64"), ({"tile": 0}, "tile must be at least 1")])
def test_a_wrong_plan_is_refused(settings, asked):
    with pytest.raises(ValueError, match=asked):
        Plan(**settings)


def test_float64_inputs_are_computed_in_float64():
    inputs = case("rms_norm", dtype="float64", seed=1).inputs
    out, kit = plans.run(operator("rms_norm"), Plan(), **inputs), operator("rms_norm").backward(**inputs)
    assert out["dxOut"].dtype == np.float64
    assert np.allclose(out["dxOut"], kit["dxOut"], rtol=1e-12, atol=1e-12)
