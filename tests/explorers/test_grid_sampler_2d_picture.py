"""The panels and the words of the grid sampler show the numbers of the data."""

import numpy as np
import pytest
from panelled_explorer import assert_fits, mark, marks, panel

from aclnn_viz.explorers.by_operator.grid_sampler_2d import NAMES, describe, headline, subject
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import State, compute
from aclnn_viz.pictures.marks import Arrows, Box, Dots, Handles, Heat, Image, Line, Note
from aclnn_viz.pictures.palette import MAPS, coloured, scale

show = subject().show


@pytest.fixture(scope="module")
def data():
    return compute(State(interpolationMode=2, dtype="float64"))


@pytest.fixture(scope="module")
def shown(data):
    return show(data)


@pytest.mark.parametrize("kind", range(3))
def test_outputs_are_shown_as_grey_levels_of_one_scale(shown, data, kind):
    image = mark(shown, f"out {NAMES[kind]}", Image)
    np.testing.assert_array_equal(image.values, data.outs[kind])
    assert (image.map, image.low, image.high) == (
        "grey",
        min(0.0, data.outs.min()),
        max(1.0, data.outs.max()),
    )


@pytest.mark.parametrize(
    "values, ticks",
    [
        ({}, ((-0.5, "x=−1"), (31.5, "x=1"))),
        ({"alignCorners": True}, ((0.0, "x=−1"), (31.0, "x=1"))),
        ({"width": 1, "height": 96}, ((0.0, "x=±1"),)),
    ],
)
def test_where_x_is_minus_1_and_1_stands_below_the_image_and_no_point_lies_on_it(values, ticks):
    image = panel(show(compute(State(**values))), "image")
    assert image.x.ticks == ticks and not any(isinstance(each, Note) for each in image.marks)


def test_negative_gradients_get_the_diverging_map(shown, data):
    heat = mark(shown, "inputGrad", Heat)
    assert data.inputGrad.min() < 0 and heat.map == "diverging" and heat.values is data.inputGrad


def test_arrows_are_the_gradients_in_one_scale(shown, data):
    every, chosen = marks(shown, "gridGrad", Arrows)
    factor = np.hypot(every.dx, every.dy).max() / np.hypot(*data.gridGrad.reshape(-1, 2).T).max()
    np.testing.assert_allclose(
        np.stack([every.dx, every.dy], -1), factor * data.gridGrad.reshape(-1, 2)
    )
    np.testing.assert_array_equal(np.stack([every.x, every.y], -1), data.pixels.reshape(-1, 2))
    assert [chosen.dx[0], chosen.dy[0]] == pytest.approx(factor * data.gridGrad[data.chosen])


def test_the_handles_are_the_points_and_their_units_lead_back_to_the_grid(shown, data):
    handles = mark(shown, "image", Handles)
    np.testing.assert_array_equal(np.stack([handles.x, handles.y], -1), data.pixels)
    grid = np.stack(
        [
            offset + factor * each
            for (offset, factor), each in zip(handles.units, (handles.x, handles.y))
        ],
        -1,
    )
    np.testing.assert_allclose(grid, data.inputs["grid"][0], atol=1e-12)
    assert (
        (handles.row, handles.column) == data.chosen
        and handles.choose == ("row", "column")
        and handles.move == "moved"
    )


@pytest.mark.parametrize(
    ("aligned", "size", "units"),
    [
        (True, 5, (-1.0, 0.5)),
        (False, 4, (-0.75, 0.5)),
        (True, 1, (0.0, 0.0)),
        (False, 1, (0.0, 2.0)),
    ],
)
def test_units_of_small_images(aligned, size, units):
    handles = mark(show(compute(State(width=size, alignCorners=aligned))), "image", Handles)
    assert handles.units[0] == pytest.approx(units)


def test_the_image_lies_on_its_continuation(shown, data):
    around, inner = marks(shown, "image", Image)
    np.testing.assert_array_equal(around.values, data.surround)
    assert (around.x, around.y) == (
        -data.margin[1],
        -data.margin[0],
    ) and around.opacity < inner.opacity == 1
    np.testing.assert_allclose(inner.values, data.inputs["input"][0, 0])


