"""Pictures of numeric error: their numbers by hand, their text twins, and their images in both themes.

`python tests/figures/test_error_figures.py` draws the stored images anew, after somebody has looked at the new ones.
"""

import doctest
import importlib
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

from aclnn_viz import case, compare, open_device, operator
from aclnn_viz.accuracy.envelopes import Envelope, envelope, explain
from aclnn_viz.dtypes import FLOAT16, FLOAT32, FORMATS, float_format, ordinals, ulp
from aclnn_viz.figures import style
from aclnn_viz.figures.error_map import error_map
from aclnn_viz.figures.error_plot import error_plot
from aclnn_viz.figures.error_runs import error_runs
from aclnn_viz.figures.errors import VERDICTS, errors
from aclnn_viz.figures.histogram import CLASSES, ulp_histogram
from aclnn_viz.figures.ordinal_axis import ordinal_axis, value_at
from aclnn_viz.figures.provenance import Provenance, warning
from aclnn_viz.figures.row_errors import row_errors
from aclnn_viz.figures.standards_table import standards_table
from aclnn_viz.figures.text import number
from aclnn_viz.figures.windows import windows
from aclnn_viz.figures.worst_table import worst_elements

BASELINE = Path(__file__).parent / "baseline"
ATLAS = Provenance("dxOut of aclnnRmsNormGrad", "atlas:0", "Ascend910B2", "9.1.0", 7)
STAND_IN = replace(ATLAS, device="atlas:0 (stand-in)")
DPI = 52
# Root mean square of the difference, of 255. The Matplotlib of constraints.txt draws the same picture to the bit; the
# smallest mark of these pictures, when it is missing, gives more than 2.
TOLERANCE = 1.5


def few(actual, truth, **more):
    return errors(np.float16(actual), np.float64(truth), ATLAS, **more)


