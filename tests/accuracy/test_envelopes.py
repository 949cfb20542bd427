"""Envelopes: the three verdicts, the expected width, overflow and nan, and the factors swept over 16-bit formats."""

import numpy as np
import pytest
from reference.exact import mp
from together import in_one

from aclnn_viz import case, operator
from aclnn_viz.accuracy.envelopes import Envelope, envelope, explain
from aclnn_viz.accuracy.sweeps import sweep_factor
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.checking import check
from aclnn_viz.dtypes import round_to, ulp
from aclnn_viz.operators import plans

BOUND = Envelope(
    np.zeros(4, np.float32),
    np.float64([0.0, 0.1, 0.1, np.inf]),
    np.zeros(4),
    np.array([False, False, True, False]),
)


def counts(actual, truth, env=BOUND):
    verdict = explain(np.float32(actual), np.float64(truth), env)
    return verdict.explained, verdict.not_explained, verdict.undecided


def test_the_three_verdicts_add_up():
    assert counts([1, 1.1, 5, 7], [1, 1.05, 1, 7]) == (3, 0, 1)
    assert counts([1 + 1e-6, 1.3, 5, 8], [1, 1.05, 1, 7]) == (0, 2, 2)


def test_a_correctly_rounded_number_is_explained_by_a_bound_of_zero():
    assert counts([np.float32(1 / 3), 1, 1, 1], [1 / 3, 1, 1, 1]) == (3, 0, 1)


def test_the_worst_element_is_the_farthest_beyond_its_bound():
    env = Envelope(
        np.zeros((2, 2), np.float32),
        np.float64([[1.0, 0.1], [2.0, 0.0]]),
        np.zeros((2, 2)),
        np.zeros((2, 2), bool),
    )
    verdict = explain(np.float32([[0.5, 1.5], [2.5, 0]]), np.zeros((2, 2)), env)
    assert (verdict.worst, verdict.excess) == ((0, 1), pytest.approx(15.0))
    assert verdict.region == ((0, 1), (0, 1))  # (0, 1) and (1, 0) are not explained
    assert "worst at (0, 1), 15 times the bound; all within [0..1, 0..1]" in str(verdict)


def test_nan_is_explained_by_nan_alone():
    env = Envelope(np.zeros(3, np.float32), np.zeros(3), np.zeros(3), np.zeros(3, bool))
    assert counts([np.nan, np.nan, 1], [np.nan, 1, np.nan], env) == (1, 2, 0)


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"must have one shape: got \(3,\), \(4,\) and \(4,\)"):
        explain(np.zeros(3), np.zeros(4), BOUND)


@pytest.mark.parametrize(
    "actual,truth,said",
    [
        (
            np.float16([1, 1, 1, 1]),
            np.ones(4),
            "actual must have the format of its envelope, float32: got float16",
        ),
        (
            np.ones(4),
            np.ones(4, np.float32),
            "got float64; swap the first two arguments: actual comes before truth",
        ),
        (np.ones(4), np.ones(4), "got float64; pass the output as the kernel returned it"),
        (np.ones(4, np.float32), np.ones(4, np.float32), "truth must be float64: got float32"),
    ],
    ids=range(4),
)
def test_formats_and_roles_must_agree(actual, truth, said):
    with pytest.raises(TypeError, match=said):
        explain(actual, truth, BOUND)


def test_the_old_group_norm_leaves_the_envelope_of_its_own_plan():
    op, plan = operator("group_norm_swish"), plans.preset("group_norm_swish", "Ascend910B2", "9.0")
    for scale, explained in ((1.0, True), (2.0, False)):
        inputs = case(
            op, dtype="float32", seed=1, shape=(2, 4, 64), numGroups=2, swishScale=scale
        ).inputs
        out, truth = plans.run(op, plan, **inputs), op.truth(**inputs)
        verdict = explain(out["dxOut"], truth["dxOut"], envelope(op, plan, **inputs)["dxOut"])
        assert (verdict.not_explained == 0) == explained and (
            explained or verdict.not_explained > 400
        )


