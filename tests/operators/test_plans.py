"""Predictions of the products' plans: the numerics of the device kernels, and the sources of that knowledge."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from arrays.scalar_rounding import rounded
from machine import taught
from reference.exact import mp

from aclnn_viz import case, operator
from aclnn_viz.accuracy.envelopes import envelope, explain
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.arrays.plan_arrays import PlannedArrays
from aclnn_viz.dtypes import round_to
from aclnn_viz.operators import plans
from aclnn_viz.operators.families import sampling_plans
from aclnn_viz.operators.grid_sampler_2d.page import pixel
from aclnn_viz.operators.grid_sampler_3d.page import voxel
from aclnn_viz.operators.group_norm_swish import plans as norm_plans
from aclnn_viz.operators.products import READ


def group_norm_inputs(scale, offset=0.0, dtype="float32"):
    inputs = case(
        "group_norm_swish", dtype=dtype, seed=3, shape=(2, 4, 6), numGroups=2, swishScale=scale
    ).inputs
    return inputs | {
        "x": inputs["x"] + np.float32(offset),
        "mean": inputs["mean"] + np.float32(offset),
    }


def test_the_scale_is_missing_before_9_1_in_one_factor():
    old, new = (
        plans.preset("group_norm_swish", "Ascend910B2", cann) for cann in ("9.1.0-beta.3", "9.1.0")
    )
    op = operator("group_norm_swish")
    for output in op.outputs:  # a scale of 1 cannot be missed
        inputs = group_norm_inputs(1.0)
        assert np.array_equal(
            plans.run(op, old, **inputs)[output], plans.run(op, new, **inputs)[output]
        )
    inputs = group_norm_inputs(2.0)
    dbeta = plans.run(op, old, **inputs)["dbetaOut"]
    for channel in range(4):
        total, right = mp.zero, mp.zero
        for n, k in itertools.product(range(2), range(6)):
            group = channel // 2
            xhat = (
                mp.mpf(float(inputs["x"][n, channel, k])) - mp.mpf(float(inputs["mean"][n, group]))
            ) * mp.mpf(float(inputs["rstd"][n, group]))
            y = xhat * float(inputs["gamma"][channel]) + float(inputs["beta"][channel])
            e = mp.exp(-2 * y) + 1
            total += ((y - y / e) + 1) / e * float(inputs["dy"][n, channel, k])
            right += (2 * (y - y / e) + 1) / e * float(inputs["dy"][n, channel, k])
        # float32 against a difference of the formulas of order 0.1
        assert abs(float(dbeta[channel]) - total) < 1e-5
        assert abs(total - right) > 1e-3


def test_xhat_of_the_device_cancels_where_the_mean_is_large():
    op, inputs = operator("group_norm_swish"), group_norm_inputs(1.0, offset=1000.0)
    truth = op.truth(**inputs)["dxOut"]
    errors = {
        page: np.max(np.abs(plans.run(op, Plan(page=page), **inputs)["dxOut"] - truth))
        for page in (None, norm_plans.page)
    }
    assert errors[norm_plans.page] > 20 * errors[None]


def test_coordinates_of_the_950_are_rounded_to_the_format_of_the_inputs():
    x, grad = np.float16(0.0373), np.float16(1.7)
    plan = plans.preset("grid_sampler_2d", "Ascend950PR_9579")
    out = plans.run(
        operator("grid_sampler_2d"),
        plan,
        gradOutput=np.full((1, 1, 1, 1), grad),
        input=np.zeros((1, 1, 1, 64), np.float16),
        grid=np.float16([x, 0.0]).reshape(1, 1, 1, 2),
    )
    u = rounded(((Fraction(float(x)) + 1) * 64 - 1) / 2, "float16")
    first = math.floor(u)
    expected = [
        rounded(Fraction(float(grad)) * rounded(w, "float16"), "float16")
        for w in (first + 1 - u, u - first)
    ]
    assert out["inputGrad"][0, 0, 0, first : first + 2].astype(float).tolist() == expected
    exact = rounded(((Fraction(float(x)) + 1) * 64 - 1) / 2, "float32")
    assert abs(u - exact) > Fraction(1, 1000)  # the rounding is visible here


@pytest.mark.parametrize("soc", ["Ascend910B2", "Ascend950PR_9579"])
def test_nearest_has_no_grid_gradient_even_at_infinite_pixels(soc):
    out = plans.run(
        operator("grid_sampler_2d"),
        plans.preset("grid_sampler_2d", soc),
        gradOutput=np.ones((1, 1, 1, 1), np.float32),
        input=np.full((1, 1, 2, 2), np.inf, np.float32),
        grid=np.full((1, 1, 1, 2), 0.3, np.float32),
        interpolationMode=1,
    )
    assert not out["gridGrad"].any()
    assert out["inputGrad"].ravel().tolist() == [0, 0, 0, 1]


def test_nan_of_the_tbe_hardswish_depends_on_the_format():
    op, plan = operator("hardswish"), plans.preset("hardswish", "Ascend910B2")
    for dtype, expected in (("float32", 1.0), ("bfloat16", 1.0), ("float16", np.nan)):
        out = plans.run(
            op, plan, gradOutput=round_to([5.0], dtype), self=round_to([np.nan], dtype)
        )["out"]
        assert np.array_equal(out.astype(float), [expected], equal_nan=True)


@pytest.mark.parametrize("product", READ, ids=str)
@pytest.mark.parametrize("cann", ["8.1.RC1", "9.0.1", "9.1", "9.2.0-beta.1"])
@pytest.mark.sampled(10)
def test_every_preset_says_where_it_comes_from_and_runs(product, cann):
    for op in taught():
        plan = plans.preset(op, product, cann)
        assert plan.saturate == (product.overflow_modes[0] == "saturate")
        assert all(
            note.source and str(note).startswith(("documented", "inferred")) for note in plan.notes
        )
        inputs = case(op, dtype="float32", seed=0).inputs
        assert plans.run(op, plan, **inputs).keys() == op.backward(**inputs).keys()


@pytest.mark.parametrize(
    "name,soc,settings",
    [
        (
            "group_norm_swish",
            "Ascend910B2",
            {"rounding": "away", "leading": "shuffled", "reciprocal_mean": False},
        ),
        (
            "group_norm_swish",
            "Ascend950PR_9579",
            {"rounding": "away", "leading": "sequential", "reciprocal_mean": True},
        ),
        (
            "grid_sampler_2d",
            "Ascend910_9391",
            {
                "rounding": {"inputGrad": "away", "gridGrad": "even"},
                "scatter": {"float32": "shuffled"},
            },
        ),
        (
            "grid_sampler_2d",
            "Ascend950PR_9579",
            {"rounding": "even", "atomics": "storage", "scatter": "shuffled"},
        ),
        (
            "rms_norm",
            "Ascend910B2",
            {"rounding": "even", "leading": "shuffled", "reciprocal_mean": True, "cores": 48},
        ),
        ("rms_norm", "Ascend950PR_9579", {"leading": "blocked"}),
        (
            "cross_entropy_loss",
            "Ascend910B3",
            {"rounding": "even", "order": "blocked", "cores": 40},
        ),
    ],
)
def test_presets_hold_what_the_kernels_do(name, soc, settings):
    plan = plans.preset(name, soc, "9.1")
    assert {field: getattr(plan, field) for field in settings} == settings


def test_16_bit_atomics_of_the_950_lose_what_a_float32_workspace_keeps():
    op = operator("grid_sampler_2d")
    inputs = dict(
        gradOutput=np.float16([4096, 1, 1, 1]).reshape(1, 1, 1, 4),
        input=np.zeros((1, 1, 1, 1), np.float16),
        grid=np.zeros((1, 1, 4, 2), np.float16),
        interpolationMode=1,
    )
    sums = {
        soc: {
            float(
                plans.run(op, replace(plans.preset(op, soc), seed=seed), **inputs)[
                    "inputGrad"
                ].item()
            )
            for seed in range(20)
        }
        for soc in ("Ascend910B2", "Ascend950PR_9579")
    }
    # The steps of float16 are 4 there: 1 + 1 + 1 + 4096 rounds to 4100, any 1 alone is lost on 4096.
    assert sums == {"Ascend910B2": {4100.0}, "Ascend950PR_9579": {4096.0, 4100.0}}


def test_only_the_float32_atomics_of_the_a2_have_no_fixed_order():
    op = operator("grid_sampler_2d")
    for dtype, fixed in (("float16", True), ("float32", False)):
        inputs = case(op, dtype=dtype, seed=2, shape=(1, 1, 2, 2), grid_shape=(16, 16)).inputs
        plan = replace(plans.preset(op, "Ascend910B2"), rounding="even")
        images = {
            plans.run(op, replace(plan, seed=seed), **inputs)["inputGrad"].tobytes()
            for seed in range(5)
        }
        assert (len(images) == 1) == fixed


def test_the_device_multiplies_by_a_rounded_third():
    x = np.random.default_rng(1).uniform(-3, 3, 300).astype(np.float32)
    inputs = dict(gradOutput=np.ones(300, np.float32), self=x)
    third = rounded(Fraction(1, 3), "float32")
    expected = [
        rounded(rounded(Fraction(float(v)) * third, "float32") + Fraction(1, 2), "float32")
        for v in x
    ]
    for soc in ("Ascend910B2", "Ascend950PR_9579"):
        out = plans.run(operator("hardswish"), plans.preset("hardswish", soc), **inputs)["out"]
        assert out.astype(float).tolist() == [float(v) for v in expected]
    assert not np.array_equal(out, plans.run(operator("hardswish"), Plan(), **inputs)["out"])


def test_the_a2_counts_mirrors_by_a_reciprocal():
    xp = PlannedArrays(Plan(), "float32")
    # the mirror of 42 aligned pixels; 41 times the rounded 1/41 is below 1
    u = xp.given(np.float32([41.0]))
    assert 41 * rounded(Fraction(1, 41), "float32") < 1
    (vector, vector_slope), (simt, simt_slope) = (
        sampling_plans._reflect(xp, u, 42, True, k) for k in (False, True)
    )
    assert (vector.data.item(), simt.data.item()) == (41.0, 41.0)
    assert (vector_slope.data.item(), simt_slope.data.item()) == (1.0, -1.0)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_no_format_rounds_the_number_of_a_pixel(dtype):
    """Places that 8 bits hold, in an image of more pixels than 24 bits count."""
    xp, (height, width) = PlannedArrays(Plan(compute=dtype), dtype), (256, (1 << 17) + 1)
    rows, columns = np.meshgrid(
        np.float32([0, 3, 129, 255]), np.float32([0, 1, 255]), indexing="ij"
    )
    places, wanted = (
        [xp.given(at.reshape(1, -1)) for at in (rows, columns)],
        (rows.astype(int) * width + columns.astype(int)).ravel(),
    )
    for numbered in (
        pixel(xp, *places, (height, width)),
        voxel(xp, [xp.zeros((1, 12), np.float32), *places], (1, height, width)),
    ):
        assert numbered[0].tolist() == wanted.tolist() and numbered[1].all()


@pytest.mark.parametrize(
    ("compute", "accumulate"), [("bfloat16", "float16"), ("float16", "bfloat16")]
)
def test_two_formats_of_which_neither_holds_the_other_meet_in_float32(compute, accumulate):
    xp = PlannedArrays(Plan(compute=compute, accumulate=accumulate), "float16")
    terms = xp.given(np.float16([[0.1], [0.7], [1.3]]))
    total = xp.sum(terms, axis=0)
    assert (total.dtype.name, terms.dtype.name) == (accumulate, compute) and (
        total * terms
    ).dtype == np.float32
    assert (total * terms).data.tolist() == (
        np.float32(total.data) * np.float32(terms.data)
    ).tolist()
    op, inputs = operator("grid_sampler_2d"), case("grid_sampler_2d", dtype="float16").inputs
    plan = replace(plans.preset(op, "Ascend910B2"), compute=compute, accumulate=accumulate)
    out, truth, bounds = (
        plans.run(op, plan, **inputs),
        op.truth(**inputs),
        envelope(op, plan, **inputs),
    )
    assert [explain(out[name], truth[name], bounds[name]).not_explained for name in truth] == [0, 0]


def test_presets_label_what_is_inferred():
    inferred = {
        note.text for note in plans.preset("rms_norm", "Ascend910B2").notes if note.inferred
    }
    assert any("dealt to the cores" in text for text in inferred)
    assert any(not note.inferred for note in plans.preset("rms_norm", "Ascend910B2").notes)
