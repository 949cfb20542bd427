"""The stage of attention against its formulas, without tiles: the shown scores, the effect of each tile, and backward."""

from functools import partial
from math import exp, inf, nan

import numpy as np
import pytest
from panelled_explorer import HELD, mark, marks, stage
from pytest import approx

from aclnn_viz.pictures.marks import Band, Bars, Box, Grip, Heat, Line, Rule
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, PALE
from aclnn_viz.pictures.text import unmarked

opened = partial(stage, "flash_attention_score", dtype="float64")
near = partial(approx, abs=1e-13, nan_ok=True)


def sees(mode, given, i, j, queries, keys) -> bool:
    """Return whether a score counts, as the vendor's page on sparseMode draws it."""
    ahead = j - i if mode == 2 else j - i - (keys - queries)
    return [
        True,
        mode != 1 or not given["attenMaskOptional"][0, 0, i, j],
        ahead <= 0,
        ahead <= 0,
        -given["preTokens"] <= ahead <= given["nextTokens"],
        None,
        ahead <= 0 or j < [*given["prefixOptional"], 0][0],
    ][mode]


@pytest.mark.parametrize("values", HELD["formulas"]["flash_attention_score"], ids=str)
def test_it_shows_what_the_formulas_of_attention_say(values):
    subject, data, found = opened(**values)
    given, state, shown = data.inputs, data.state, subject.show(data)
    q, k, v, dy = (given[name][0, 0] for name in ("query", "keyIn", "value", "dy"))
    queries, keys, row = len(q), len(k), min(state.row, len(q) - 1)
    seen = np.array(
        [
            [sees(state.sparseMode, given, i, j, queries, keys) for j in range(keys)]
            for i in range(queries)
        ]
    )
    scores, dP = state.scaleValue * (q @ k.T), dy @ v.T
    weights = np.exp(scores) * seen
    P = weights / np.where(seen.any(axis=1), weights.sum(axis=1), 1.0)[:, None]
    D = (P * dP).sum(axis=1)
    dS = P * (dP - D[:, None])
    for name, values in (("map", P), ("gradients", dS)):
        wanted = np.where(seen, values, nan)
        np.testing.assert_allclose(mark(shown, name, Heat).values, wanted, atol=1e-13)
    tile = np.arange(keys) // state.block
    ends = np.minimum((tile + 1) * state.block, keys)
    # backward has read all tiles with a column that starts by the dot
    starts = np.cumsum(P[row]) - P[row]
    behind = max(ends[starts <= state.swept - 1 + 1e-9]) if state.swept > 1 else 0
    boxes = marks(shown, "backward", Box)[1:]  # the first frames the tile at work
    later, come = ([box for box in boxes if box.kind == kind] for kind in (PALE, GRADIENT))
    level = mark(shown, "backward", Line, "D: the mean of dP, weighted by P").y
    assert level[np.isfinite(level)] == near(D[row])
    line = mark(shown, "backward", Line, "dP")
    assert line.y[::3] == approx(dP[row])
    # a hidden key has no place
    columns = np.where(seen[row], [starts, P[row], dS[row]], nan)
    assert [line.x[::3], np.diff(line.x)[::3]] == near(columns[:2])
    for j, (box, other, wanted) in enumerate(zip(come, later, columns.T, strict=True)):
        assert (np.isnan(box.y1), np.isnan(other.y1)) == (j >= behind, j < behind)
        high, wide = other.y1 if j >= behind else box.y1, box.x1 - box.x0
        assert [box.x0, wide, wide * (high - box.y0)] == near(wanted)
    now = min(int(state.swept * (tile[-1] + 1)), tile[-1])
    so_far = np.maximum.accumulate([-inf, *np.where(seen[row], scores[row], -inf)])
    places = [now * state.block, ends[tile == now][0]]
    tops = so_far[places]
    assert tops == approx(found.top)
    old, kept, new = (
        weights[row, :n].sum() * exp(-max(top, -99.0))
        for n, top in zip((places[0], *places), (*tops, tops[1]))
    )
    if state.swept > 1:  # backward needs the last sum alone
        old = kept = nan
    added, before = (bars.y for bars in marks(shown, "sum", Bars))
    assert [*added, *before] == near([nan, new, old, kept])
    assert len(marks(shown, "scores", Band)) == (state.sparseMode > 0)
    steps = mark(shown, "scores", Line, "maximum so far").y[::2]
    wanted = np.where((tile <= now) & np.isfinite(so_far[ends]), so_far[ends], nan)
    assert steps[:keys] == near(wanted)


@pytest.mark.parametrize("swept", [0.5, 1.0, 1.6])
def test_the_legend_of_backward_names_its_areas_before_they_are_computed(swept):
    subject, data, _ = opened(swept=swept)
    named = [bars.label for bars in marks(subject.show(data), "backward", Bars)]
    assert named == ["dS", "later tile"]


def test_backward_reads_again_the_tile_below_its_dot():
    subject, data, found = opened(swept=1.6)
    shown = subject.show(data)
    dot, tile = mark(shown, "backward", Grip), marks(shown, "backward", Box)[0]
    assert dot.x == approx(0.6) and tile.x0 < dot.x < tile.x1
    widths = found.P[8].reshape(4, 4).sum(axis=1)
    assert (tile.x0, tile.x1) == approx((widths[0], widths[:2].sum()))
    for name, which in (("scores", 0), ("map", 1), ("gradients", 1)):
        box = marks(shown, name, Box)[which]
        assert (box.x0, box.x1) == (3.5, 7.5)


def test_the_maximum_so_far_is_a_step_and_the_tile_is_framed():
    subject, data, found = opened(swept=0.5)
    shown = subject.show(data)
    line = mark(shown, "scores", Line, "maximum so far")
    across = np.diff(line.y)[np.diff(line.x) != 0]
    assert (across[np.isfinite(across)] == 0).all()
    boxes = [mark(shown, "scores", Box, "tile 2"), marks(shown, "map", Box)[1]]
    assert [(box.x0, box.x1) for box in boxes] == [(7.5, 11.5)] * 2
    assert unmarked(subject.said(data)).endswith(f"times {exp(found.top[0] - found.top[1]):.4g}.")


@pytest.mark.parametrize("column", [-1, 2])
def test_a_key_is_marked_in_all_panels_once_it_is_chosen(column):
    subject, data, found = opened(column=column)
    shown = subject.show(data)
    at = column if column >= 0 else nan
    for name in ("scores", "map", "gradients"):
        box = marks(shown, name, Box)[-1]
        assert box.kind == GUIDE and (box.x0, box.x1) == near((at - 0.5, at + 0.5))
    middle = found.P[8, :2].sum() + found.P[8, 2] / 2 if column >= 0 else nan
    assert [each for each in marks(shown, "backward", Rule) if each.label][0].at == near(middle)
