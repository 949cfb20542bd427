"""Declared kinks, tensors that must have elements, and values that only some products take."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.operators.contract import Call, TensorDescriptor
from aclnn_viz.operators.contract.rules import plain_contract
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.patterns import value
from aclnn_viz.operators.products import A2, ASCEND_950, Version
from aclnn_viz.verification.conventions import default

SWISH = av.operator("swish")


def status(op, product=A2, shape=(3, 4), **given):
    tensor = TensorDescriptor(shape, av.acl.ACL_FLOAT, (4, 1), 0, 2, shape)
    arguments = {p.name: tensor if p.kind == "tensor" else 1.0 for p in op.c_parameters} | given
    return plain_contract(op).evaluate(Call(product, Version.parse("9.1"), arguments)).status


def test_a_product_may_take_some_values_alone():
    beta = replace(SWISH.attributes["betaOptional"], only={(ASCEND_950,): (1.0, 2.0)})
    op = replace(SWISH, attributes={"betaOptional": beta})
    found = [
        status(op, product, betaOptional=value)
        for product in (A2, ASCEND_950)
        for value in (None, 2.0, 3.0)
    ]
    assert found == [0, 0, 0, 0, 0, 161002] and "betaOptional = 1.0 or 2.0" in str(op.describe())


def test_a_tensor_may_have_to_have_elements():
    op = replace(
        SWISH, tensors=SWISH.tensors | {"self": replace(SWISH.tensors["self"], empty=False)}
    )
    assert [status(one, shape=shape) for one in (SWISH, op) for shape in ((3, 4), (0, 4))] == [
        0,
        0,
        0,
        161002,
    ]


@pytest.mark.parametrize("kinks,numbers", [((-3, 3), {-3.0, 3.0}), (("betaOptional / 2",), {0.5})])
def test_cases_have_elements_at_kinks_and_on_both_sides(kinks, numbers):
    op = replace(
        SWISH, tensors=SWISH.tensors | {"self": replace(SWISH.tensors["self"], kinks=kinks)}
    )
    found = av.case(op, shape=(40, 40), seed=1).inputs["self"]
    share = np.isin(found, [*numbers]).mean()
    assert (
        0.08 < share < 0.17
        and found.min() < min(numbers)
        and found.max() > max(numbers)
        and {*found.flat} > numbers
    )


def test_a_value_at_a_kink_must_be_the_slope_of_one_side(monkeypatch):
    op = av.operator("hardsigmoid")
    assert [
        one.returns == one.kernel() for one in default.conventions(op) if one.topic == "kink"
    ] == [True, True]
    monkeypatch.setattr(op.page, "backward", lambda xp, gradOutput, self: {"out": gradOutput / 7.0})
    assert [
        one.returns == one.kernel() for one in default.conventions(op) if one.topic == "kink"
    ] == [False, False]


def test_a_parameter_comes_before_a_function_of_its_name():
    assert value("max", {"max": 3}) == 3 and value("max(H, 2)", {"H": 5}) == 5


def test_an_operator_that_is_asked_for_by_name_is_opened_alone():
    program = "import sys, aclnn_viz as av; av.operator('silu'); print(*(n.split('.')[2] for n in sys.modules if n.endswith('.declaration')))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.split() == ["silu"]


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0])
def test_differences_are_as_large_as_a_parameter(beta):
    inputs = av.case("smooth_l1_loss", shape=(40, 40), beta=beta).inputs
    found = inputs["self"].astype(np.float64) - inputs["target"]
    assert all(0.05 < np.isclose(found, end, atol=1e-6).mean() for end in (-beta, beta))


def test_a_kernel_that_divides_by_the_sign_of_a_difference_is_caught():
    """It is right except for equal tensors."""
    op = av.operator("l1_loss")
    inputs = av.case(op, shape=(40, 6)).inputs
    assert 0.05 < np.mean(inputs["self"] == inputs["target"]) < 0.25
    with np.errstate(all="ignore"):
        assert not av.check(
            op, replace(op, page=changed(op.page, (("count) * sign", "count) / sign"),))).backward
        ).passed
