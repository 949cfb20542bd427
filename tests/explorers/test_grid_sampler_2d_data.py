"""The data of the grid-sampler explorer, against scalar loops written from the definition."""

from dataclasses import replace
from math import floor

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pytest import approx
from together import in_one

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
    """Return u brought into the image by walking from mirror to mirror."""
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


def expected_out(data: Data) -> np.ndarray:
    image, grid = data.inputs["input"][0, 0].astype(float), data.inputs["grid"][0].astype(float)
    mode, aligned = data.state.paddingMode, data.state.alignCorners

    def at(point):
        places = zip(point, image.shape[::-1])
        return bilinear(image, *(sampled(x, size, mode, aligned) for x, size in places))

    return np.apply_along_axis(at, -1, grid)


def difference(function, x, step=1e-6):
    return (function(x + step) - function(x - step)) / (2 * step)


CASES = pytest.mark.parametrize(
    "state",
    [
        State(**SMALL),
        State(**SMALL, alignCorners=True, rotate=-50.0),
        State(**SMALL, scale=2.5, shift_x=-1.0, moved=((1, 4, 1.9, -2.3),)),
    ],
)


ALIGNED = pytest.mark.parametrize("aligned", [False, True])
MODES = pytest.mark.parametrize("mode", range(3))


@CASES
@MODES
def test_out_and_the_sum_of_the_taps_of_the_chosen_point(state, mode):
    data = compute(replace(state, paddingMode=mode))
    # Pixels are float32, a dozen roundings of values up to 1.
    assert_allclose(data.out, expected_out(data), atol=1e-6)
    read = data.taps[data.taps[:, 5] == 1]
    total = read[:, 2] @ data.inputs["input"][0, 0][tuple(read[:, :2].T.astype(int))]
    assert total == approx(expected_out(data)[data.chosen], abs=1e-9)


@in_one
@CASES
@MODES
@pytest.mark.parametrize("axis", [0, 1])
def test_where_the_chosen_point_is_read_over_which_mirrors_and_with_which_slope(state, mode, axis):
    data = compute(replace(state, paddingMode=mode))
    x, size = float(data.inputs["grid"][(0, *data.chosen, axis)]), (state.width, state.height)[axis]

    def reads(x):
        return sampled(x, size, mode, state.alignCorners)

    assert data.read[0, axis] == approx(reads(x), abs=1e-9)
    assert data.read[1, axis] == approx(difference(reads, x), abs=1e-6)
    hops = data.hops[axis]
    assert hops[0] == approx(pixel_coordinate(x, size, state.alignCorners), abs=1e-9)
    assert (
        abs(hops[2] - reads(x)) <= 0.5
    )  # a mirror on an edge is half a pixel from the last centre
    middles = {(a + b) / 2 for a, b in zip(hops, hops[1:]) if a != b}
    if mode == REFLECTION:
        assert middles <= {*(np.arange(-3, 5) * (size - 1.0))} | {*(np.arange(-3, 5) * size - 0.5)}


@in_one
@MODES
@ALIGNED
def test_the_curve_is_the_column_that_each_place_reads(mode, aligned):
    places, columns, lost = compute(State(**SMALL, paddingMode=mode, alignCorners=aligned)).curve
    expected = [
        sampled((u / 4 - 1) if aligned else ((2 * u + 1) / 9 - 1), 9, mode, aligned) for u in places
    ]
    assert_allclose(np.where(np.isnan(columns), lost, columns), expected, atol=1e-9)
    assert (
        np.isnan(columns) == (((places <= -1) | (places >= 9)) & (mode == ZEROS))
    ).all() and places[0] < -0.5 - 9


@MODES
def test_the_curve_of_bicubic_is_the_mean_of_its_columns_and_of_nearest_a_stair(mode):
    data = compute(State(**SMALL, paddingMode=mode, interpolationMode=2))
    places, columns, lost = data.curve
    inner = (places > 2) & (places < 6)
    slopes = np.diff(columns[inner]) / np.diff(places[inner])
    assert slopes.min() < 0.9 < 1.1 < slopes.max()  # the curve oscillates about the straight line
    ends = data.hops[0, :1] + [-0.5, 0.5]  # and its slope is that over one pixel
    low, high = np.interp(ends, places, np.where(np.isnan(columns), lost, columns))
    assert data.read[1, 0] == approx(4.5 * (high - low), abs=0.05)
    assert set(compute(State(**SMALL, interpolationMode=1)).curve[1]) == set(range(9))


def test_gradients_leave_one_after_the_other_and_arrive_at_the_pixels_that_were_read():
    state = State(**SMALL, paddingMode=BORDER)
    none, half, every = (compute(replace(state, sent=share)) for share in (0.0, 0.5, 1.0))
    assert not none.inputGrad.any() and not np.isfinite(none.flights).any()
    assert not np.isfinite(every.flights).any()
    upstream, given = half.inputs["gradOutput"].ravel(), every.inputs["gradOutput"].ravel()
    arrived = np.count_nonzero(upstream)
    assert 0 < arrived < 20 and (upstream[:arrived] == given[:arrived]).all()
    assert half.inputGrad.sum() == approx(given[:arrived].sum(), abs=1e-5)
    ways = np.isfinite(half.flights[0])
    assert ways[:arrived].sum() == 0 < ways.sum()
    assert np.nanmax(compute(replace(state, sent=0.9)).flights[0]) <= 9


def test_the_only_point_marks_its_taps_only():
    data = compute(State(grid_height=1, grid_width=1, row=0, column=0))
    read = data.taps[data.taps[:, 2] * data.taps[:, 5] != 0, :2]
    assert {*zip(*np.nonzero(data.inputGrad))} == {*map(tuple, read)}


@ALIGNED
@MODES
def test_the_surround_is_the_image_as_the_mode_continues_it(mode, aligned):
    data = compute(State(**SMALL, paddingMode=mode, alignCorners=aligned))
    way = ("constant", "edge", "reflect" if aligned else "symmetric")[mode]
    expected = np.pad(data.inputs["input"][0, 0], [(m, m) for m in data.margin], way)
    assert_array_equal(data.surround, expected)
