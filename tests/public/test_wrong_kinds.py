"""Every public callable takes what its documentation names, and answers anything else in three parts."""

import inspect
import math
import warnings

import numpy as np
import pytest
import walk
from machine import SOAK

import aclnn_viz as av
import derivations
from aclnn_viz import accuracy, checking, devices, pictures
from aclnn_viz.accuracy import envelope, explain
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.operators import plans
from aclnn_viz.operators.products import PRODUCTS, product_of, soc_of
from together import in_one

X = {"gradOutput": np.ones(2, np.float16), "self": np.float16([1, 2])}
OP = av.operator("hardswish")
ACTUAL, TRUTH = OP.backward(**X), OP.truth(**X)
BOUND = envelope(OP, **X)
NORM = av.case("rms_norm", shape=(2, 4))
WRONG_KERNEL = lambda **inputs: {"out": np.zeros_like(inputs["self"])}  # noqa: E731


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return walk.good_calls(tmp_path_factory.mktemp("walk"))


def test_nothing_public_lets_out_what_happens_inside(calls, tmp_path, monkeypatch):
    """Of each callable a quarter of the wrong kinds, and with the soak all."""
    monkeypatch.chdir(tmp_path)  # some of the wrong texts are good names of folders
    found = {}
    for number, (function, arguments, keywords) in enumerate(calls):
        kinds = walk.WRONG if SOAK else walk.WRONG[number % 4 :: 4]
        if faults := list(walk.inner_errors(function, arguments, keywords, kinds)):
            found[walk.named(function)] = faults
    assert found == {}


def test_the_walk_misses_nothing_public(calls):
    walked = {walk.named(function).split(".")[-1] for function, *_ in calls}
    walked |= {"write", "write_suite", "record", "CannAcl"}  # behind functions of the walk itself
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


@in_one
@pytest.mark.parametrize(
    ("call", "part"),
    [
        (
            lambda: explain(ACTUAL, TRUTH["out"], BOUND["out"]),
            "actual is that of one output: got a dict of out; pick one",
        ),
        (lambda: explain(ACTUAL["out"], TRUTH, BOUND["out"]), "truth is that of one output"),
        (lambda: explain(ACTUAL["out"], TRUTH["out"], BOUND), "envelope is that of one output"),
        (lambda: pictures.errors(ACTUAL, TRUTH["out"], "me"), "actual"),
        (lambda: pictures.error_plot(ACTUAL["out"]), "an error plot shows Errors"),
        (lambda: pictures.error_runs([1]), "runs are Errors by the name of their device"),
        (lambda: pictures.ulp_histogram({"a": 1}), "runs are Errors by the name of their device"),
        (
            lambda: pictures.Provenance.of(NORM, "nope", "host"),
            "an output of rms_norm is one of dxOut, dgammaOut: got",
        ),
        (lambda: pictures.Provenance.of(3, "dxOut", "host"), "case is a Case"),
        (
            lambda: av.cpp_sample("rms_norm", None),
            "a case is a Case, or its inputs by name: got None",
        ),
        (
            lambda: devices.record("host", [NORM], "x"),
            "cases are recorded on an opened device: got 'host'",
        ),
        (lambda: plans.preset(OP, None), "soc must be the SoC name of an Atlas product: got None"),
        (lambda: accuracy.disagreements(ACTUAL["out"]), "disagreements are those of a Report"),
        (lambda: derivations.proves_equal(1, 1, in_range=[1]), "in_range"),
        (lambda: av.check(OP, WRONG_KERNEL, time_limit="x"), "time_limit is a number of seconds"),
        (lambda: Plan(tile="a"), "tile is a number from 1 on: got 'a'"),
        (lambda: Plan(page=3), "page is a function"),
        (lambda: Plan(division_ulps="a"), "division_ulps is a number from 0 on"),
        (lambda: Plan(division_ulps=-1), "division_ulps is a number from 0 on"),
        (lambda: Plan(saturate="x"), "saturate is True or False: got 'x'"),
        (lambda: Plan(notes=("x",)), "notes is a tuple of Note: got tuple ('x',)"),
        (
            lambda: av.case("group_norm_swish", swishScale=math.nan),
            "swishScale is a number: got nan",
        ),
        (lambda: av.case("rms_norm", x=1 + 2j), "x must have shape"),
        (lambda: av.case("rms_norm", shape=b"ab"), "shape is a tuple of lengths"),
        (lambda: checking.load_kernel(None), "a kernel is named as FILE.py:FUNCTION"),
    ],
)
def test_what_was_let_in_or_broke_inside_is_answered(call, part):
    with pytest.raises((TypeError, ValueError)) as error:
        call()
    assert part in str(error.value) and walk.THREE_PARTS.fullmatch(str(error.value))


def test_a_counterexample_is_written_to_a_path_only():
    result = av.check(OP, WRONG_KERNEL, shapes=[(2,)], dtypes=["float32"])
    with pytest.raises(TypeError, match="a place is a path: got None"):
        result.counterexample.write(None)


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
