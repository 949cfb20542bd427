"""Bounds are tight enough to plot, and few random points are undecided; a loose bound has a shown reason."""

from itertools import product

import numpy as np
import pytest
from arrays.bounds import PLANS, judged
from machine import SOAK

from aclnn_viz import case, operator
from aclnn_viz.accuracy.envelopes import envelope
from aclnn_viz.arrays.bounds import BoundedArrays
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.dtypes import float_format, round_to

SAMPLER = {"shape": (1, 2, 16, 16), "grid_shape": (20, 20)}
TIGHT = {
    "hardswish": (["out"], {"shape": (4_000,)}),
    "rms_norm": (["dxOut"], {"shape": (4, 1024)}),
    "layer_norm": (["gradInputOut"], {"shape": (4, 1024), "normalizedShape": (1024,)}),
    "grid_sampler_3d": (
        ["inputGrad", "gridGrad"],
        {"shape": (1, 2, 8, 8, 8), "grid_shape": (8, 8, 8)},
    ),
    "group_norm_swish": (["dxOut"], {"shape": (2, 8, 8, 8), "numGroups": 2}),
    "cross_entropy_loss": (["xGradOut"], {"shape": (16, 256)}),
    "grid_sampler_2d": (["inputGrad", "gridGrad"], SAMPLER),
    "bicubic": (["inputGrad", "gridGrad"], SAMPLER | {"interpolationMode": 2}),
}
DEVICES = ("host", "float32", "A2", "910", "950")
SIXTEEN = ("float16", "bfloat16")


def ratios(name, plan, inputs):
    """Return {output: the median of bound / error over the elements with an error}."""
    return {
        output: np.median(found.ratio)
        for output, found in judged(name, PLANS[plan](name), inputs).items()
        if found.ratio.size
    }


@pytest.mark.parametrize("name,plan,dtype", [*product(TIGHT, DEVICES, SIXTEEN)])
@pytest.mark.sampled(7)
def test_bound_is_tight_for_16_bit_outputs(name, plan, dtype):
    outputs, options = TIGHT[name]
    # bicubic weights: 25 terms a pixel, which the 950 adds up in 16 bits
    op, most = ("grid_sampler_2d", 5) if name == "bicubic" else (name, 4)
    found = ratios(op, plan, case(op, dtype=dtype, seed=3, **options).inputs)
    for output in outputs:  # half a step of the format against a uniform error: 2
        assert 1 <= found[output] <= most, output


@pytest.mark.parametrize(
    "plan,mode,dtype",
    [
        *product(("host", "float32", "A2", "950"), (0, 1, 2), ("float32",)),
        *product(("950",), (0, 1, 2), SIXTEEN),
    ],
)
@pytest.mark.sampled(6)
def test_few_random_points_are_undecided(plan, mode, dtype):
    rng, side = np.random.default_rng(5), 256 if SOAK else 128
    draw = {
        "gradOutput": rng.standard_normal((1, 1, side, side)),
        "input": rng.standard_normal((1, 1, 128, 128)),
        "grid": rng.uniform(-1.1, 1.1, (1, side, side, 2)),
    }
    inputs = case(
        "grid_sampler_2d",
        dtype=dtype,
        interpolationMode=mode,
        shape=(1, 1, 128, 128),
        grid_shape=(side, side),
        **draw,
    ).inputs
    envelopes = envelope(operator("grid_sampler_2d"), PLANS[plan]("grid_sampler_2d"), **inputs)
    assert envelopes["gridGrad"].undecided.any(axis=-1).mean() < 1e-3


def test_a_point_that_a_rounded_coordinate_moves_to_another_pixel_is_explained_by_the_bound():
    """1.75 pixels are 1.75 in bfloat16, 65.75 are 66: the gradient by the grid jumps, and the bound covers the jump."""
    inputs = dict(
        gradOutput=np.ones((1, 1, 1, 2), np.float32),
        grid=np.zeros((1, 1, 2, 2), np.float32),
        input=(np.arange(128) % 2).reshape(1, 1, 1, 128).astype(np.float32),
    )
    inputs["grid"][..., 0] = (2 * np.float32([1.75, 65.75]) + 1) / 128 - 1
    inputs = {name: value.astype(np.dtype("bfloat16")) for name, value in inputs.items()}
    found = judged("grid_sampler_2d", PLANS["950"]("grid_sampler_2d"), inputs)["gridGrad"]
    assert not found.envelope.undecided.any()
    error, bound = found.error[0, 0, :, 0], found.envelope.bound[0, 0, :, 0]
    # slopes of 64 a pixel: one up, one down
    assert error.tolist() == [0, 128] and 128 <= bound[1] < 129


def worst_order(terms, dtype):
    """Return the largest error of a sum in some order: terms of one sign first, each time the one with the best rounding."""
    found = 0.0
    for sign, first in product((1.0, -1.0), repeat=2):
        left, total = terms.astype(np.float64), 0.0
        while left.size:
            choice = np.flatnonzero(np.sign(left) == first)
            choice = choice if choice.size else np.arange(left.size)
            sums = total + left[choice]
            rounded = round_to(sums, dtype).astype(np.float64)
            at = np.argmax(sign * (rounded - sums))
            total, left = rounded[at], np.delete(left, choice[at])
        found = max(found, abs(total - terms.astype(np.float64).sum()))
    return found


@pytest.mark.parametrize("dtype", SIXTEEN)
@pytest.mark.parametrize("count,gap", [(16, 3), (64, 15), (256, 50)])
def test_the_bound_of_a_sum_in_any_order_cannot_be_near_the_usual_error(dtype, count, gap):
    """256 terms that atomics add up in 16 bits: some order errs a hundred times as much as the usual one does."""
    rng, over, needed = np.random.default_rng(count), [], []
    for seed in range(20 if SOAK else 10):
        terms = round_to(rng.standard_normal(count) * rng.uniform(0, 1, count) ** 2, dtype)
        xp = BoundedArrays(
            Plan(compute=dtype, accumulate=dtype, scatter="shuffled", seed=seed), dtype
        )
        image = xp.zeros((1, 1), float_format(dtype).numpy)
        total = xp.scatter_add(image, np.zeros(count, np.int64), xp.given(terms[np.newaxis]))
        usual, worst = (
            abs(total.wide.item() - terms.astype(np.float64).sum()),
            worst_order(terms, dtype),
        )
        assert worst <= total.error.item()
        over.append(total.error.item() / worst)
        needed.append(worst / max(usual, np.finfo(np.float64).tiny))
    assert np.median(needed) > gap and np.median(over) < 15
