"""The figure and the words of the grid sampler show the numbers of the data."""

import io

import numpy as np
import pytest
from aclnn_viz.explorers.grid_sampler_2d_data import State, compute
from aclnn_viz.pictures.grid_sampler_2d import figure
from aclnn_viz.pictures.grid_sampler_2d_text import describe, headline
from aclnn_viz.pictures.palette import MAPS, coloured, scale


@pytest.fixture(scope="module")
def data():
    return compute(State(interpolationMode=2, dtype="float64"))


@pytest.fixture(scope="module")
def axes(data):
    return {each.get_label(): each for each in figure(data).axes}


@pytest.mark.parametrize("kind", range(3))
def test_outputs_are_shown_as_grey_levels(axes, data, kind):
    low, high = min(0.0, data.outs.min()), max(1.0, data.outs.max())
    share = (data.outs[kind] - low) / (high - low)
    shown = axes[("zeros", "border", "reflection")[kind]].images[0].get_array()[..., 0]
    # The grey map runs from 12 to 244 over 256 levels: half a level of the map and half of a byte.
    np.testing.assert_allclose(shown, 12 + share * 232, atol=1.0)


def test_negative_gradients_get_the_diverging_map(axes, data):
    assert data.inputGrad.min() < 0 and scale(data.inputGrad)[0] == "diverging"
    colours = np.asarray(axes["inputGrad"].images[0].get_array()).astype(int)
    strong = np.abs(data.inputGrad) > 0.3 * np.abs(data.inputGrad).max()
    bluer = colours[..., 2] > colours[..., 0]
    np.testing.assert_array_equal(bluer[strong], data.inputGrad[strong] < 0)


def test_arrows_are_the_gradients_in_one_scale(axes, data):
    arrows = next(each for each in axes["gridGrad"].collections if hasattr(each, "U"))
    np.testing.assert_allclose(np.stack([arrows.U, arrows.V], -1), data.gridGrad.reshape(-1, 2))


def test_the_points_stand_on_their_pixels(axes, data):
    drawn = max((line.get_xydata() for line in axes["image"].lines), key=len)
    np.testing.assert_allclose(drawn, data.pixels.reshape(-1, 2))


def test_lightness_of_the_maps_is_monotone():
    lightness = {name: table @ [0.2126, 0.7152, 0.0722] for name, table in MAPS.items()}
    assert (np.diff(lightness["sequential"]) >= -0.5).all() and (np.diff(lightness["grey"]) >= 0).all()
    half = lightness["diverging"]
    assert (np.diff(half[:128]) >= 0).all() and (np.diff(half[128:]) <= 0).all()


def test_colours_beyond_the_ends_and_of_nan():
    got = coloured(np.array([-9.0, 0.0, 1.0, 9.0, np.nan]), "grey", 0.0, 1.0)[:, 0]
    assert got.tolist() == [12, 12, 244, 244, 12]


def test_the_words_tell_the_numbers():
    data = compute(State())
    words = describe(data)
    weight, gradient = data.taps[2, 0, 2], data.gridGrad[data.chosen]
    for text in (f"{weight:.4g}", f"({gradient[0]:.4g}, {gradient[1]:.4g})", f"{data.sources[2, 0, 0]:.4g}",
                 "16 x 16 points on 32 x 32 pixels", "alignCorners False"):
        assert text in words
    assert headline(data)[0].startswith("nothing: outside → out 0") and "slope -16 in x" in headline(data)[2]


def test_the_words_follow_the_data():
    assert describe(compute(State(rotate=16.0))) != describe(compute(State()))


def test_a_figure_can_be_saved_as_svg(data):
    held = io.BytesIO()
    figure(data).savefig(held, format="svg")
    assert b"</svg>" in held.getvalue()


@pytest.mark.parametrize(("panel", "values"), [(0, {"width": 1, "height": 96}), (0, {}), (-1, {})])
def test_words_do_not_cover_each_other(panel, values):
    made = figure(compute(State(**values)))
    made.draw_without_rendering()
    each = next(a for a in made.axes if a.get_label() == ("image", "corners")[panel])
    words = [text for text in [*each.texts, *each.get_xticklabels()] if text.get_text()]
    boxes = [text.get_window_extent() for text in words]
    covered = [(a.get_text(), b.get_text()) for k, a in enumerate(words) for j, b in enumerate(words[:k])
               if boxes[k].overlaps(boxes[j])]
    assert covered == []