def sample(seed=0, shape=(2, 3, 12, 16), widen=1.0, source=ATLAS):
    """Numbers that no operator computes, so that pictures change only when drawing does."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(shape)
    noise = widen * 2e-4 * rng.standard_normal(shape)
    noise.reshape(-1)[:24] = 0
    noise.reshape(-1)[137] = 0.02
    actual = (truth.astype(np.float16).astype(np.float64) + noise).astype(np.float16)
    undecided = np.zeros(shape, bool)
    undecided.reshape(-1)[200:206] = True
    bound = 8e-4 + 5e-4 * np.abs(truth)
    return errors(actual, truth, source, envelope=Envelope(actual, bound, bound / 3, undecided),
                  inputs={"x": np.round(truth, 2), "rstd": np.full((*shape[:-1], 1), 0.5)})


def runs():
    return {"device": sample(source=STAND_IN), "host": sample(widen=0.2), "plan": sample(widen=3.0)}


def reports():
    truth = np.random.default_rng(1).standard_normal((8, 64))
    good, bad = truth.astype(np.float16), (truth * 1.004).astype(np.float16)
    return {"good": compare(good, truth, baseline=good), "bad": compare(bad, truth, baseline=good)}


PICTURES = {
    "error_plot": lambda: error_plot(sample()),
    "error_runs": lambda: error_runs(runs()),
    "ulp_histogram": lambda: ulp_histogram({"device": sample(source=STAND_IN)}),
    "ulp_histogram_runs": lambda: ulp_histogram(runs()),
    "error_map": lambda: error_map(sample()),
    "row_errors": lambda: row_errors(sample(shape=(24, 48)), 1),
    "worst_elements": lambda: worst_elements(sample(), 6),
    "standards": lambda: standards_table({"bad": reports()["bad"]}, {"bad": STAND_IN}),
    "standards_runs": lambda: standards_table(reports(), {"good": ATLAS, "bad": STAND_IN}),
    "nothing": lambda: error_plot(few([0, 0], [0, 0])),
}
EACH = pytest.mark.parametrize("name", PICTURES)


def save(figure, path):
    figure.savefig(path, dpi=DPI, metadata={"Software": None})
    return str(path)


def differs(figure, name, theme, folder):
    """What compare_images says of a figure against the stored image; it writes beside the files that it gets."""
    stored = folder / "stored.png"
    stored.write_bytes((BASELINE / f"{name}-{theme}.png").read_bytes())
    return compare_images(str(stored), save(figure, folder / "drawn.png"), TOLERANCE)


# Pictures

@EACH
@pytest.mark.parametrize("theme", style.THEMES)
def test_a_picture_is_the_one_that_was_looked_at(name, theme, tmp_path):
    assert differs(PICTURES[name]().figure(theme), name, theme, tmp_path) is None


def without(kind, index=-1):
    """Remove one artist, the last of its kind by default, from the first axes or from the figure."""
    def change(figure):
        (getattr(figure.axes[0], kind) if figure.axes else figure.texts)[index].remove()
    return change


@pytest.mark.parametrize(("name", "change"), [
    ("error_plot", without("lines")),  # the ring around the maximum
    ("error_plot", without("texts")),  # its name
    ("error_plot", without("collections")),  # an envelope
    ("error_runs", without("lines", 1)),
    ("ulp_histogram", without("patches", 4)),
    ("ulp_histogram_runs", without("patches", 3)),
    ("row_errors", without("lines")),
    ("row_errors", without("lines", -2)),  # the mark of a row that is not explained
    ("row_errors", without("texts")),
    ("error_map", lambda figure: figure.axes[1].images[0].set_array(figure.axes[1].images[0].get_array()[::-1])),
    ("error_map", lambda figure: [line.remove() for line in list(figure.axes[1].lines)]),
    ("worst_elements", lambda figure: figure.texts[20].set_text("0")),
    ("standards", lambda figure: figure.texts[10].remove()),
    ("standards_runs", lambda figure: figure.texts[8].set_text("✓ pass")),
    ("nothing", lambda figure: figure.texts[-1].remove()),
])
def test_a_changed_picture_is_rejected(name, change, tmp_path):
    figure = PICTURES[name]().figure()
    change(figure)
    assert "did not match" in (differs(figure, name, "light", tmp_path) or "the same")


def test_the_stored_images_are_small_and_all_in_use():
    stored = {path.name: path.stat().st_size for path in BASELINE.glob("*.png")}
    wanted = {f"{name}-{theme}.png" for name in PICTURES for theme in style.THEMES}
    assert wanted <= set(stored) and max(stored[name] for name in wanted) < 60_000


@EACH
def test_a_picture_is_900_pixels_wide_and_keeps_its_words_inside(name):
    figure = PICTURES[name]().figure()
    assert figure.get_figwidth() * figure.dpi == 900
    figure.draw_without_rendering()
    ticks = {text for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for text in axis.findobj(Text)}
    ticks -= {axis.label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)}
    for text in figure.findobj(Text):
        box = text.get_window_extent()
        inside = 0 <= box.x0 and box.x1 <= 900 and 0 <= box.y0 and box.y1 <= figure.bbox.height
        assert inside or text in ticks or not text.get_text(), text.get_text()  # ticks beyond an axis are not drawn


@EACH
def test_a_picture_states_where_its_numbers_come_from(name):
    picture = PICTURES[name]()
    drawn = " ".join(" ".join(text.get_text() for text in picture.figure().texts).split())
    words = ["n = ", "float16 [", "atlas:0", "Ascend910B2", "CANN 9.1.0", "seed 7"]
    words += ["not measured on hardware here", "(stand-in)"] if "stand-in" in picture.caption else []
    assert [word for word in words if word not in drawn] == [] == [word for word in words if word not in picture.text]


def test_a_notebook_shows_the_picture_and_reads_the_text():
    shown = error_plot(sample())._repr_mimebundle_()
    assert shown["image/png"].startswith(b"\x89PNG") and shown["text/plain"] == str(error_plot(sample()))


def test_a_theme_is_light_or_dark():
    with pytest.raises(ValueError, match="theme must be light or dark: got 'blue'; choose one"):
        error_plot(sample()).figure("blue")


def test_drawing_leaves_no_settings_behind():
    from matplotlib import rcParams
    before = dict(rcParams)
    error_plot(sample()).png("dark")
    assert dict(rcParams) == before


# Where numbers come from

@pytest.mark.parametrize(("device", "measured"), [
    ("atlas:0", True), ("atlas:1 (custom AddCustom, RmsNorm)", True), ("host", False), ("atlas:0 (stand-in)", False),
    ("atlas:0 (stand-in; custom AddCustom)", False), ("prediction", False),
    ("capsule a.npz, recorded on atlas:0 at noon", False),
])
def test_only_an_atlas_measures(device, measured):
    source = Provenance("out", device)
    assert source.measured == measured and (device in warning({"": source})) != measured


def test_a_case_and_a_device_tell_their_provenance():
    with open_device("host", soc="Ascend910B2", cann="9.0") as device:
        source = Provenance.of(case("hardswish", seed=5), "out", device)
    assert source == Provenance("out of aclnnHardswishBackward", "host", "Ascend910B2", "9.0.0", 5)


# Errors by hand: float16 has spacing 2**-10 at 1 and 2**-9 at 2.

def test_ulps_are_measured_from_the_truth_and_steps_from_the_rounded_truth():
    e = few([1, 1 + 2**-10, 2], [1, 1 + 2**-11 + 2**-12, 2 - 2**-9])
    assert (e.ulps.tolist(), e.steps.tolist()) == ([0, 0.25, 2], [0, 0, 2])


def test_special_numbers_agree_or_are_infinitely_far():
    e = few([np.inf, np.nan, np.inf, np.nan, 1], [1e6, np.nan, 1, 1, np.nan])
    assert e.ulps.tolist() == [0, 0, np.inf, np.inf, np.inf] and e.differing == 3
    assert e.steps.tolist() == [0, 0, 0x7C00 - 0x3C00, np.inf, np.inf]
    assert e.finite.tolist() == [False] * 5


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
def test_finite_is_what_the_rounded_truth_is(fmt):
    edge = np.float64([1, fmt.largest, -fmt.largest])
    tie = fmt.largest + ulp(fmt.largest, fmt).item() / 2 if fmt.bits < 64 else fmt.largest
    above = np.nextafter(tie, 0)
    e = errors(np.ones(4, fmt.numpy), np.append(edge, above).astype(np.longdouble), ATLAS)
    assert e.finite.all()
    if fmt.bits < 64:
        assert not errors(np.ones(1, fmt.numpy), np.float64([tie]), ATLAS).finite.any()


def test_verdicts_are_those_of_explain():
    for name in ("hardswish", "rms_norm", "grid_sampler_2d"):
        op, inputs = operator(name), case(name, dtype="float16", seed=2).inputs
        truth, actual = op.truth(**inputs), op.backward(**inputs)
        for output, env in envelope(op, **inputs).items():
            wrong = actual[output].copy()
            wrong.reshape(-1)[::3] *= np.float16(1.01)
            counts = errors(wrong, truth[output], ATLAS, envelope=env).counts()
            said = explain(wrong, truth[output], env)
            assert list(counts.values()) == [said.explained, said.not_explained, said.undecided]
            assert counts["not explained"] > 0 or name == "grid_sampler_2d"


def test_the_expected_width_is_never_above_the_bound():
    env = Envelope(np.zeros(2), np.float64([1, 3]) * 2**-10, np.float64([2, 2]) * 2**-10, np.zeros(2, bool))
    assert few([1, 1], [1, 1], envelope=env).expected.tolist() == [1, 2]


def test_an_envelope_of_another_shape_is_refused():
    with pytest.raises(ValueError, match=r"shape of the output, \(2,\): got \(3,\)"):
        few([1, 1], [1, 1], envelope=Envelope(*(np.zeros(3),) * 4))


def test_inputs_are_looked_up_where_they_broadcast_in_place():
    e = few([[1, 2], [3, 4]], [[1, 2], [3, 5]], inputs={
        "x": np.arange(4.0).reshape(2, 2), "rstd": np.float32([[7], [8]]), "gamma": np.ones(2), "epsilon": 1e-6})
    assert (e.worst, e.index(e.worst), e.inputs_at(e.worst)) == (3, (1, 1), {"x": 3, "rstd": 8})


# The axis of values

@pytest.mark.parametrize("fmt", FORMATS, ids=lambda f: f.name)
def test_ordinals_have_a_way_back(fmt):
    values = np.float64([-fmt.largest, -1.5, -fmt.smallest_subnormal, 0, 2.0**-14, 3])
    assert value_at(ordinals(values.astype(fmt.numpy)), fmt).tolist() == values.tolist()


def test_equal_room_for_every_number_and_a_gap_around_zero():
    axis = ordinal_axis(ordinals(np.float16([-4, -1, 0, 1, 4])), FLOAT16)
    far, near, zero, *rest = axis.x(ordinals(np.float16([-4, -1, 0, 1, 4])))
    assert [zero, *rest] == [0, -near, -far] and near - far == 2 * 1024 and -near == axis.gap == 0.05 * 4 * 1024


def test_ticks_increase_and_lie_where_their_labels_say():
    places = ordinals(np.float32([-3e4, -1e-5, 1e-5, 3e4]))
    axis = ordinal_axis(places, FLOAT32)
    at, labels = axis.ticks()
    ascii_ = str.maketrans("−⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "--0123456789")
    plain = [float(re.sub("10(?=[⁻⁰¹²³⁴⁵⁶⁷⁸⁹])", "1e", label).translate(ascii_)) for label in labels]
    assert len(at) >= 5 and sorted(at) == at and 0.0 in plain
    assert axis.x(ordinals(np.float32(plain))).tolist() == at


def test_a_short_axis_gets_round_numbers_and_one_value_one_tick():
    assert ordinal_axis(ordinals(np.float16([1.5, 1.9])), FLOAT16).ticks()[1][0] == "1.52"
    assert ordinal_axis(ordinals(np.float16([1.5])), FLOAT16).ticks()[1] == ["1.5"]


# Running statistics

def test_windows_by_hand():
    truth = np.float64([*range(1, 17), -1, 0, 0])
    w = windows(few(truth + np.arange(19) * 2**-9, truth))
    assert (w.size, w.count.tolist()) == (8, [1, 2, 8, 8, 8])
    assert w.first.tolist() == [-1, 0, 1, 5, 9] and w.last.tolist() == [-1, 0, 8, 12, 16]
    e = few(truth + np.arange(19) * 2**-9, truth)
    assert w.median.tolist()[2] == np.median(e.ulps[:8]) and w.maximum[4] == e.ulps[8:16].max()


def test_a_running_line_breaks_at_zero():
    e = few([-1, 0, 1, 2], [-1, 0, 1, 2])
    w, axis = windows(e), ordinal_axis(e.place, FLOAT16)
    x, y = w.curve(w.median, axis)
    assert np.isnan(x).sum() == np.isnan(y).sum() == 3 and x[0] == axis.x(e.place)[0]


# What each picture shows

def test_the_plot_draws_the_worst_and_all_verdicts_of_large_outputs():
    truth = np.linspace(1, 2, 20_000)
    actual = truth.astype(np.float32)
    actual[[5, 777]] = 1.5, np.inf
    undecided = np.arange(20_000) == 9_999
    width = Envelope(actual, truth * 1e-6, truth * 1e-7, undecided)
    picture = error_plot(errors(actual, truth, ATLAS, envelope=width))
    assert {5, 777, 9_999} <= set(picture.shown) and picture.shown.size < 4_100
    assert "20,000" in picture.caption and "1 infinite errors" in picture.caption and "2 of 20,000 not" in picture.title


def test_the_histogram_counts_signed_steps():
    e = few([1, 1 + 2**-10, 1 - 2**-11, 1 + 5 * 2**-10, np.nan], [1, 1, 1, 1, 1])
    assert dict(zip(CLASSES, ulp_histogram({"a": e}).counts["a"].tolist())) == dict.fromkeys(CLASSES, 0) | {
        "exact": 1, "+1": 1, "−1": 1, "> +3": 1, "nan": 1}


def test_the_histogram_agrees_with_the_measures():
    e = sample()
    counts = ulp_histogram({"a": e}).counts["a"]
    measured = compare(e.actual.astype(np.float16), e.truth).ulp_counts
    folded = [counts[4], counts[3] + counts[5], counts[2] + counts[6], counts[1] + counts[7],
              counts[0] + counts[8] + counts[9]]
    assert folded == list(measured.values()) and sum(folded) == e.size


def test_the_map_takes_the_maximum_over_samples_and_channels():
    truth = np.ones((2, 1, 2, 2))
    actual = truth + 2**-10 * np.float64([[[[0, 1], [2, 0]]], [[[0, 3], [1, 0]]]])
    picture = error_map(few(actual, truth))
    assert picture.ulps.tolist() == [[0, 3], [2, 0]] and picture.worst == (0, 1)
    assert "2 of them without error" in picture.text and "row 0, column 1: 3 ulp" in picture.text
    with pytest.raises(ValueError, match=r"\(\.\.\., H, W\): got \(1,\)"):
        error_map(few([1], [1]))


def test_rows_by_hand():
    actual = [[1, 1 + 2**-10, 1 + 2**-9], [0, 0, 0], [2, 2, 2]]
    picture = row_errors(few(actual, [[1, 1, 1], [0, 0, 0], [2, 2, 2]]), 1)
    assert (picture.median.tolist(), picture.maximum.tolist()) == ([1, 0, 0], [2, 0, 0])
    # The 2-norm of (0, 1, 2) * 2**-10 over that of (1, 1, 1); u is 2**-11.
    assert picture.relative.tolist() == pytest.approx([2 * 5**0.5 / 3**0.5, 0, 0])
    counted = row_errors(sample(shape=(24, 48)), 1)
    assert (counted.missed.nonzero()[0].tolist(), counted.undecided.nonzero()[0].tolist()) == ([2], [4])
    with pytest.raises(ValueError, match=r"axes must be from 1 to 1 for the shape \(3, 3\): got 2"):
        row_errors(few(actual, actual), 2)


def test_the_worst_elements_come_first():
    picture = worst_elements(few([1, 1 + 2**-10, np.nan, 1 + 2**-9], [1, 1, 1, 1], inputs={"x": np.arange(4.0)}), 3)
    assert picture.positions.tolist() == [2, 3, 1]
    assert picture.rows[1] == ["2", "[3]", "1.00195", "1", "2", "x = 3"]
    with pytest.raises(ValueError, match="count must be at least 1: got 0"):
        worst_elements(few([1], [1]), 0)


def test_a_run_on_one_axis_shares_truth_format_and_shape():
    with pytest.raises(ValueError, match="another truth for b"):
        error_runs({"a": few([1], [1]), "b": few([1], [2])})
    with pytest.raises(ValueError, match=r"got float16 \[1\] and float16 \[2\]"):
        ulp_histogram({"a": few([1], [1]), "b": few([1, 1], [1, 1])})
    for count in (0, 6):
        with pytest.raises(ValueError, match=f"1 to 5 runs: got {count}"):
            error_runs({str(k): few([1], [1]) for k in range(count)})


def test_the_standards_table_holds_every_verdict_and_its_reason():
    report = reports()["bad"]
    picture = standards_table({"bad": report}, {"bad": ATLAS})
    said = {row[0]: row[1:] for row in picture.rows}
    signs = {"pass": "✓ pass", "fail": "✗ FAIL", "not applicable": "– n/a"}
    assert said == {name: [signs[v.outcome], v.reason] for name, v in report.verdicts.items()}
    outcomes = [verdict.outcome for verdict in report.verdicts.values()]
    assert f"{outcomes.count('pass')} standards accept what {outcomes.count('fail')} refuse" in picture.title
    assert picture.rows[0][1] == "✗ FAIL"


def test_standards_that_judge_runs_differently_come_first_and_are_marked():
    both = reports()
    picture = standards_table(both, {"good": ATLAS, "bad": STAND_IN})
    apart = [name for name in both["good"].verdicts
             if both["good"].verdicts[name].outcome != both["bad"].verdicts[name].outcome]
    assert apart and [row[0] for row in picture.rows if row[0].startswith("≠")] == [f"≠ {name}" for name in apart]
    assert [row[0] for row in picture.rows[:len(apart)]] == [f"≠ {name}" for name in apart]


def test_a_table_of_standards_names_its_runs():
    with pytest.raises(ValueError, match="each with its provenance by the same name"):
        standards_table(reports(), {"good": ATLAS})
    other = compare(np.float16([1]), np.float64([1]))
    with pytest.raises(ValueError, match=r"float16 \[1\] and float16 \[8, 64\]"):
        standards_table(reports() | {"bad": other}, {"good": ATLAS, "bad": ATLAS})


# Text twins

def test_the_twins_hold_the_numbers_of_the_pictures():
    plot, rows, many = error_plot(sample()), row_errors(sample(shape=(24, 48)), 1), error_runs(runs())
    worst = number(plot.errors.ulps.max())
    for values in (plot.windows.median, plot.windows.maximum, plot.windows.bound, plot.windows.expected):
        assert all(number(v) in plot.text for v in values)
    assert f"maximum {worst} ulp at {list(plot.errors.index(plot.errors.ulps.argmax()))}" in plot.text
    assert [f"{count:,} {name}" in plot.text for name, count in plot.errors.counts().items()] == [True] * len(VERDICTS)
    assert all(number(v) in rows.text for v in np.sort(rows.maximum)[-12:])
    assert all(number(v) in many.text for w in many.windows.values() for v in (*w.median, *w.maximum))
    counts = ulp_histogram(runs())
    assert all(f"{v:,}" in counts.text for row in counts.counts.values() for v in row)
    table = worst_elements(sample())
    assert all(cell in table.text for row in table.rows for cell in row)
    label = [text.get_text() for text in plot.figure().axes[0].texts if "max" in text.get_text()]
    assert label and worst in label[0] and "x = " in label[0] and "rstd = 0.5" in label[0]


# Data with nothing to show, and numbers at the edges

NOTHING = {
    "no elements": (np.zeros((0, 4), np.float32), np.zeros((0, 4)), "There are no elements"),
    "all zero": (np.zeros((3, 4), np.float32), np.zeros((3, 4)), "zero everywhere (12 elements)"),
    "no finite pair": (np.full((3, 4), np.nan, np.float32), np.zeros((3, 4)), "No element is finite in both"),
}


@pytest.mark.parametrize("kind", NOTHING)
def test_a_picture_says_that_there_is_nothing_to_show(kind):
    actual, truth, words = NOTHING[kind]
    e = errors(actual, truth, ATLAS)
    for picture in (error_plot(e), error_runs({"a": e}), ulp_histogram({"a": e}), error_map(e), row_errors(e, 1),
                    worst_elements(e)):
        drawn = " ".join(text.get_text().replace("\n", " ") for text in picture.figure().texts)
        assert words in picture.text and words in drawn and not picture.figure().axes


def test_standards_say_that_there_is_nothing_to_judge():
    report = compare(np.zeros(0, np.float32), np.zeros(0))
    picture = standards_table({"a": report}, {"a": ATLAS})
    assert "no standard applies" in picture.title and "there are no elements to judge" in picture.text
    picture.png()


@pytest.mark.parametrize("dtype", [f.name for f in FORMATS])
def test_edges_are_drawn_without_a_warning(dtype):
    fmt = float_format(dtype)
    tiny, huge = fmt.smallest_subnormal, fmt.largest
    truth = np.longdouble([[1, tiny, -tiny, huge], [0, np.nan, np.inf, -huge], [1, 1, np.nan, np.inf]])
    actual = np.array([[np.inf, 0, -tiny, huge], [tiny, 1, np.inf, huge], [np.nan, -1, np.nan, 1]]).astype(fmt.numpy)
    e = errors(actual, truth, ATLAS)
    pictures = [error_plot(e), error_runs({"a": e}), ulp_histogram({"a": e}), error_map(e), row_errors(e, 1),
                worst_elements(e), error_plot(errors(actual[0, 1:], truth[0, 1:], ATLAS)),
                error_plot(errors(np.ones(1, fmt.numpy), np.ones(1), ATLAS))]
    for picture in pictures:
        picture.figure("dark").draw_without_rendering()
        assert picture.caption in picture.text
    assert "maximum inf ulp" in pictures[0].title


@pytest.mark.parametrize("name", ["errors", "error_plot", "error_runs", "error_map", "histogram", "ordinal_axis",
                                  "provenance", "row_errors", "standards_table", "style", "table", "worst_table"])
def test_the_examples_of_the_docstrings_hold(name):
    result = doctest.testmod(importlib.import_module(f"aclnn_viz.figures.{name}"))
    assert result.attempted and not result.failed


if __name__ == "__main__":
    for each, make in PICTURES.items():
        for theme in style.THEMES:
            sys.stdout.write(save(make().figure(theme), BASELINE / f"{each}-{theme}.png") + "\n")
