"""The data of the grid-sampler explorer, against scalar loops written from the definition."""

from math import floor

import numpy as np
import pytest
from together import in_one

from aclnn_viz.explorers.by_operator.grid_sampler_2d import sentence
from aclnn_viz.explorers.by_operator.grid_sampler_2d_data import Data, State, compute

ZEROS, BORDER, REFLECTION = range(3)
SMALL = {
    "height": 6,
    "width": 9,
    "grid_height": 4,
    "grid_width": 5,
    "row": 1,
    "column": 4,
    "seed": 3,
}


def pixel_coordinate(x, size, aligned):
    return (x + 1) / 2 * (size - 1) if aligned else ((x + 1) * size - 1) / 2


def mirrored(u, size, aligned):
    """u brought into the image by walking from mirror to mirror."""
    low, high = (0.0, size - 1.0) if aligned else (-0.5, size - 0.5)
    while not low <= u <= high:
        u = 2 * low - u if u < low else 2 * high - u
    return u


def sampled(x, size, mode, aligned):
    u = pixel_coordinate(x, size, aligned)
    if mode == REFLECTION:
        u = mirrored(u, size, aligned)
    return u if mode == ZEROS else min(max(u, 0.0), size - 1.0)


def bilinear(image, u, v):
    total = 0.0
    for row in (floor(v), floor(v) + 1):
        for column in (floor(u), floor(u) + 1):
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                total += image[row, column] * (1 - abs(u - column)) * (1 - abs(v - row))
    return total


def expected_out(data: Data, mode: int) -> np.ndarray:
    image, grid = data.inputs["input"][0, 0].astype(float), data.inputs["grid"][0].astype(float)
    aligned, (height, width) = data.state.alignCorners, image.shape
    return np.array(
        [
            [
                bilinear(image, sampled(x, width, mode, aligned), sampled(y, height, mode, aligned))
                for x, y in row
            ]
            for row in grid
        ]
    )


def difference(function, x, step=1e-6):
    return (function(x + step) - function(x - step)) / (2 * step)


CASES = pytest.mark.parametrize(
    "state",
    [
        State(**SMALL),
        State(**SMALL, alignCorners=True, rotate=-50.0, jitter=0.5),
        State(**SMALL, scale=2.5, shift_x=-1.0, moved=((1, 4, 1.9, -2.3),)),
    ],
    ids=["default", "aligned", "far"],
)


@CASES
@pytest.mark.parametrize("mode", [ZEROS, BORDER, REFLECTION])
def test_outputs_of_all_padding_modes(state, mode):
    data = compute(state)
    # Pixels are float32, a dozen roundings of values up to 1.
    np.testing.assert_allclose(data.outs[mode], expected_out(data, mode), atol=1e-6)


@in_one
@CASES
@pytest.mark.parametrize("mode", [ZEROS, BORDER, REFLECTION])
@pytest.mark.parametrize("axis", [0, 1])
def test_where_the_chosen_point_is_read_and_with_which_slope(state, mode, axis):
    data = compute(state)
    x, size = float(data.inputs["grid"][(0, *data.chosen, axis)]), (state.width, state.height)[axis]
    where, slope = data.sources[mode, axis]
    assert where == pytest.approx(sampled(x, size, mode, state.alignCorners), abs=1e-9)
    assert slope == pytest.approx(
        difference(lambda at: sampled(at, size, mode, state.alignCorners), x), abs=1e-6
    )


@in_one
@CASES
@pytest.mark.parametrize("mode", [ZEROS, BORDER, REFLECTION])
@pytest.mark.parametrize("axis", [0, 1])
def test_maps_are_straight_between_their_breaks_and_kinked_where_marked(state, mode, axis):
    data, size = compute(state), (state.width, state.height)[axis]
    breaks = data.breaks[axis][~np.isnan(data.breaks[axis])]

    def reads(x):
        return sampled(x, size, mode, state.alignCorners)

    np.testing.assert_allclose(
        data.coordinates[mode, axis][: breaks.size], [reads(x) for x in breaks], atol=1e-9
    )
    for left, right, slope in zip(breaks, breaks[1:], data.slopes[mode, axis]):
        quarter = left + (right - left) / 4
        assert reads(quarter) == pytest.approx(reads(left) + slope * (quarter - left), abs=1e-9)
    step = 1e-7
    kinked = [abs(reads(x + step) - 2 * reads(x) + reads(x - step)) > 1e-7 for x in breaks[1:-1]]
    assert data.kinks[mode, axis][1 : breaks.size - 1].tolist() == kinked


@CASES
@pytest.mark.parametrize("mode", [ZEROS, BORDER, REFLECTION])
def test_taps_rebuild_the_output_of_the_chosen_point(state, mode):
    data = compute(state)
    image = data.inputs["input"][0, 0].astype(float)
    total = sum(
        weight * image[int(row), int(column)]
        for row, column, weight, *_, inside, _ in data.taps[mode]
        if inside
    )
    assert total == pytest.approx(expected_out(data, mode)[data.chosen], abs=1e-9)


