"""Panels drawn with Matplotlib: legends, rows, words that stay inside; what each mark looks like is in test_error_images.py."""

import io

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from panel_samples import nothing_to_see, sample, sample_panels

from aclnn_viz.pictures.figure import OPACITY, laid_out
from aclnn_viz.pictures.marks import Band, Dots, Heat, Line, Rule
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture


def shown(panels, headline=(), theme="light"):
    return Picture(tuple(headline), tuple(panels), "").figure(theme)


def drawn(*marks, **more):
    """Return the axes of a single panel with these marks."""
    (axes,) = shown([Panel("p", "", marks, **more)]).axes
    return axes


def test_negative_cells_without_room_for_numbers_carry_a_sign():
    image = drawn(Heat(np.array([[-1.0, 1.0]]), "diverging", -1.0, 1.0))
    assert [text.get_text() for text in image.texts[:2]] == ["−", ""]


def test_the_legend_names_labelled_series_once():
    line = Line(np.arange(3.0), np.arange(3.0), 1, "out")
    others = Dots(line.x, line.y, 1, "out"), Line(line.x, -line.y, 2), Rule("x", 1.0, "here")
    assert [text.get_text() for text in drawn(line, *others).get_legend().texts] == ["out"]


def test_the_legend_shows_bands_as_they_lie_over_each_other():
    x = np.arange(3.0)
    bands = Band(x, 0 * x, 2 * x, 1, "possible"), Band(x, 0 * x, x, 1, "expected")
    legend = drawn(*bands).get_legend()
    # one, then two in one place
    assert (
        len([one for one in legend.findobj(Rectangle) if one.get_facecolor()[3] == OPACITY["band"]])
        == 3
    )


@pytest.mark.parametrize(
    ("many", "scale"), [(4, "linear"), (40, "linear"), (40, "log")], ids=["few", "many", "log"]
)
def test_texts_of_the_x_axis_do_not_cover_each_other(many, scale):
    ticks = tuple((k, f"{k},{k % 5}") for k in range(1, many + 1))
    line = Line(np.arange(1.0, many + 1), np.arange(float(many)))
    axes = drawn(line, x=Axis("", scale=scale, ticks=ticks), span=5)
    axes.figure.draw_without_rendering()
    boxes = [
        text.get_window_extent()
        for text in axes.get_xticklabels()
        if text.get_text() and text.get_visible()
    ]
    assert len(axes.get_xticks()) == many  # all lines of the grid stay
    assert len(boxes) == 4 if many == 4 else 4 < len(boxes) < many
    assert all(one.x1 <= other.x0 for one, other in zip(boxes, boxes[1:]))


@pytest.mark.parametrize(
    ("spans", "rows"),
    [
        ([10, 10, 20], [[0, 10], [0]]),
        ([8, 8, 8], [[0, 8], [0]]),
        ([5, 16, 4], [[0], [0, 16]]),
        ([7, 8, 5, 8, 5, 10], [[0, 7, 15], [7, 15], [0]]),
        ([], []),
    ],
)
def test_rows_are_filled_from_the_left_beside_a_panel_that_reaches_down(spans, rows):
    down = [2 if span == 7 else 1 for span in spans]
    found = laid_out([Panel("p", "", (), span=s, rows=n) for s, n in zip(spans, down)])
    assert [(row, left) for _, row, left in found] == [
        (k, left) for k, row in enumerate(rows) for left in row
    ]


def test_words_of_all_panels_stay_inside_the_figure():
    made = sample().figure()
    made.draw_without_rendering()
    for each in made.axes:
        box = each.get_tightbbox()
        assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= 1240 and box.y1 <= made.bbox.height - 15, (
            each.get_label()
        )


def test_a_long_headline_ends_above_the_panels():
    made = shown(sample_panels(), ["Words with gaps, g and y."] * 8)
    made.draw_without_rendering()
    titles = [text for each in made.axes for text in each.texts if text.get_gid() == "title"]
    assert made.texts[0].get_window_extent().y0 > max(
        text.get_window_extent().y1 for text in titles
    )


@pytest.mark.filterwarnings("error")
def test_nothing_to_see_is_drawn_without_a_warning():
    assert shown(nothing_to_see()).savefig(io.BytesIO(), format="svg") is None


def test_a_million_dots_do_not_make_a_huge_svg():
    held = io.BytesIO()
    many = np.linspace(0.0, 1.0, 65_536)
    drawn(Dots(many, many, size=1.0), x=Axis("x")).figure.savefig(held, format="svg")
    assert len(held.getvalue()) < 300_000


def test_another_theme_is_refused():
    with pytest.raises(ValueError, match="theme must be light or dark: got 'grey'; choose one"):
        shown([], theme="grey")
