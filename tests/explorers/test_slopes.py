"""The stage of slopes: the dot, its tangent, the numbers beside it and the caption, against differences of the forward operator."""

import numpy as np
import pytest
from machine import sampled
from numpy.testing import assert_allclose, assert_array_equal
from panelled_explorer import mark, marks, panel
from panelled_explorer import stage as opened
from together import in_one

import aclnn_viz as av
from aclnn_viz.dtypes import round_to
from aclnn_viz.explorers import slopes
from aclnn_viz.pictures.marks import Bars, Dots, Grip, Line

STEP = 1e-6
SLOPES = [op for op in sampled(__name__) if slopes.is_slope(op)]
EACH = pytest.mark.parametrize("op", SLOPES, ids=lambda op: op.name)


def jumps(found):
    return [kink for k, kink in enumerate(found.kinks) if found.jumps(k)]


@in_one
@EACH
def test_every_elementwise_operator_has_a_dot_with_its_tangent(op):
    subject, data, found = opened(op.name)
    shown = subject.show(data)
    x, y, slope = found.here
    grip = mark(shown, "forward", Grip)
    assert (grip.x, grip.y, grip.sets) == (x, y, ("x",))
    tangent = mark(shown, "forward", Line, "slope")
    assert_allclose(np.diff(tangent.y) / np.diff(tangent.x), slope, atol=1e-9)
    assert_allclose(tangent.y.mean(), y, atol=1e-9)
    assert_array_equal(marks(shown, "share", Bars)[1].y, [slope])
    assert_array_equal(marks(shown, "slope", Line)[0].y, found.slope)
    assert [one.name for one in shown.panels if not one.more] == (
        "forward beside slope share" if x in jumps(found) else "forward share slope"
    ).split()
    there = np.isfinite(found.x)
    near = np.argmin(np.abs(found.x[there] - x))
    assert abs(found.y[there][near] - y) <= 0.1 * (1 + abs(slope))  # the dot lies on the curve


@in_one
@EACH
def test_the_dot_starts_on_a_jump_or_where_a_part_of_the_gradient_comes_back(op):
    _, _, found = opened(op.name)
    x, _, slope = found.here
    shares = np.abs(found.slope[np.isfinite(found.slope)])
    assert x in jumps(found) or abs(abs(slope - 0.5) - 0.5) > 0.05 or np.isin(shares, (0, 1)).all()


@pytest.mark.parametrize("name", "hardswish gelu tanh silu softplus elu mse_loss".split())
@pytest.mark.parametrize("x", [-2.0, 0.25, 1.5])
def test_the_slope_is_that_of_the_curve(name, x):
    _, _, found = opened(name, x=x, dtype="float64")
    up, down = (opened(name, x=x + step, dtype="float64")[2].here[1] for step in (STEP, -STEP))
    assert found.here[2] == pytest.approx((up - down) / (2 * STEP), abs=1e-7)


@pytest.mark.parametrize(
    "dtype, step", [("float16", 2**-9), ("bfloat16", 2**-6), ("float32", 2**-22)]
)
def test_the_lens_holds_the_slopes_of_the_next_numbers(dtype, step):
    subject, data, found = opened("hardswish", x=3.0, dtype=dtype)
    x = 3.0 + step * np.arange(-8, 9)
    assert_array_equal(round_to(x, dtype), x)
    wanted = av.operator("hardswish").backward(gradOutput=np.ones(17), self=x)["out"]
    assert_allclose(found.beside, wanted)
    assert_array_equal(marks(subject.show(data), "beside", Dots)[0].y, found.beside)
    assert found.beside[8] == 1.5 and found.beside[9] == 1.0  # the jump lies between two numbers
    for steps, title in ((7, "slope at the nearest"), (9, "no kink within 8 steps")):
        subject, data, _ = opened("hardswish", x=3.0 + step * steps, dtype=dtype)
        assert panel(subject.show(data), "beside").title.startswith(title)


def test_the_dot_slides_over_the_whole_curve():
    subject, data, found = opened("hardswish")
    ends = [frame["x"] for frame in subject.plays(data)[0]["frames"]]
    assert ends == [np.nanmin(found.x).round(2), np.nanmax(found.x).round(2)]
    there = (opened("hardswish", x=x) for x in ends)
    first, last = (panel(one.show(two), "forward").y for one, two, _ in there)
    assert first == last  # the curve stays


def test_reduction_leaves_one_element():
    mean, none = (opened("mse_loss", reduction=k)[2] for k in (1, 0))
    assert mean.here == none.here and mean.y is not None
