"""Every public callable takes what its documentation names, and answers anything else in three parts."""

import inspect
import math
import re
import warnings

import numpy as np
import pytest
import walk

import aclnn_viz as av
from aclnn_viz import devices, pictures
from aclnn_viz.accuracy import envelope, explain
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.operators import plans
from aclnn_viz.operators.products import PRODUCTS, product_of, soc_of

X = {"gradOutput": np.ones(2, np.float16), "self": np.float16([1, 2])}
OP = av.operator("hardswish")
ACTUAL, TRUTH = OP.backward(**X), OP.truth(**X)
BOUND = envelope(OP, **X)
NORM = av.case("rms_norm", shape=(2, 4))


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return walk.good_calls(tmp_path_factory.mktemp("walk"))


def test_nothing_public_lets_out_what_happens_inside(calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of the wrong texts are valid names of folders
    found = {
        walk.named(call[0]): faults for call in calls if (faults := [*walk.inner_errors(*call)])
    }
    assert found == {}


def test_the_walk_misses_nothing_public(calls):
    walked = {walk.named(function).split(".")[-1] for function, *_ in calls}
    walked |= {"write", "write_suite", "record", "CannAcl"}  # functions of the walk call these
    assert [
        name
        for name in walk.public()
        if (own := name.rpartition(".")[2]) not in walked
        and own not in walk.MADE_BY_THE_KIT | walk.OTHERWISE
    ] == []


@pytest.mark.parametrize(
    "raised",
    [
        AttributeError("x has no y"),
        KeyError("x"),
        TypeError("object is not iterable"),
        ValueError("a: got b"),
    ],
)
def test_the_walk_notices_an_exception_from_inside(raised):
    def inner(value):
        if value is None:
            raise raised

    assert len(list(walk.inner_errors(inner, [1], {}))) == 1


def test_what_was_let_in_is_refused():
    for call, part in (
        (
            lambda: explain(ACTUAL, TRUTH["out"], BOUND["out"]),
            "actual is that of one output: got a dict of out; pick one",
        ),
        (
            lambda: pictures.Provenance.of(NORM, "nope", "host"),
            "an output of rms_norm is one of dxOut, dgammaOut: got",
        ),
        (
            lambda: av.case("group_norm_swish", swishScale=math.nan),
            "swishScale is a number: got nan",
        ),
        (lambda: av.case("rms_norm", x=1 + 2j), "x must have shape"),
        (lambda: av.case("rms_norm", shape=b"ab"), "shape is a tuple of lengths"),
        (lambda: Plan(tile="a"), "tile is a number from 1 on: got 'a'"),
        (lambda: Plan(page=3), "page is a function"),
        (lambda: Plan(division_ulps=-1), "division_ulps is a number from 0 on"),
        (lambda: Plan(saturate="x"), "saturate is True or False: got 'x'"),
        (lambda: Plan(notes=("x",)), "notes is a tuple of Note: got tuple ('x',)"),
    ):
        with pytest.raises((TypeError, ValueError), match=re.escape(part)):
            call()


def test_a_name_is_enough(tmp_path):
    by_name, by_object = (envelope(op, **X)["out"] for op in ("hardswish", OP))
    assert (by_name.bound == by_object.bound).all()
    preset = plans.preset(OP, "Ascend910B2", "9.1")
    for plan in ("Ascend910B2", "A2", "atlas a2", "A2, CANN 9.1", PRODUCTS[1]):
        assert plans.plan_of(OP, plan) == preset
        assert (
            plans.run("aclnnHardswishBackward", plan, **X)["out"]
            == plans.run(OP, preset, **X)["out"]
        ).all()
    assert (envelope(OP, "A2", **X)["out"].bound == envelope(OP, preset, **X)["out"].bound).all()
    with av.open_device("host", soc="a2", cann="9.0") as device:
        assert (device.soc, device.cann) == ("Ascend910B2", "9.0.0")
        assert len(devices.Capsule(devices.record(device, [NORM], tmp_path / "a.capsule"))) == 1
    assert av.check(OP, OP.backward, soc="Atlas A3", shapes=[(2,)]).scope.startswith(
        "what Ascend910_9391"
    )


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda one: one.tag)
def test_a_product_answers_to_all_its_names(product):
    names = (product.tag, product.name, product.chinese_name, product.example_soc, *product.aliases)
    for name in names:
        for spelled in (name, name.upper(), name.lower(), name.replace(" ", "-")):
            assert product_of(spelled) is product
    for soc in (product.example_soc, *product.cores):
        assert soc_of(soc.lower()) == soc_of(soc.upper()) == soc


def test_the_old_910_keeps_the_name_that_looks_like_the_new():
    assert [
        product_of(name).tag for name in ("Ascend910B", "910b", "Ascend910B1", "ascend910proa")
    ] == ["910", "910b", "910b", "910"]


def test_the_package_of_operators_is_not_hidden_by_its_function():
    import aclnn_viz.operators.plans as P

    assert P.preset is plans.preset and [op.name for op in av.operators()][0] == "hardswish"
    assert inspect.signature(av.operators) == inspect.Signature(
        return_annotation=inspect.signature(av.operators).return_annotation
    )
