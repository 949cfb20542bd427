"""Faults leave the bound where they matter, and the same kernel without its fault stays inside.

Each kernel is right but for one of them, in float64, so that only the fault shows.
"""

import numpy as np
import pytest
from arrays.exact_truth import TRUTHS
from arrays.fixed_point import rounded

from aclnn_viz import case, operator
from aclnn_viz.accuracy.envelopes import envelope, explain
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.dtypes import round_to


def rms_norm_kernel(dy, x, rstd, gamma, divisor=None, with_gamma=True):
    dy, x, rstd, gamma = (a.astype(np.float64) for a in (dy, x, rstd, gamma))
    scaled = dy * gamma if with_gamma else dy
    mean = (scaled * x * rstd).sum(axis=1, keepdims=True) / (
        x.shape[1] if divisor is None else divisor
    )
    return rstd * (scaled - x * rstd * mean)


@pytest.mark.parametrize(
    "fault,dtype,least",
    [
        (dict(divisor=1), "float32", 0.99),
        (dict(divisor=1), "float16", 0.95),
        (dict(with_gamma=False), "float32", 0.98),
        (dict(with_gamma=False), "bfloat16", 0.95),
        (dict(divisor=255), "float32", 0.8),
        ({}, "float32", 0.0),
    ],
    ids=str,
)
def test_faults_of_rms_norm_leave_the_bound(fault, dtype, least):
    inputs = case("rms_norm", dtype=dtype, seed=2, shape=(16, 256)).inputs
    wrong = round_to(rms_norm_kernel(**inputs, **fault), dtype)
    truth, env = (
        rounded(TRUTHS["rms_norm"](**inputs)["dxOut"]),
        envelope(operator("rms_norm"), **inputs)["dxOut"],
    )
    verdict = explain(wrong, truth, env)
    assert verdict.not_explained >= least * wrong.size and bool(verdict.not_explained) == bool(
        fault
    )


def test_a_wrong_reflection_sign_leaves_the_bound():
    inputs = case(
        "grid_sampler_2d",
        dtype="float32",
        seed=2,
        shape=(1, 3, 9, 9),
        grid_shape=(16, 16),
        paddingMode=2,
    ).inputs
    # one mirror away
    inputs["grid"] = np.random.default_rng(2).uniform(1.05, 2.9, (1, 16, 16, 2)).astype(np.float32)
    truth = rounded(TRUTHS["grid_sampler_2d"](**inputs)["gridGrad"]).reshape(inputs["grid"].shape)
    env = envelope(operator("grid_sampler_2d"), Plan(), **inputs)["gridGrad"]
    inner = truth != 0  # the border, where the multiplier is 0, has no sign
    right, wrong = (explain(round_to(sign * truth, "float32"), truth, env) for sign in (1, -1))
    assert inner.mean() > 0.8
    assert right.not_explained == 0 and wrong.not_explained == inner.sum()
