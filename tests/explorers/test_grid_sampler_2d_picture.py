"""The panels and the words of the sampler's stage show the numbers of the data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from panelled_explorer import mark, marks, panel
from pytest import approx
from together import in_one

from aclnn_viz.explorers.by_operator.grid_sampler_2d import (
    GRADIENT,
    MOVED,
    READ,
    plays,
    subject,
)
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import State, compute, pixel_units
from aclnn_viz.pictures.marks import Arrows, Box, Grip, Handles, Heat, Image, Line, Rule
from aclnn_viz.pictures.palette import coloured

show = subject().show


def at(**values):
    return compute(State(**values))


BICUBIC = {"interpolationMode": 2}
LOST, NEAR = BICUBIC | {"paddingMode": 0}, {"moved": ((5, 14, 0.95, 0.0),)}


@pytest.fixture(scope="module")
def data():
    return at(**BICUBIC, dtype="float64")


@pytest.fixture(scope="module")
def shown(data):
    return show(data)


def test_out_has_the_scale_of_the_image_and_negative_gradients_diverge(shown, data):
    image = mark(shown, "out", Image)
    assert_array_equal(image.values, data.out)
    assert (image.map, image.low, image.high) == (
        "picture",
        min(0.0, data.out.min()),
        max(1.0, data.out.max()),
    )
    heat = mark(shown, "inputGrad", Heat)
    assert data.inputGrad.min() < 0 and heat.map == "diverging" and heat.values is data.inputGrad


@in_one
@pytest.mark.parametrize("values", [{}, {"alignCorners": True}, {"width": 7, "height": 4}])
def test_both_x_axes_are_named_by_x(values):
    made = show(compute(state := State(**values)))
    offset, factor = pixel_units(state.width, state.alignCorners)
    for name in ("image", "map"):
        axis = panel(made, name).x
        places, texts = zip(*axis.ticks)
        assert ",".join(texts) == "−3,−2,−1,x = 0,1,2,3"
        assert [offset + factor * place for place in places] == approx(range(-3, 4))
        assert axis.low < places[0] and places[-1] < axis.high
    assert panel(made, "map").below == "image" and panel(made, "image").height == 0


def test_the_arrow_points_along_the_gradient_of_the_chosen_point(shown, data):
    (arrow,) = marks(shown, "image", Arrows)
    gradient = data.gridGrad[data.chosen]
    assert arrow.kind == GRADIENT and (arrow.x[0], arrow.y[0]) == tuple(data.pixels[data.chosen])
    length = np.hypot(arrow.dx[0], arrow.dy[0])
    assert [arrow.dx[0] / length, arrow.dy[0] / length] == approx(gradient / np.hypot(*gradient))
    still = marks(show(at(paddingMode=0, shift_x=2.0)), "image", Arrows)[0]
    assert still.dx[0] == still.dy[0] == 0.0


def test_grips_lie_on_the_cloth_and_their_units_lead_back_to_the_state():
    state = State(
        rotate=40.0,
        scale=0.8,
        shift_x=0.3,
        shift_y=-0.2,
        grid_height=1,
        grid_width=1,
        row=0,
        column=0,
    )
    made = compute(state)
    corner, turn, middle = marks(show(made), "image", Grip)
    assert [grip.way for grip in (corner, turn, middle)] == ["scale", "turn", "place"]
    # the only point of a grid of one is its middle
    assert (middle.x, middle.y) == approx(tuple(made.pixels[0, 0]), abs=1e-5)
    places = [offset + factor * (middle.x, middle.y)[at] for offset, factor, at in middle.units]
    assert places == approx([state.shift_x, state.shift_y])
    assert np.hypot(corner.x - middle.x, corner.y - middle.y) == approx(0.8 * np.hypot(16, 16))
    # upright it would lie above the middle
    assert np.degrees(np.arctan2(turn.x - middle.x, middle.y - turn.y)) == approx(40.0)


def test_the_handles_are_the_points_and_their_units_lead_back_to_the_grid(shown, data):
    handles = mark(shown, "image", Handles)
    places = np.stack([handles.x, handles.y], -1)
    assert_array_equal(places, data.pixels)
    offset, factor = np.transpose(handles.units)
    assert_allclose(offset + factor * places, data.inputs["grid"][0], atol=1e-12)
    assert (
        (handles.row, handles.column) == data.chosen
        and handles.choose == ("row", "column")
        and handles.move == "moved"
    )


def test_units_of_small_images():
    assert [State(width=1, alignCorners=way).units[0] for way in (True, False)] == [(0, 0), (0, 2)]


def test_the_image_lies_on_its_continuation(shown, data):
    around, inner, coming = marks(shown, "image", Image)
    assert np.isnan(coming.values).all()  # nothing is sent
    assert_array_equal(around.values, data.surround)
    assert (-around.y, -around.x) == tuple(data.margin) and around.opacity < inner.opacity == 1
    assert_allclose(inner.values, data.inputs["input"][0, 0])


def test_the_way_leads_over_the_mirror_to_what_is_read():
    made = at()
    cloth, way = marks(show(made), "image", Line)
    assert (cloth.kind, way.kind) == (MOVED, READ)
    assert (way.x[0], way.y[0]) == tuple(made.pixels[made.chosen])
    assert (way.x[-1], way.y[-1]) == approx(tuple(made.read[0]), abs=1e-9)
    mirror, hair = marks(show(made), "image", Rule)
    assert (mirror.at, hair.at) == (31.5, made.pixels[made.chosen][0])
    assert not marks(show(at(column=3)), "image", Rule)[1:]


@in_one
@pytest.mark.parametrize(
    "values", [{}, {"interpolationMode": 1}, BICUBIC, {"paddingMode": 1}, LOST, LOST | NEAR]
)
def test_areas_in_the_lens_are_the_weights_and_its_title_names_their_looks(values):
    made = at(**values, column=14)
    lens = panel(show(made), "taps")
    boxes = [box for box in lens.marks if isinstance(box, Box)]
    areas = [(box.x1 - box.x0) * (box.y1 - box.y0) for box in boxes]
    found = made.taps[made.taps[:, 2] != 0]
    weights, inside = found[:, 2], found[:, 5] == 1
    assert areas == approx(abs(weights), abs=1e-9) and len(areas) > 0
    drawn = [(box.dashed, box.filled > 0) for box in boxes]
    assert drawn == [*zip(~inside, inside & (weights > 0))]
    looks = (False, False) in drawn, not inside.all()
    assert looks == ("hollow" in lens.title, "dashed" in lens.title) or len(areas) <= 4
    named = [f"{weight:.2f}" if len(areas) <= 4 else "" for weight in weights]
    assert [box.label for box in boxes] == named


def test_the_lens_is_filled_however_far_the_point_lies():
    made = at(**BICUBIC, moved=((5, 15, 9.0, -5.0),))
    image, *_ = (lens := panel(show(made), "taps")).marks
    padded = np.pad(made.inputs["input"][0, 0], 150, "symmetric")
    assert_array_equal(image.values, padded[int(image.y) + 150 :, int(image.x) + 150 :][:8, :8])
    assert image.x - 0.5 <= lens.x.low < lens.x.high <= image.x + 7.5


def test_colours_beyond_the_ends_and_of_nan():
    got = coloured(np.array([-9.0, 0.0, 1.0, 9.0, np.nan]), "grey", 0.0, 1.0)[:, 0]
    assert got.tolist() == [12, 12, 244, 244, 12]


def test_plays_lead_through_the_world_and_back_to_the_state():
    data = at()
    slide, send = plays(data)
    first, right, left, last = slide["frames"]
    x, y = (float(each) for each in data.inputs["grid"][0, 5, 15])
    assert first == last == {"moved": [[5, 15, x, y]]}
    assert (right["moved"][0][2], left["moved"][0][2]) == (3.0, -3.0)
    assert send["frames"][0] == {"sent": 0.0}
    done = at(**send["frames"][1])
    assert_array_equal(done.inputGrad, data.inputGrad)
    assert not np.isnan(marks(show(done), "image", Image)[2].values).any()  # and it stays in sight