EMPTY = [
    ("hardswish", {"shape": (0,)}),
    ("rms_norm", {"shape": (0, 4)}),
    ("cross_entropy_loss", {"shape": (0, 4)}),
    ("grid_sampler_2d", {"shape": (1, 2, 3, 3), "grid_shape": (0, 3)}),
]


@in_one
@pytest.mark.parametrize("name,shape", EMPTY, ids=str)
@pytest.mark.parametrize("soc", [None, "Ascend910B2", "Ascend950PR_9579"])
def test_empty_inputs_have_an_envelope_of_nothing(name, shape, soc):
    op, inputs = operator(name), case(name, dtype="float32", seed=0, **shape).inputs
    plan = plans.preset(op, soc) if soc else Plan(order="blocked")
    out, kit, envelopes = (
        plans.run(op, plan, **inputs),
        op.backward(**inputs),
        envelope(op, plan, **inputs),
    )
    for output in kit:
        assert out[output].shape == kit[output].shape == envelopes[output].bound.shape
        assert not out[output].any() and not envelopes[output].bound.any()


@in_one
@pytest.mark.parametrize(
    "name", ["hardswish", "rms_norm", "cross_entropy_loss", "group_norm_swish"]
)
@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_the_kit_is_explained_where_inputs_are_not_finite(name, special):
    op, inputs = operator(name), case(name, dtype="float32", seed=1).inputs
    tensor = inputs[
        "self" if name == "hardswish" else "logProb" if name == "cross_entropy_loss" else "dy"
    ]
    tensor.reshape(-1)[::7] = special
    out, truth, envelopes = op.backward(**inputs), op.truth(**inputs), envelope(op, **inputs)
    assert all(
        explain(out[output], truth[output], envelopes[output]).not_explained == 0 for output in out
    )


def test_an_overflow_is_explained_when_the_truth_overflows_too():
    op = operator("hardswish")
    inputs = dict(gradOutput=np.float16([6e4, 6e4]), self=np.float16([3.0, 2.0]))  # 9e4 and 7e4
    out, truth, env = (
        op.backward(**inputs)["out"],
        op.truth(**inputs)["out"],
        envelope(op, **inputs)["out"],
    )
    assert np.isinf(out).all() and explain(out, truth, env).explained == 2
    assert explain(np.float16([1, 1]), truth, env).explained == 0


def test_a_saturated_result_is_open():
    op, inputs = operator("hardswish"), dict(gradOutput=np.float16([6e4]), self=np.float16([3.0]))
    plan = plans.preset(op, "Ascend910A")
    out, env = plans.run(op, plan, **inputs)["out"], envelope(op, plan, **inputs)["out"]
    assert out.item() == 65504 and explain(out, np.float64([9e4]), env).undecided == 1


def test_a_group_survives_an_exponential_that_overflows():
    inputs = case(
        "group_norm_swish", dtype="float32", seed=1, shape=(1, 2, 32), numGroups=2, swishScale=200.0
    ).inputs
    plan = plans.preset("group_norm_swish", "Ascend910B2", "9.1")
    env = envelope(operator("group_norm_swish"), plan, **inputs)["dxOut"]
    assert np.isfinite(env.bound).all() and not env.undecided.any()
    out = plans.run(operator("group_norm_swish"), plan, **inputs)["dxOut"]
    assert (
        explain(out, operator("group_norm_swish").truth(**inputs)["dxOut"], env).not_explained == 0
    )


def test_a_sigmoid_survives_it_too():
    """1 is added in front of the exponential, whose elements were unknown, and a nan passed."""
    op, inputs = operator("silu"), dict(gradOutput=np.float32([1, 1]), self=np.float32([100, -100]))
    env, truth = envelope(op, **inputs)["gradInput"], op.truth(**inputs)["gradInput"]
    assert explain(op.backward(**inputs)["gradInput"], truth, env).explained == 2
    assert explain(np.float32([np.nan, 1e-30]), truth, env).not_explained == 2
    made = case("silu", self=inputs["self"])
    assert check(
        "silu",
        lambda **given: op.backward(**given)["gradInput"] * np.float32([np.nan, 1]),
        cases=[made],
    ).failed


