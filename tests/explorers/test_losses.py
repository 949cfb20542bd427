"""The stage of cross entropy: bars, targets, distances and strengths against the formula; what hands set, and the caption."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose as assert_close
from numpy.testing import assert_array_equal
from panelled_explorer import HELD, mark, marks, panel, stage
from pytest import approx

from aclnn_viz.explorers import losses
from aclnn_viz.pictures.marks import Bars, Box, Dots, Handles, Heat, Line, Spots
from aclnn_viz.pictures.text import unmarked

opened = partial(stage, "cross_entropy_loss", dtype="float64")


@pytest.mark.parametrize("values", HELD["formulas"]["cross_entropy_loss"])
def test_bars_targets_and_distances_are_those_of_the_formula(values):
    subject, data, found = opened(**values)
    state, given, shown = data.state, data.inputs, subject.show(data)
    target, classes = given["target"], given["logProb"].shape[1]
    weight = np.ones(classes) if given["weightOptional"] is None else given["weightOptional"]
    counted = target != given["ignoreIndex"]
    hit = np.arange(classes) == target[:, None]
    smooth = state.labelSmoothing / classes + (1 - state.labelSmoothing) * hit
    raw = smooth * weight * counted[:, None]
    total = raw.sum(axis=1)
    divisor = weight[target[counted]].sum() if state.reduction == "mean" else 1.0
    p = np.exp(given["logProb"])
    assert_close(found.strength, total / divisor)
    assert_close(found.softmax, p)
    wanted = (p * total[:, None] - raw) / divisor
    assert_close(found.gradient, wanted, atol=1e-14)
    pulled = total > 0
    share = raw[pulled] / total[pulled, None]
    assert_close(found.wanted[pulled], share, atol=1e-14)
    assert np.abs(found.gradient.sum(axis=1)).max() < 1e-13
    row = state.row
    assert_array_equal(mark(shown, "row", Bars).y, found.softmax[row])
    assert_array_equal(mark(shown, "gradient", Bars).y, found.gradient[row])
    assert_array_equal(mark(shown, "map", Heat).values, found.gradient)
    sticks = mark(shown, "row", Line, "distance to the target").y.reshape(-1, 3).T
    assert_close(sticks[:2], [found.wanted[row], found.softmax[row]], atol=1e-12)
    assert mark(shown, "row", Spots).texts[3].split("\n") == [
        "class 3",
        f"softmax {found.softmax[row, 3]:.4g}",
        f"target {found.wanted[row, 3] + 0:.4g}",
        f"gradient {found.gradient[row, 3]:.4g}",
    ]


def test_a_hand_gives_a_class_its_probability_and_the_others_share_the_rest():
    _, before, plain = opened()
    subject, after, found = opened(moved=[(1, 5, 0.0, 0.6), (1, 0, 0.0, 0.1), (2, 3, 0.0, 7.0)])
    assert found.softmax[1, [5, 0]] == approx([0.6, 0.1])
    rest = [1, 2, 3, 4, 6, 7, 8, 9]
    share = plain.softmax[1, rest] / plain.softmax[1, rest].sum()
    assert_close(found.softmax[1, rest], 0.3 * share)
    assert found.softmax[2, 3] == approx(losses.MOST)
    assert_close(found.softmax[4:], plain.softmax[4:], atol=1e-12)
    handle = mark(subject.show(after), "row", Handles)
    assert handle.units == ((0.0, 0.0), (0.0, 1.0)) and handle.y[1, 5] == approx(0.6)
    _, _, full = opened(axis_1=2, column=0, moved=[(1, 0, 0.0, 0.9), (1, 1, 0.0, 0.9)])
    assert_close(full.softmax[1], [0.5, 0.5])


def test_rows_from_the_third_on_are_struck_out_and_the_targets_of_others_framed():
    subject, data, found = opened(ignored=0.5)
    struck = np.flatnonzero(~found.counted)
    assert struck.tolist() == [*range(2, 10), 11] and not found.gradient[struck].any()
    shown = subject.show(data)
    at = mark(shown, "map", Line).y[::3]
    assert_array_equal(at[at == at], struck)
    framed = [box.x0 + 0.5 for box in marks(shown, "map", Box) if box.kind == losses.READ]
    assert framed == data.inputs["target"][found.counted].tolist()
    _, _, fewer = opened(ignored=0.1)
    assert found.strength[1] > fewer.strength[1]  # the mean divides by less


@pytest.mark.parametrize("values", [{}, {"lead": 3.0, "moved": [(1, 0, 0.0, 0.4)]}])
def test_of_log_probabilities_only_the_target_is_pulled_and_always_alike(values):
    subject, data, found = stage("nll_loss", dtype="float64", ignored=0.3, **values)
    weight, target = data.inputs["weight"], data.inputs["target"]
    counted = target[target != -100]
    assert found.counted.sum() == 7
    wanted, total = np.zeros(found.gradient.shape), weight[counted].sum()
    wanted[target != -100, counted] = -weight[counted] / total
    assert_close(found.gradient, wanted)
    assert_close(found.softmax.sum(axis=1), 1.0)
    assert found.softmax[1, 0] == approx(0.4) or not values
    shown = subject.show(data)
    assert_close(mark(shown, "gradient", Dots).y, -weight / total)
    assert len(marks(shown, "row", Line)) == 1  # no distance: only the target
    assert unmarked(subject.said(data)).endswith(f"the factor of row 1 is now {-wanted[1, 1]:.4g}.")
    assert panel(shown, "gradient").title.endswith(
        f"= −{weight[1]:.4g} / {total:.4g} = −{-wanted[1, 1]:.4g}"
    )


def test_the_mean_of_no_row_divides_0_by_0_and_the_sum_is_0():
    assert np.isnan(opened(ignored=1.0)[2].gradient).all()
    assert not opened(ignored=1.0, reduction="sum")[2].gradient.any()