def test_lines_lead_from_the_chosen_point_to_what_each_mode_reads(shown, data):
    ends = {line.kind: (line.x[-1], line.y[-1]) for line in marks(shown, "image", Line)}
    for mode in range(3):
        # or at the edge of the panel
        assert ends[mode] == pytest.approx(tuple(data.sources[mode, :, 0]), abs=1.0)
    for axis in "xy":
        made = show(compute(State(axis=axis)))
        here = [dots for dots in marks(made, "map", Dots) if dots.x.size == 1]
        read = compute(State(axis=axis)).sources[:, "xy".index(axis), 0]
        assert {dots.kind: dots.y[0] for dots in here} == pytest.approx(dict(enumerate(read)))


def test_taps_tell_their_weights_and_pixels(data, shown):
    heat, taps = mark(shown, "taps", Heat), data.taps[data.state.paddingMode]
    np.testing.assert_array_equal(heat.values.ravel(), np.where(taps[:, 5] > 0, taps[:, 6], np.nan))
    assert [float(word.split("\n")[0]) for word in heat.words] == pytest.approx(
        taps[:, 2], abs=6e-4
    )
    outlined = {(box.y0 + 0.5, box.x0 + 0.5) for box in marks(shown, "inputGrad", Box)}
    assert outlined == {(row, column) for row, column, *_, inside, _ in taps.tolist() if inside}


def test_lightness_of_the_maps_is_monotone():
    lightness = {name: table @ [0.2126, 0.7152, 0.0722] for name, table in MAPS.items()}
    assert (np.diff(lightness["sequential"]) >= -0.5).all() and (
        np.diff(lightness["grey"]) >= 0
    ).all()
    half = lightness["diverging"]
    assert (np.diff(half[:128]) >= 0).all() and (np.diff(half[128:]) <= 0).all()


def test_colours_beyond_the_ends_and_of_nan():
    got = coloured(np.array([-9.0, 0.0, 1.0, 9.0, np.nan]), "grey", 0.0, 1.0)[:, 0]
    assert got.tolist() == [12, 12, 244, 244, 12]
    assert scale(np.array([-1.0, 0.5]))[0] == "diverging"


def test_the_words_tell_the_numbers():
    data = compute(State())
    words = describe(data)
    weight = data.taps[2, 0, 2]
    for text in (
        f"{weight:.4g}",
        f"{data.sources[2, 0, 0]:.4g}",
        "16 x 16 points on 32 x 32 pixels",
        "alignCorners False",
    ):
        assert text in words
    assert (
        headline(data)[0].startswith("■ zeros: nothing: outside → out 0")
        and "slope -16 in x" in headline(data)[2]
    )
    assert ["▶" in line for line in headline(data)] == [False, False, True, False]


def test_the_sign_of_the_chosen_alignment_is_free_of_the_label_beside_it():
    """In the column of a page 25 pixels are a unit of the panel: the sign has 14 of them, the label 21 and a space."""
    corners = next(
        panel for panel in subject().show(compute(State())).panels if panel.name == "corners"
    )
    places = {
        note.text.strip(): note.x
        for note in corners.marks
        if isinstance(note, Note) and note.y == 0
    }
    assert places["▶"] + 7 / 25 < places["−1"] - 21 / 25 and places["▶"] - 7 / 25 > corners.x.low


def test_the_words_follow_the_data():
    assert describe(compute(State(rotate=16.0))) != describe(compute(State()))


def test_a_small_or_a_narrow_image_fits_too():
    for values in (
        {},
        {"width": 1, "height": 96},
        {"width": 96, "height": 1, "alignCorners": True},
    ):
        made = show(compute(State(**values)))
        assert_fits(made)
        assert len(made.figure().axes) == 10


def test_the_place_of_the_chosen_mode_is_the_largest(shown, data):
    sizes = {dots.kind: dots.size for dots in marks(shown, "image", Dots)}
    assert len(sizes) == 3 and max(sizes, key=sizes.get) == data.state.paddingMode
    assert sizes.pop(data.state.paddingMode) > max(sizes.values())
