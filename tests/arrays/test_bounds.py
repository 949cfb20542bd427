"""The rigorous bound holds next to ties, in every order of atomics, and claims nothing after a nan."""

import importlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from arrays.bound_cases import CASES, PLAIN
from arrays.bounds import PLANS, against, planned
from arrays.exact_truth import TRUTHS
from arrays.fixed_point import rounded

from aclnn_viz import case, operator
from aclnn_viz.accuracy.envelopes import envelope, explain
from aclnn_viz.dtypes import round_to
from aclnn_viz.operators import plans


@pytest.mark.parametrize("dtype,size", [("bfloat16", 258), ("float16", 2050)])
@pytest.mark.parametrize("mode", range(3))
def test_bound_covers_either_rounding_of_a_coordinate_next_to_a_tie(dtype, size, mode):
    """The centre lies between two numbers of the format: float32 rounds it to even, float64 to the side of x."""
    rng, plan = (
        np.random.default_rng(mode),
        replace(PLANS["950"]("grid_sampler_2d"), atomics="float32"),
    )
    grid = rng.uniform(-1, 1, (1, 1, 64, 2))
    grid[..., ::2, 0] = 2.0**-24  # 1 + x is 1 in float32
    draw = rng.standard_normal
    inputs = dict(
        gradOutput=round_to(draw((1, 2, 1, 64)), dtype),
        input=round_to(draw((1, 2, 2, size)), dtype),
        grid=round_to(grid, dtype),
        interpolationMode=mode,
    )
    double = replace(plan, compute="float64", accumulate="float64", atomics=None)
    op, truths = operator("grid_sampler_2d"), TRUTHS["grid_sampler_2d"](**inputs)
    outs, envelopes = (
        [plans.run(op, p, **inputs) for p in (plan, double)],
        envelope(op, plan, **inputs),
    )
    apart = np.abs(
        outs[0]["inputGrad"].astype(np.float64) - outs[1]["inputGrad"].astype(np.float64)
    )
    assert apart.max() > 0.1  # the terms of some points fell elsewhere
    for output, env in envelopes.items():
        for out in outs:
            assert not len(against(out[output].astype(np.float64), env, truths[output]).missed), (
                output
            )
        assert env.undecided.mean() < 0.6
    assert envelopes["inputGrad"].undecided.any()


@pytest.mark.parametrize("name", ["rms_norm", "grid_sampler_2d"])
def test_one_envelope_holds_for_every_order_of_the_atomics(name):
    plan, inputs = PLANS["A2"](name), case(name, dtype="float32", seed=4).inputs
    envelopes, truths, seen = (
        envelope(operator(name), plan, **inputs),
        TRUTHS[name](**inputs),
        set(),
    )
    output = {"rms_norm": "dgammaOut", "grid_sampler_2d": "inputGrad"}[name]
    for seed in range(10):
        out = plans.run(operator(name), replace(plan, seed=seed), **inputs)[output]
        seen.add(out.tobytes())
        assert (
            explain(
                out, rounded(truths[output]).reshape(out.shape), envelopes[output]
            ).not_explained
            == 0
        )
    assert len(seen) > 1


@pytest.mark.parametrize(
    "name", ["hardswish", "rms_norm", "layer_norm", "cross_entropy_loss", "group_norm_swish"]
)
def test_nothing_is_claimed_of_what_a_nan_reaches(name):
    """A product that reads nan as 0 returns numbers there; the formula has none."""
    inputs = CASES[name](np.random.default_rng(3), "float32", 200, PLAIN)
    list(inputs.values())[0].reshape(-1)[::50] = np.nan
    truths, lost = importlib.import_module(f"reference.{name}").backward(**inputs), 0
    for plan in PLANS:
        out, envelopes = planned(name, PLANS[plan](name), inputs)
        for output, truth in truths.items():
            env, missing = (
                envelopes[output],
                ~np.isfinite(truth.astype(np.float64)).reshape(out[output].shape),
            )
            assert not (
                missing
                & ~env.undecided
                & np.isfinite(out[output].astype(float))
                & np.isfinite(env.bound)
            ).any()
            lost += missing.sum()
    assert lost


@pytest.mark.parametrize("shape", [(16384, 2), (8192, 4), (2048, 16)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tall_sums_of_the_kit_stay_within_its_own_bound(shape, dtype):
    """Terms of one sign: added row by row, they would err by far more than a tree may."""
    rng, op = np.random.default_rng(0), operator("rms_norm")
    dy, x = (rng.uniform(0.5, 1, shape).astype(dtype) for _ in range(2))
    inputs = dict(dy=dy, x=x, gamma=np.ones(shape[1], dtype), rstd=np.ones((shape[0], 1), dtype))
    out, env = op.backward(**inputs)["dgammaOut"], envelope(op, **inputs)["dgammaOut"]
    assert np.array_equal(out, env.value) and not env.undecided.any()
    # all from 1/2 to 1
    first, second = ((factor * 2.0**53).astype(np.int64).astype(object) for factor in (dy, x))
    for got, total, bound in zip(out.tolist(), (first * second).sum(axis=0), env.bound.tolist()):
        right = Fraction(total, 2**106)
        assert (
            abs(Fraction(got) - right)
            <= Fraction(bound)
            <= 40 * Fraction(float(np.finfo(dtype).eps)) * right
        )


def test_bound_does_not_underflow_with_the_numbers():
    """2e-162 * 1.2e-162 is no float64 number, and comes back when it is multiplied by 1e300."""
    inputs = dict(
        dy=np.float64([[2e-162, 0]]),
        gamma=np.float64([1.2e-162, 1]),
        rstd=np.float64([[1e300]]),
        x=np.float64([[0.4e-300, 1e-295]]),
    )
    (d, _), (g, _), (r,), (x, y) = (
        [Fraction(v) for v in inputs[name].ravel().tolist()]
        for name in ("dy", "gamma", "rstd", "x")
    )
    right = -y * r * (d * g * x * r / 2) * r
    found = envelope(operator("rms_norm"), **inputs)["dxOut"]
    assert found.value[0, 1] == 0 and right < -4e-20
    assert abs(right) <= Fraction(found.bound[0, 1]) < 100 * abs(right)
