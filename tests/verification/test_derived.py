"""JAX differentiates every page's forward and finds what its backward returns; a wrong backward is noticed."""

from dataclasses import replace

import numpy as np
import pytest
from machine import sampled
from rounding_bounds import magnitudes

import aclnn_viz as av
from aclnn_viz.arrays.jax_arrays import derived, evaluated
from aclnn_viz.cases import case, default
from aclnn_viz.cases.default import Draw
from aclnn_viz.dtypes import FLOAT64
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.parameters import REQUIRED, bind

UNIT = 2.0**-45  # of 53 digits: sums of thousands of terms, in other orders, and rstd computed anew
pytestmark = pytest.mark.needs("jax")
OPERATORS = sampled(__name__)


def drawn(op, rng, mode):
    """Return the forward inputs in float64, upstream gradients, and the matching inputs of backward."""
    options = default.fitted(op, mode | {"shape": default.default_shape(op)})
    seed, shape = int(rng.integers(2**31)), options.pop("shape")
    attributes = [p for p in op.parameters if p.name in op.attributes]
    stated = {p.name: p.default for p in attributes if p.default is not REQUIRED} | options
    usual = case(op, dtype="float64", shape=shape, seed=seed, **stated).inputs
    fixed = {
        name: value
        for name, value in usual.items()
        if value is not None and getattr(value, "dtype", None) != np.float64
    }
    source = Draw(FLOAT64, seed, fixed | options, kinks=False)
    taken, _, given = default.draw_forward(op, source, shape)
    outputs = op.forward(**taken)
    upstream = {name: rng.standard_normal(outputs[of].shape) for name, of in op.upstream.items()}
    bound = {p.name: taken.get(p.name, given.get(p.name)) for p in op.parameters}
    saved = {name: outputs[of] for name, of in op.saved.items()}
    return taken, upstream, bound | upstream | saved | op.all_outputs


def gradients(op, taken, upstream):
    """Return JAX's gradient of the sum of upstream times outputs, by each differentiable input of forward."""
    arranged = op.arrange_forward(**bind(op.name, op.forward_parameters, taken))
    wanted = {
        of: arranged.arrays[of] for of in op.gradient_of.values() if taken.get(of) is not None
    }

    def loss(point):
        outputs = evaluated(
            op.page.forward,
            arranged.prelude,
            arranged.arrays | point,
            arranged.attributes,
            np.float64,
        )
        return sum(
            (upstream[name].reshape(arranged.results[of].shape) * outputs[of]).sum()
            for name, of in op.upstream.items()
        )

    return {of: array.reshape(taken[of].shape) for of, array in derived(loss, wanted).items()}


def failures(op, backward=None):
    """Return results farther from JAX's gradient than the last bits, by mode and output."""
    wrong = []
    for number, mode in enumerate((*op.modes, *default.left_out(op))):
        taken, upstream, given = drawn(op, np.random.default_rng(number), mode)
        outputs, sizes = (backward or op.backward)(**given), magnitudes(op, given)
        saved = {
            name: given[name] * (1 + 2.0**-52) + 2.0**-52 * np.max(np.abs(given[name]), initial=0)
            for name in op.saved
            if getattr(given.get(name), "dtype", None) == np.float64
        }
        here, nearby = op.backward(**given), op.backward(**given | saved)
        of_input = {of: name for name, of in op.gradient_of.items()}
        for of, gradient in gradients(op, taken, upstream).items():
            name = of_input[of]
            allowed = UNIT * sizes[name].reshape(gradient.shape) + 1e-300
            allowed = allowed + 4.0 * np.abs(nearby[name] - here[name])  # saved outputs are rounded
            off = np.abs(outputs[name] - gradient)
            if (off > allowed).any():
                wrong.append(f"{name} is {off.max():.3g} off for {mode}")
    return wrong


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