@pytest.mark.parametrize(
    "name,output",
    [
        ("rms_norm", "dxOut"),
        ("group_norm_swish", "dgammaOut"),
        ("grid_sampler_2d", "gridGrad"),
        ("rms_norm", "dgammaOut"),
    ],
)
def test_the_expected_width_holds_nearly_all_and_is_narrower_than_the_bound(name, output):
    shape = {
        "rms_norm": {"shape": (256, 256)},
        "group_norm_swish": {"shape": (4, 256, 64), "numGroups": 4},
        "grid_sampler_2d": {"shape": (1, 16, 32, 32), "grid_shape": (64, 64)},
    }[name]
    op, plan, inputs = operator(name), Plan(), case(name, dtype="float32", seed=6, **shape).inputs
    env = envelope(op, plan, **inputs)[output]
    error = np.abs(plans.run(op, plan, **inputs)[output] - op.truth(**inputs)[output])
    inside = error[~env.undecided] <= env.expected[~env.undecided]
    # Six standard deviations, of errors that are uniform and not quite independent.
    assert inside.mean() > 0.999
    assert np.median(env.expected) < 0.7 * np.median(env.bound)
    # a smaller bound would show a lost digit
    assert np.median(env.expected[error > 0] / error[error > 0]) < 40


def test_float64_envelope_is_that_of_float64():
    inputs = case("rms_norm", dtype="float64", seed=1).inputs
    env = envelope(operator("rms_norm"), Plan(), **inputs)["dxOut"]
    assert env.value.dtype == np.float64 and np.all(env.bound < 1e-12)


def slope_at_50_digits(factor, x):
    x = mp.mpf(x)
    if factor == "hardswish":
        return mp.zero if x < -3 else mp.one if x > 3 else x / 3 + mp.mpf(1) / 2
    sigmoid = 1 / (1 + mp.exp(-x))
    return sigmoid * (1 + x * (1 - sigmoid))


@pytest.mark.parametrize("factor", ["hardswish", "swish"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_every_16_bit_input_of_the_factors(factor, dtype):
    result = sweep_factor(factor, dtype)
    assert result.size + result.special_size == 1 << 16
    # computed in float32, rounded once
    assert result.max_ulp <= 1 and result.ulp_counts["exact"] >= 0.999 * result.size
    rough = sweep_factor(factor, dtype, Plan(compute=dtype, accumulate=dtype))
    assert rough.max_ulp > 3  # 16-bit computation loses digits where the slope crosses zero
    right = slope_at_50_digits(factor, rough.worst_input)
    assert abs(rough.worst_truth - right) <= 1e-12 * max(1, abs(right))
    assert abs(rough.worst_output - right) > 2 * ulp(float(right), dtype)


def test_a_wrong_factor_is_refused():
    with pytest.raises(ValueError, match="factor must be one of hardswish, swish: got 'relu'"):
        sweep_factor("relu", "float16")
    with pytest.raises(ValueError, match="16-bit"):
        sweep_factor("swish", "float32")


def test_storage_rounding_of_the_inputs_is_in_the_bound():
    op = operator("hardswish")
    x = np.random.default_rng(1).uniform(-2.9, 2.9, 1000).astype(np.float32)
    inputs, plan = dict(gradOutput=np.ones(1000, np.float32), self=x), Plan(storage="bfloat16")
    out, truth = plans.run(op, plan, **inputs)["out"], op.truth(**inputs)["out"]
    rounded = {name: round_to(array, "bfloat16") for name, array in inputs.items()}
    assert out.dtype == rounded["self"].dtype
    assert explain(out, truth, envelope(op, plan, **inputs)["out"]).not_explained == 0
    assert explain(out, truth, envelope(op, plan, **rounded)["out"]).not_explained > 100
