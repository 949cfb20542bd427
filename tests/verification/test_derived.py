"""JAX differentiates every page's forward and finds what its backward returns; a wrong backward is noticed."""

from dataclasses import replace

import pytest

import aclnn_viz as av
from aclnn_viz.operators.faults import faults
from aclnn_viz.verification import rates
from machine import sampled

pytestmark = pytest.mark.needs("jax")
OPERATORS = sampled(__name__)


def failures(op, backward=None):
    return [failure for _, failure in rates.differing(op, backward) if failure]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
@pytest.mark.sampled(8)
def test_the_gradient_of_forward_is_backward(op):
    assert failures(op) == []


@pytest.mark.parametrize(
    "op", [av.operator("hardswish"), av.operator("layer_norm")], ids=lambda op: op.name
)
def test_an_error_in_the_tenth_digit_is_noticed(op):
    off = failures(
        op,
        lambda **given: {name: value * (1 + 1e-10) for name, value in op.backward(**given).items()},
    )
    assert off and all(" off for {" in one for one in off)


def test_named_faults_of_a_page_are_noticed():
    op = av.operator("rms_norm")
    for wrong in [
        one for one in faults(op.name) if one.name in ("projection missing", "sigma for rstd")
    ]:
        assert failures(op, replace(op, page=wrong.page(op.page)).backward), wrong.name
