"""The stage of indices: where rows go, what piles up and what is left out, against plain loops over the indices."""

import numpy as np
import pytest
from panelled_explorer import mark, marks, panel

import aclnn_viz as av
from aclnn_viz.explorers import indices, subject_of
from aclnn_viz.explorers.state import build
from aclnn_viz.pictures.marks import Bars, Handles, Heat, Image, Line, Spots
from aclnn_viz.pictures.text import unmarked

EVERY = pytest.mark.parametrize("name", ["embedding", "nll_loss"])


def opened(name, **values):
    subject = subject_of(name)
    data = subject.compute(build(subject.state, values))
    return subject, data, data.answer


def test_the_operators_whose_rows_go_where_an_index_says_are_found():
    assert {op.name for op in av.operators() if indices.is_indices(op)} == {"embedding", "nll_loss"}


@pytest.mark.parametrize("values", [{}, {"paddingIdx": 1}, {"scaleGradByFreq": True}])
def test_rows_with_one_index_pile_up(values):
    subject, data, found = opened("embedding", **values)
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


@EVERY
def test_a_hand_moves_one_index_and_the_arrow_ends_there(name):
    subject, before, _ = opened(name, element=2)
    across = int(name == "nll_loss")  # there a class is a column
    handle = mark(subject.show(before), "arrows", Handles)
    for target in (0, 3):
        offset, factor = handle.units[1 - across]
        place = (target - offset) / factor + 0.2
        value = offset + factor * place
        _, after, found = opened(name, element=2, moved=[(0, 2, value, value)])
        index = after.inputs[indices.index_of(av.operator(name))]
        assert index[2] == target == found.place[2]
        assert (index != before.inputs[indices.index_of(av.operator(name))]).sum() <= 1
        ends = mark(subject.show(after), "arrows", Handles)
        at = (ends.y, ends.x)[across][0, 2] * factor + offset
        assert abs(at - target) < 0.5


def test_an_index_beyond_the_classes_is_left_out_and_the_mean_is_of_the_others():
    subject, data, found = opened("nll_loss", element=4, moved=[(0, 4, 9.0, 0.0)])
    target, weight, g = (data.inputs[n] for n in ("target", "weight", "gradOutput"))
    assert target[4] == -100
    kept = [weight[t] for t in target if t >= 0]
    wanted = [-weight[t] / sum(kept) if t >= 0 else 0.0 for t in target]
    np.testing.assert_allclose(found.factor, wanted, rtol=1e-6)
    out = data.outputs["out"]
    for n, t in enumerate(target):
        for c in range(4):
            assert out[n, c] == pytest.approx(wanted[n] * g if c == t else 0.0, rel=1e-5)
    assert unmarked(subject.said(data)) == (
        "Row 4 is struck out, for ignoreIndex is its index. Its gradient goes nowhere."
    )


def test_rows_that_are_not_shown_are_counted():
    subject, data, _ = opened("nll_loss", axis_0=40)
    assert panel(subject.show(data), "arrows").y.label == "row, of 40"


@EVERY
def test_half_way_half_of_the_rows_have_fallen(name):
    subject, data, found = opened(name, sent=0.5)
    shown, rows = subject.show(data), len(found.index)
    landed = rows // 2
    cells = mark(shown, "arrows", Heat).values[: len(found.out), -found.out.shape[1] :]
    wanted = np.zeros(found.out.shape)
    for k in range(landed):
        at = (k, int(found.place[k])) if found.kept else int(found.place[k])
        wanted[at] += found.factor[k] * (found.arriving[k, 0] if found.kept else found.arriving[k])
    np.testing.assert_allclose(np.nan_to_num(cells), wanted, atol=1e-6)
    flying = mark(shown, "arrows", Image)
    np.testing.assert_allclose(flying.values[0], found.factor[landed] * found.arriving[landed])
    right = found.arriving.shape[1] + indices.GAP
    assert flying.x == pytest.approx((right + found.kept * found.place[landed]) / 2)
    assert flying.y == (landed if found.kept else (landed + found.place[landed]) / 2)
    assert unmarked(subject.said(data)).startswith(f"{landed} of {rows} rows have fallen")


@EVERY
def test_every_cell_and_every_arrow_says_its_datum(name):
    subject, data, found = opened(name)
    spots = mark(subject.show(data), "arrows", Spots)
    middle = (spots.x0 + spots.x1) / 2, (spots.y0 + spots.y1) / 2
    heat, texts = mark(subject.show(data), "arrows", Heat).values, list(spots.texts)
    for x, y, said in list(zip(*middle, texts))[: -len(found.index)]:
        value = float(said.split(" = ")[1])
        assert value == pytest.approx(np.nan_to_num(heat[int(y), int(x)]), rel=1e-3)
    index = data.inputs[indices.index_of(av.operator(name))]
    wanted = [f"row {k} has the index {i}" for k, i in enumerate(index)]
    assert texts[-len(index) :] == wanted
