"""The stage of indices: targets of rows, piles and excluded rows, against plain loops over the indices."""

from functools import partial

import numpy as np
import pytest
from panelled_explorer import mark, marks, stage

import aclnn_viz as av
from aclnn_viz.explorers import indices, subject_of
from aclnn_viz.pictures.marks import Bars, Handles, Heat, Image, Line
from aclnn_viz.pictures.text import unmarked

opened = partial(stage, "embedding")


def test_the_operators_whose_rows_go_where_an_index_says_are_found():
    assert {op.name for op in av.operators() if indices.is_indices(op)} == {"embedding"}


@pytest.mark.parametrize("values", [{}, {"paddingIdx": 1}, {"scaleGradByFreq": True}])
def test_rows_with_one_index_pile_up(values):
    subject, data, found = opened(**values)
    named, (grad, index) = [], (data.inputs[name] for name in ("grad", "indices"))
    out, factor = np.zeros((4, 3)), []
    for k, row in enumerate(index):
        times = 1.0 / np.count_nonzero(index == row) if "scaleGradByFreq" in values else 1.0
        factor.append(0.0 if row == values.get("paddingIdx") else times)
        out[row] += factor[k] * grad[k]
        named += [k] if row == index[1] and factor[k] else []
    assert len(named) > 1  # it opens with a duplicate
    np.testing.assert_allclose(found.out, out, atol=1e-6)
    shown = subject.show(data)
    np.testing.assert_allclose(mark(shown, "factors", Bars).y, factor)
    heat = mark(shown, "pile", Heat).values
    np.testing.assert_allclose(heat[0], out[index[1]], atol=1e-6)
    wanted = [factor[k] * grad[k] for k in named]
    np.testing.assert_allclose(heat[2:][: len(named)], wanted, atol=1e-6)
    assert np.isnan(heat[2 + len(named) :]).all()
    struck = np.isfinite(marks(shown, "arrows", Line)[-1].y[::3])
    np.testing.assert_array_equal(struck, np.equal(factor, 0.0))
    said = unmarked(subject.said(data))
    assert said.startswith(f"{len(named)} rows of the gradient name row {index[1]}")
    assert ("mean" in said) == ("scaleGradByFreq" in values)


def test_a_hand_moves_one_index_and_the_arrow_ends_there():
    subject, before, _ = opened(element=2)
    offset, factor = mark(subject.show(before), "arrows", Handles).units[1]
    for target in (0, 3):
        value = offset + factor * ((target - offset) / factor + 0.2)
        _, after, found = opened(element=2, moved=[(0, 2, value, value)])
        index = after.inputs["indices"]
        assert index[2] == target == found.place[2]
        assert (index != before.inputs["indices"]).sum() <= 1
        ends = mark(subject.show(after), "arrows", Handles)
        assert abs(ends.y[0, 2] * factor + offset - target) < 0.5


def test_a_loss_that_keeps_its_rows_shows_what_each_sends():
    subject = subject_of("nll_loss")
    data = subject.compute(subject.state())
    assert [panel.name for panel in subject.panels(data) if not panel.more][0] == "brought"
    out = data.answer.arriving @ data.answer.matrix
    np.testing.assert_allclose(out, data.outputs["out"].ravel()[: out.size], rtol=1e-6)


def test_half_way_half_of_the_rows_have_fallen():
    subject, data, found = opened(sent=0.5)
    shown, rows = subject.show(data), len(found.place)
    landed = rows // 2
    cells = mark(shown, "arrows", Heat).values[: len(found.out), -found.out.shape[1] :]
    wanted = np.zeros(found.out.shape)
    for k in range(landed):
        wanted[int(found.place[k])] += found.factor[k] * found.arriving[k]
    np.testing.assert_allclose(cells, wanted, atol=1e-6)
    flying = mark(shown, "arrows", Image)
    np.testing.assert_allclose(flying.values[0], found.factor[landed] * found.arriving[landed])
    assert flying.x == pytest.approx((found.arriving.shape[1] + indices.GAP) / 2)
    assert flying.y == (landed + found.place[landed]) / 2
    assert unmarked(subject.said(data)).startswith(f"{landed} of {rows} rows have fallen")
