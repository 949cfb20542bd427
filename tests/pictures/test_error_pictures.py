"""Contents of pictures of numeric error, with equal text twins."""

import numpy as np
import pytest
from pictures.error_samples import ATLAS, PICTURES, few, runs, sample

from aclnn_viz.accuracy.envelopes import Envelope
from aclnn_viz.dtypes import FORMATS, float_format
from aclnn_viz.pictures.error_plot import error_plot, error_runs, running
from aclnn_viz.pictures.errors import errors
from aclnn_viz.pictures.marks import Dots
from aclnn_viz.pictures.text import number


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_states_where_its_numbers_come_from(name):
    picture = PICTURES[name]()
    drawn = " ".join(" ".join(text.get_text() for text in picture.figure().texts).split())
    words = ["n = ", "float16 [", "atlas:0", "Ascend910B2", "CANN 9.1.0", "seed 7"]
    if "stand-in" in picture.notices[0]:
        words += ["not measured on hardware here", "(stand-in)"]
    for text in drawn, picture.text:
        assert [word for word in words if word not in text] == []


def test_drawing_leaves_no_settings_behind():
    from matplotlib import rcParams

    before = dict(rcParams)
    error_plot(sample()).png("dark")
    assert dict(rcParams) == before


def test_the_plot_draws_the_worst_and_all_verdicts_of_large_outputs():
    truth = np.linspace(1, 2, 20_000)
    actual = truth.astype(np.float32)
    actual[[5, 777]] = 1.5, np.inf
    undecided = np.arange(20_000) == 9_999
    width = Envelope(actual, truth * 1e-6, truth * 1e-7, undecided)
    picture = error_plot(errors(actual, truth, ATLAS, envelope=width))
    assert "20,000" in picture.text and "2 of 20,000 not" in picture.title
    marks = {mark.label: mark.x for mark in picture.panels[0].marks if isinstance(mark, Dots)}
    assert 3_000 < marks.pop("explained").size <= 4_001
    assert {name: x.tolist() for name, x in marks.items()} == {
        "undecided": [truth[9_999]],
        "not explained": [truth[5]],
        "infinite error": [truth[777]],
    }


def test_of_many_elements_the_worst_is_drawn():
    truth = np.ones(50_000)
    actual = truth.astype(np.float32)
    actual[31_337] = 1.5
    (dots,) = [
        m for m in error_plot(errors(actual, truth, ATLAS)).panels[0].marks if type(m) is Dots
    ]
    assert dots.y.max() == 2.0**22 and dots.y.size < 4_100


def test_a_run_on_one_axis_shares_truth_format_and_shape():
    one = few([1], [1])
    for named, said in (
        ({"a": one, "b": few([1], [2])}, "another truth for b"),
        ({"a": one, "b": few([1, 1], [1, 1])}, r"got float16 \[1\] and float16 \[2\]"),
        *((dict.fromkeys("abcdef"[:many], one), f"1 to 5 runs: got {many}") for many in (0, 6)),
    ):
        with pytest.raises(ValueError, match=said):
            error_runs(named)


def test_no_element_within_its_bound_is_drawn_above_the_band():
    marks = {mark.label: mark for mark in error_plot(sample()).panels[0].marks if mark.label}
    band, dots = marks["hard bound, the largest nearby"], marks["explained"]
    top = np.interp(dots.x, band.x[~np.isnan(band.x)], band.high[~np.isnan(band.x)])
    assert dots.x.size > 10 and np.all(dots.y <= top * (1 + 1e-9))


def test_the_twins_hold_the_numbers_of_the_pictures():
    e, many = sample(), error_runs(runs())
    picture, worst = error_plot(e), number(e.ulps.max())
    assert f"maximum {worst} ulp at {list(e.index(e.ulps.argmax()))}" in picture.text
    assert all(
        number(v) in many.text
        for run in runs().values()
        for statistic in (np.median, np.max)
        for v in running(run, statistic, run.ulps, 1e9)[1]
    )
    figure = picture.figure()
    label = [text.get_text() for text in figure.axes[0].texts if "max" in text.get_text()]
    assert label and worst in label[0]
    assert any(
        "x = " in text.get_text() and "rstd = 0.5" in text.get_text() for text in figure.texts
    )


# Data with nothing to show, and numbers at the edges


@pytest.mark.parametrize(
    "rows, value, words",
    [
        (0, 0.0, "There are no elements"),
        (3, 0.0, "zero everywhere (12 elements)"),
        (3, np.nan, "No element is finite in both"),
    ],
)
def test_a_picture_says_that_there_is_nothing_to_show(rows, value, words):
    e = few(np.full((rows, 4), value), np.zeros((rows, 4)))
    for picture in (error_plot(e), error_runs({"a": e})):
        drawn = " ".join(text.get_text().replace("\n", " ") for text in picture.figure().texts)
        assert words in picture.text and words in drawn and not picture.figure().axes


@pytest.mark.parametrize("dtype", [f.name for f in FORMATS])
@pytest.mark.sampled(1)
def test_edges_are_drawn_without_a_warning(dtype):
    fmt = float_format(dtype)
    tiny, huge = fmt.smallest_subnormal, fmt.largest
    truth = np.float64([[1, tiny, -tiny, huge], [0, np.nan, np.inf, -huge], [1, 1, np.nan, np.inf]])
    actual = np.array(
        [[np.inf, 0, -tiny, huge], [tiny, 1, np.inf, huge], [np.nan, -1, np.nan, 1]]
    ).astype(fmt.numpy)
    e = errors(actual, truth, ATLAS)
    pictures = [
        error_plot(e),
        error_runs({"a": e}),
        error_plot(errors(actual[0, 1:], truth[0, 1:], ATLAS)),
        error_plot(errors(np.ones(1, fmt.numpy), np.ones(1), ATLAS)),
    ]
    for picture in pictures:
        picture.figure("dark").draw_without_rendering()
        assert picture.notices[0] in picture.text
    assert "maximum inf ulp" in pictures[0].title