def test_the_chosen_point_alone_marks_its_taps_only():
    data = compute(State(gradOutput="chosen"))
    landed = {
        (int(row), int(column))
        for row, column, weight, *_, inside, _ in data.taps[REFLECTION]
        if inside and weight
    }
    assert set(zip(*map(np.ndarray.tolist, np.nonzero(data.inputGrad)))) == landed


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("mode", [ZEROS, BORDER, REFLECTION])
def test_the_surround_is_the_image_as_the_mode_continues_it(mode, aligned):
    data = compute(State(**SMALL, paddingMode=mode, alignCorners=aligned))
    image, (rows, columns) = data.inputs["input"][0, 0], data.margin

    def index(k, size):
        k = mirrored(k, size, aligned) if mode == REFLECTION else k
        return k if mode == ZEROS else int(min(max(k, 0), size - 1))

    for row, column in ((-1, 0), (0, -2), (5, 9), (7, 10), (3, 4)):
        r, c = index(row, 6), index(column, 9)
        expected = image[r, c] if 0 <= r < 6 and 0 <= c < 9 else np.nan
        np.testing.assert_equal(data.surround[row + rows, column + columns], np.float64(expected))


def test_a_coarser_dtype_shows_its_larger_error():
    assert (
        compute(State(dtype="float64")).errors[0]
        < 1e-13
        < 1e-4
        < compute(State(dtype="bfloat16")).errors[1]
    )


@pytest.mark.parametrize(
    "values",
    [
        {"height": 1, "width": 1, "alignCorners": True},
        {"grid_height": 1, "grid_width": 1, "row": 0, "column": 0},
        {"interpolationMode": 1},
        {"interpolationMode": 2},
    ],
)
def test_small_shapes_and_other_interpolations_have_a_picture(values):
    data = compute(State(**values))
    assert data.taps.shape[1] == (4, 1, 16)[data.state.interpolationMode]
    assert np.isfinite(data.outs).all() and np.isfinite(data.gridGrad).all()
    if data.state.interpolationMode:
        # nearest has no gradient, and bicubic pads taps, not the coordinate
        assert not data.kinks.any()


SEVERAL = State(
    **SMALL, samples=3, channels=2, sample=1, channel=1, gradOutput="random", dtype="float64"
)


@pytest.mark.parametrize("mode", [ZEROS, BORDER, REFLECTION])
def test_outputs_are_those_of_the_shown_sample_and_channel(mode):
    data = compute(SEVERAL)
    images, grids = data.inputs["input"], data.inputs["grid"]
    assert (
        images.shape == (3, 2, 6, 9)
        and grids.shape == (3, 4, 5, 2)
        and data.inputs["gradOutput"].shape == (3, 2, 4, 5)
    )
    expected = [
        [
            bilinear(images[1, 1], sampled(x, 9, mode, False), sampled(y, 6, mode, False))
            for x, y in row
        ]
        for row in grids[1]
    ]
    np.testing.assert_allclose(data.outs[mode], expected, atol=1e-12)


def test_inputGrad_of_a_channel_takes_nothing_of_the_others():
    data = compute(SEVERAL)
    # Inside the image and at its mirrors weights add up to 1 a point, so a channel's gradients add up to its gradOutput.
    assert data.inputGrad.sum() == pytest.approx(data.inputs["gradOutput"][1, 1].sum())


def test_samples_and_channels_are_distinguished_in_all_arrays():
    shown = [
        compute(State(samples=2, channels=2, sample=n, channel=c))
        for n in range(2)
        for c in range(2)
    ]
    assert (
        len({data.outs.tobytes() for data in shown})
        == len({data.inputGrad.tobytes() for data in shown[::2]}) * 2
        == 4
    )
    assert [data.gridGrad.tobytes() == shown[0].gridGrad.tobytes() for data in shown] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("mode", [ZEROS, BORDER, REFLECTION])
def test_the_map_of_bicubic_has_the_slope_that_is_drawn_below_it(mode):
    data = compute(State(interpolationMode=2, paddingMode=mode, shift_x=1.5))
    for axis in range(2):
        breaks, values = data.breaks[axis], data.coordinates[mode, axis]
        np.testing.assert_allclose(
            np.diff(values) / np.diff(breaks), data.slopes[mode, axis], rtol=1e-6
        )
        assert (
            data.sources[mode, axis, 0] == pytest.approx(data.pixels[data.chosen][axis])
            and not data.kinks[mode, axis].any()
        )


def test_a_point_whose_taps_all_lie_outside_has_no_gradient_and_no_slope_is_told():
    data = compute(State(paddingMode=ZEROS, shift_x=2.5, row=0, column=15))
    assert not data.gridGrad[
        data.chosen
    ].any() and "all taps are 0, and so is gridGrad" in sentence(data, ZEROS)
