"""The stage of norms against its definition: x-hat, incoming gradient, removed part, and caption."""

from functools import partial
from math import sqrt

import numpy as np
import pytest
from panelled_explorer import mark, marks, panel, stage

import aclnn_viz as av
from aclnn_viz.explorers import norms
from aclnn_viz.pictures.marks import Bars, Dots, Handles, Line
from aclnn_viz.pictures.text import unmarked
from aclnn_viz.words.messages import in_language

assert_close = np.testing.assert_allclose

NAMES = {
    "batch_norm": ("input", "gradOut", "weight"),
    "layer_norm": ("input", "gradOut", "weightOptional"),
} | dict.fromkeys(("rms_norm", "deep_norm", "group_norm_swish"), ("x", "dy", "gamma"))
EVERY = pytest.mark.parametrize(
    "name", "batch_norm deep_norm group_norm group_norm_swish layer_norm rms_norm".split()
)


# float64 rounds nothing
opened = partial(stage, dtype="float64")
# rstd is saved in float32 by some
near = partial(assert_close, atol=5e-6)


def group(name, given) -> tuple:
    """Return x, gradient, gamma, beta of the first statistic's elements."""
    x, grad, gamma = (given[key] for key in NAMES.get(name, ("input", "gradOut", "gamma")))
    beta = given.get("beta", 0.0 * gamma)
    if name == "deep_norm":
        x = given["alpha"] * x + given["gx"]
    if name in ("rms_norm", "layer_norm", "deep_norm"):
        return x[0], grad[0], gamma, beta
    at = np.s_[:, :1]
    if name != "batch_norm":
        at = np.s_[0, : x.shape[1] // given.get("numGroups", given.get("group"))]
    part = x[at]
    deep = part.shape[name == "batch_norm"]
    wide = part.size // deep
    return part.ravel(), grad[at].ravel(), *(np.repeat(one[:deep], wide) for one in (gamma, beta))


def by_hand(name, data, epsilon) -> tuple:
    """Return x-hat, the gradient at it, and the rest: dx / rstd."""
    x, grad, gamma, beta = group(name, data.inputs)
    centred = name != "rms_norm"
    mean = centred * x.mean()
    root = sqrt(np.mean((x - mean) ** 2) + epsilon)
    xhat, slope = (x - mean) / root, 1.0
    if name == "group_norm_swish":
        z = xhat * gamma + beta
        gate = 1.0 / (1.0 + np.exp(-z))
        slope = gate * (1.0 + z * (1.0 - gate))
    arriving = grad * gamma * slope + data.state.pull * xhat
    rest = arriving - centred * arriving.mean() - xhat * np.mean(arriving * xhat)
    return xhat, arriving, rest, root


@EVERY
@pytest.mark.parametrize("epsilon", [-6.0, 0.3])
def test_the_stage_shows_what_the_definition_says(name, epsilon):
    subject, data, found = opened(name, **{norms.epsilon_of(av.operator(name)).name: epsilon})
    xhat, arriving, remains, root = by_hand(name, data, 10.0**epsilon)
    near(found.xhat, xhat, atol=1e-6)
    near(found.arriving, arriving)
    near(found.arriving - found.taken, remains)
    assert_close(found.rstd, 1 / root, rtol=1e-6)
    start, steep = found.line
    near(found.taken, start + steep * found.xhat)
    shown = subject.show(data)
    (dots, *_), (line,) = marks(shown, "norm", Dots), marks(shown, "norm", Line)[1:2]
    np.testing.assert_array_equal(dots.y, found.arriving)
    assert_close(line.y, start + steep * line.x)
    _, grad, gamma, _ = group(name, data.inputs)
    before, after = marks(shown, "arrives", Bars)
    swish = name == "group_norm_swish"  # the last factor is seen by itself
    assert_close(before.y, grad * gamma if swish else grad)
    assert ("slope of swish" in panel(shown, "arrives").title) == swish
    for bars, values in ((after, arriving), (mark(shown, "remains", Bars), remains)):
        near(bars.y, values)


@EVERY
def test_x_hat_that_is_added_leaves_what_remains(name):
    low, high = (opened(name, pull=pull)[2] for pull in (-1.0, 1.0))
    near(high.arriving - low.arriving, 2.0 * low.xhat)
    near(high.taken - low.taken, 2.0 * low.xhat, atol=1e-3)  # epsilon keeps less than this


@EVERY
def test_epsilon_is_one_dot_more_of_the_least_squares_line(name):
    subject, data, found = opened(name, **{norms.epsilon_of(av.operator(name)).name: 0.2})
    start, steep = found.line
    heavy = sqrt(found.n * 10.0**0.2) * found.rstd
    off = found.arriving - start
    wanted = np.sum(found.xhat * off) / (np.sum(found.xhat**2) + heavy**2)
    assert steep == pytest.approx(wanted, abs=1e-6)
    assert mark(subject.show(data), "norm", Dots, "ε, one more dot").x == pytest.approx(heavy)


@EVERY
def test_an_element_that_outweighs_the_others_is_named(name):
    subject, data, found = opened(name, moved=[(0, 4, 40.0, 1.0)])
    step = 1.0 / found.weights[4]
    _, _, more = opened(name, moved=[(0, 4, 40.0, 1.0 + step)])
    change = (more.arriving - more.taken) - (found.arriving - found.taken)
    assert change[4] < 0.2  # of 1 that is added to its gradient
    assert unmarked(subject.said(data)).startswith("Element 4 is much larger than the others")
    _, still, _ = opened(name, pull=0.0, moved=[(0, 4, 40.0, 0.0)])
    assert "little" not in subject.said(still)  # all that remains comes from the others


@EVERY
def test_a_hand_moves_one_element_and_the_statistics_with_it(name):
    op = av.operator(name)
    x, upstream = op.gradient_of[op.main], next(iter(op.upstream))
    _, before, _ = opened(name)
    _, after, found = opened(name, moved=[(0, 1, 3.0, -2.0)])
    assert (found.x[1], found.upstream[1]) == (3.0, -2.0)
    for key in (x, upstream, [*op.saved][-1]):
        assert (before.inputs[key] != after.inputs[key]).sum() == 1
    xhat, *_ = by_hand(name, after, found.epsilon)
    near(found.xhat, xhat, atol=1e-6)


@pytest.mark.parametrize("name", ["rms_norm", "group_norm_swish"])
def test_a_handle_leads_its_dot_where_the_hand_is(name):
    subject, data, before = opened(name, element=3)
    handle = mark(subject.show(data), "norm", Handles)
    (across, wide), (up, high) = handle.units
    place = handle.x[0, 3], handle.y[0, 3] + 1.0
    moved = [(0, 3, across + wide * place[0], up + high * place[1])]
    _, _, after = opened(name, element=3, moved=moved)
    assert after.x[3] == pytest.approx(before.x[3])
    assert after.arriving[3] == pytest.approx(before.arriving[3] + 1.0)


@EVERY
def test_what_is_taken_away_is_played_until_the_sticks_are_left(name):
    subject, data, found = opened(name, taken=1.0)
    shown = subject.show(data)
    assert_close(marks(shown, "norm", Dots)[0].y, found.arriving - found.taken)
    assert_close(marks(shown, "norm", Line)[1].y, 0.0, atol=1e-12)
    assert "is taken away" in subject.said(data)
    (play,) = subject.plays(data)
    assert [frame["taken"] for frame in play["frames"]] == [0.0, 1.0]
    assert play["after"]["taken"] == 0.0


@EVERY
def test_without_1_over_n_the_line_is_n_times_too_steep(name):
    subject, wrong, found = opened(name, wrong=True, moved=[(0, 4, 40.0, 1.0)])
    shown, (start, steep) = subject.show(wrong), found.line
    assert_close(mark(shown, "taken", Bars).y, found.n * found.taken)
    right = mark(shown, "norm", Line, "with 1/n")
    assert_close(right.y, start + steep * right.x)
    assert f"{found.n} times too steep" in subject.said(wrong)


def test_epsilon_keeps_a_share_of_x_and_statistics_that_stay_take_nothing():
    subject, data, found = opened("rms_norm", epsilon=0.0)
    share = 100 * float(found.epsilon * found.rstd**2)
    assert f"x keeps {share:.0f} %" in subject.said(data)
    assert_close(  # this share of a gradient along x-hat remains
        np.sum((found.arriving - found.taken) * found.xhat) / np.sum(found.arriving * found.xhat),
        share / 100,
    )
    _, _, found = opened("batch_norm", training=False)
    assert_close(found.taken, 0.0, atol=1e-12)


def test_numbers_that_are_there_are_told_in_another_language():
    subject, data, _ = opened("group_norm_swish")
    with in_language("zh"):
        assert "先把每个梯度乘以它的斜率" in subject.said(data)
        assert "swish的斜率" in panel(subject.show(data), "arrives").title
