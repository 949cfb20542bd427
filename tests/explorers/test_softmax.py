"""The stage of softmax: columns, their level and areas, against a loop over one row; what a hand moves, and the caption."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from panelled_explorer import mark, marks, stage

from aclnn_viz.pictures.marks import Bars, Box, Handles, Line

EVERY = pytest.mark.parametrize(
    "name, saved", [("softmax", "output"), ("scaled_masked_softmax", "y")]
)


opened = partial(stage, dtype="float64")
close = partial(assert_allclose, atol=1e-12)


@EVERY
@pytest.mark.parametrize("taken", [0.0, 0.25, 1.0])
def test_areas_over_the_mean_are_the_gradient(name, saved, taken):
    subject, data, found = opened(name, taken=taken)
    y = data.inputs[saved].reshape(-1, data.inputs[saved].shape[-1])[0]
    g = data.inputs["gradOutput"].reshape(-1, y.size)[0]
    mean = sum(a * b for a, b in zip(y, g))
    shown = subject.show(data)
    boxes = marks(shown, "columns", Box)
    widths = [box.x1 - box.x0 for box in boxes]
    heights = np.array([box.y1 - box.y0 for box in boxes])
    close(widths, y)
    close([box.x0 for box in boxes], np.cumsum([0, *y[:-1]]))
    close(heights, g - mean)
    close([box.y0 for box in boxes], mean * (1 - taken))
    areas = heights * widths
    assert areas.sum() == pytest.approx(0.0, abs=1e-12)
    out = data.outputs["out"].reshape(-1, y.size)[0]
    seen = out != 0  # masked elements get no gradient
    close(areas[seen], out[seen])
    for name, values in (("share", y), ("rest", g - found.level), ("areas", found.gradient)):
        assert_array_equal(mark(shown, name, Bars).y, values)
    level = mark(shown, "columns", Line, "weighted mean")
    close(level.y[np.isfinite(level.y)], mean * (1 - taken))


@pytest.mark.parametrize("taken", [0.0, 0.25])
def test_of_logarithms_each_column_loses_its_share_of_the_sum(taken):
    subject, data, found = opened("log_softmax", taken=taken)
    shares, g = np.exp(data.inputs["output"][0]), data.inputs["gradOutput"][0]
    back = [g.sum() * share for share in shares]
    boxes = marks(subject.show(data), "columns", Box)
    assert_allclose([box.x1 - box.x0 for box in boxes], 1 / g.size)
    assert_allclose([box.y0 for box in boxes], np.multiply(back, 1 - taken))
    assert_allclose([box.y1 - box.y0 for box in boxes], data.outputs["out"][0])


@EVERY
def test_a_hand_moves_the_gradient_of_one_element(name, saved):
    subject, before, _ = opened(name, element=2)
    handle = mark(subject.show(before), "columns", Handles)
    (_, (up, high)), place = handle.units, handle.y[0, 2] + 0.5
    _, after, found = opened(name, element=2, moved=[(0, 2, 0.0, up + high * place)])
    assert found.arriving[2] == pytest.approx(before.answer.arriving[2] + 0.5)
    assert (before.inputs["gradOutput"] != after.inputs["gradOutput"]).sum() == 1
    assert_array_equal(before.inputs[saved], after.inputs[saved])


def test_a_push_of_all_columns_alike_comes_to_nothing():
    subject, data, found = opened("softmax", moved=[(0, k, 0.0, 0.75) for k in range(6)])
    close(found.gradient, 0.0)
    assert len(subject.plays(data)) == 1
