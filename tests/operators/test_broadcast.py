"""Tensors that broadcast, axes that a tensor without axes lacks, and what lengths say: numbers of elements, attributes."""

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from rounding_bounds import magnitudes
from together import in_one

import aclnn_viz as av
from aclnn_viz.cases import default
from aclnn_viz.cases.drafts import Source
from aclnn_viz.dtypes import BFLOAT16, FLOAT16, FLOAT64
from aclnn_viz.operators import Tensor
from aclnn_viz.operators.patterns import Pattern
from aclnn_viz.operators.shapes import formats_of


@pytest.fixture
def op():
    """Return the operator out = g * x / (number of elements of x), of tensors that broadcast."""
    page = ModuleType("page")
    page.AXES = {"self": "e", "gradOutput": "e", "out": "e"}
    page.backward = lambda xp, gradOutput, self, count: {"out": gradOutput * self / count}
    page.forward = lambda xp, self, count: {"out": self}
    usual = av.operator("hardswish")
    return replace(
        usual,
        name="scaled",
        page=page,
        counts={"count": "self"},
        tensors={"self": Tensor("~*P"), "gradOutput": Tensor("~*P"), "out": Tensor("*P")},
    )


@pytest.mark.parametrize(
    "x,g",
    [((3, 4), (3, 4)), ((4,), (3, 4)), ((3, 1), (4,)), ((), (2,)), ((1,), ()), ((0, 1), (3,))],
)
def test_tensors_meet_in_one_shape_and_counts_are_of_what_is_given(op, x, g):
    rng = np.random.default_rng(0)
    x, g = rng.standard_normal(x), rng.standard_normal(g)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(op.backward(self=x, gradOutput=g)["out"], g * x / x.size)


def test_shapes_that_do_not_meet_are_refused(op):
    with pytest.raises(
        ValueError,
        match=r"gradOutput, self must broadcast to one shape: got gradOutput \(2,\), self \(3,\); make the",
    ):
        op.backward(self=np.ones(3), gradOutput=np.ones(2))


def test_the_suite_gives_each_tensor_fewer_axes_ones_and_one_number(op):
    source = Source(op)
    calls = [source.draft() for _ in range(100)]
    shapes = [(call["shape"], call.get("gradOutput_shape", call["shape"])) for call in calls]
    assert any(len(g) < len(x) for x, g in shapes) and any(g == () != x for x, g in shapes)
    assert any(len(x) == len(g) and g[-1:] == (1,) != x[-1:] for x, g in shapes)


@pytest.mark.parametrize(
    "shape,fits",
    [((2, 3, 5), True), ((1, 3, 5), True), ((2, 3, 1), False), ((3, 5), False), ((4, 3, 5), False)],
)
def test_only_what_is_marked_may_be_one(shape, fits):
    assert Pattern("~B N C").fits(shape, {"B": 2, "N": 3, "C": 5}) == fits


def test_a_tensor_without_axes_has_one_element_along_the_chosen_one():
    rows = Pattern("*A D@dim *B")
    sizes = rows.bind((), rows.before("x", (), {"dim": -1}))
    assert (rows.shape(sizes), rows.page_shape(sizes), rows.rank(sizes)) == ((), (1, 1, 1), 0)
    with pytest.raises(ValueError, match=r"dim must lie in \[-1, 1\), the axes of x: got 1"):
        rows.before("x", (), {"dim": 1})


def test_formats_to_choose_from_begin_with_that_of_the_first_tensor():
    rule = "float32 or float16 or bfloat16"
    assert (
        formats_of(rule, "x", BFLOAT16, {})[0][0] is BFLOAT16
        and FLOAT16 in formats_of(rule, "x", BFLOAT16, {})[0]
    )
    assert formats_of(rule, "x", FLOAT64, {})[0][0] is FLOAT64


@in_one
@pytest.mark.parametrize("op", av.operators(), ids=lambda op: op.name)
def test_the_allowed_error_of_the_usual_case_is_a_number(op):
    assert all(np.isfinite(size).all() for size in magnitudes(op, av.case(op).inputs).values())


def test_what_lengths_say_is_filled_in_and_else_refused():
    inputs = av.case("group_norm", shape=(2, 6, 3, 2)).inputs
    assert [inputs[name] for name in ("N", "C", "HxW", "group")] == [2, 6, 6, 2]
    with pytest.raises(
        ValueError, match="HxW must be prod.P. = 6: got 7; pass values in that range"
    ):
        av.operator("group_norm").backward(**inputs | {"HxW": 7})


def test_a_tensor_is_left_out_in_the_first_mode_that_lacks_it():
    assert list(default.left_out(av.operator("batch_norm"))) == [
        {"weight": None},
        {"runningMean": None},
        {"runningVar": None},
        *({"training": False, name: None} for name in ("saveMean", "saveInvstd")),
    ]


@pytest.mark.parametrize(
    "name, count", [("l1_loss", 4), ("smooth_l1_loss", 4), ("soft_margin_loss", 4), ("mse_loss", 2)]
)
def test_a_mean_with_a_longer_target_divides_by_what_the_document_says(name, count):
    """The documents: "the number of elements of the output" and, of the squared error, "x.numel()", x being self."""
    op, x, target = (
        av.operator(name),
        np.float64([[1.0, 2.0]]),
        np.float64([[0.0, 5.0], [3.0, 1.0]]),
    )
    (upstream,), each = op.upstream, op.forward(self=x, target=target, reduction=0)["loss"]
    assert each.shape == (2, 2) and op.forward(self=x, target=target, reduction=1)[
        "loss"
    ] == pytest.approx(each.sum() / count)
    mean, summed = (
        op.backward(**{upstream: np.float64(1.0), "self": x, "target": target, "reduction": one})
        for one in (1, 2)
    )
    assert all(np.allclose(mean[out], summed[out] / count) for out in mean)


def test_prelu_takes_one_weight_for_all_channels():
    op = av.operator("prelu")
    case = av.case(op, "float64", shape=(2, 3, 4), weight_shape=(1,))
    x, grad, weight = (case.inputs[name] for name in ("self", "gradOutput", "weight"))
    found = op.backward(**case.inputs)
    assert found["gradWeight"] == pytest.approx([(grad * np.minimum(x, 0)).sum()])
    assert (found["gradInput"] == np.where(x > 0, grad, grad * weight)).all()
    with pytest.raises(ValueError, match="weight must have shape"):
        av.case(op, shape=(2, 3, 4), weight_shape=(2,))
