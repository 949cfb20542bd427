"""The grid sampler's reference against values worked out by hand."""

import itertools

import numpy as np
import pytest

from . import grid_sampler_2d
from .exact import mp
from .judging import agree, uniform

NAN, INF = np.nan, np.inf
BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


def sample(xs, mode, padding, align, image=(10.0, 20.0, 40.0, 80.0)):
    """Sample a row of pixels at the centre of its height; return out, inputGrad and gridGrad's x per point."""
    points = [[[[x, 0.0] for x in xs]]]
    options = dict(interpolationMode=mode, paddingMode=padding, alignCorners=align)
    image = [[[list(image)]]]
    out = grid_sampler_2d.forward(input=image, grid=points, **options)["out"][0, 0, 0]
    grads = grid_sampler_2d.backward(gradOutput=np.ones((1, 1, 1, len(xs))), input=image, grid=points, **options)
    return out, grads["inputGrad"][0, 0, 0], grads["gridGrad"][0, 0, :, 0]


def test_cubic_weights():
    agree([grid_sampler_2d.cubic(mp.mpf(0.5), o)[0] for o in (-1, 0, 1, 2)], [-0.09375, 0.59375, 0.59375, -0.09375])
    agree([grid_sampler_2d.cubic(mp.mpf(0), o)[0] for o in (-1, 0, 1, 2)], [0, 1, 0, 0])
    agree([grid_sampler_2d.cubic(mp.mpf(0), o)[1] for o in (-1, 0, 1, 2)], [-0.75, 0, 0.75, 0])
    agree([grid_sampler_2d.cubic(mp.mpf(0.25), o)[1] for o in (-1, 0, 1, 2)],
          [-0.140625, -0.890625, 1.265625, -0.234375])


def test_coordinates_are_exact():
    assert grid_sampler_2d.coordinate(mp.mpf(-0.5), 4, False) == 0.5
    assert grid_sampler_2d.coordinate(mp.mpf(-0.5), 5, True) == 1
    assert grid_sampler_2d.coordinate(mp.mpf(2.0 ** 200), 3, True) == 2 ** 200 + 1
    assert np.isnan(grid_sampler_2d.coordinate(mp.inf, 1, True))


@pytest.mark.parametrize("c, size, align, position, sign", [
    (-1, 3, False, 0, -1), (-0.5, 3, False, -0.5, 1), (-3.5, 3, False, 2.5, 1), (3, 3, False, 2, -1),
    (2.5, 3, False, 2.5, -1), (5.5, 3, False, -0.5, 1), (-1, 3, True, 1, -1), (3, 3, True, 1, -1), (4, 3, True, 0, 1),
    (2, 3, True, 2, -1), (7, 1, True, 0, 0), (0.75, 1, False, 0.25, -1), (2 ** 80 + 1, 3, True, 1, 1)])
def test_reflection(c, size, align, position, sign):
    assert grid_sampler_2d.reflect(grid_sampler_2d.Fraction(c), size, align) == (position, sign)


@pytest.mark.parametrize("padding", [BORDER, REFLECTION])
def test_the_multiplier_is_zero_at_the_border_too(padding):
    agree(sample([-1, 1, -0.75, 0.75], BILINEAR, padding, False)[2], [0, 0, 0, 0])  # coordinates -0.5, 3.5, 0, 3
    agree(sample([-1, 1, 0], BILINEAR, padding, True)[2], [0, 0, 30])


def test_zero_padding_at_the_border_uses_the_pixels_outside():
    out, input_grad, grid_grad = sample([-1, 1], BILINEAR, ZEROS, True)
    agree(out, [10, 80])
    agree(input_grad, [1, 0, 0, 1])
    agree(grid_grad, [(20 - 10) * 1.5, (0 - 80) * 1.5])


def test_nearest_sends_ties_to_even():
    out, input_grad, grid_grad = sample([-0.5, 0, 0.5], NEAREST, ZEROS, False)  # coordinates 0.5, 1.5, 2.5
    agree(out, [10, 40, 40])
    agree(input_grad, [1, 0, 2, 0])
    agree(grid_grad, [0, 0, 0])


@pytest.mark.parametrize("padding, align, out, grid_grad", [
    (ZEROS, False, [10, 7.5, 7.5, 0], [-5, -5, 5, 0]), (ZEROS, True, [10, 10, 10, 10], [0, 0, 0, 0]),
    (BORDER, False, [10, 10, 10, 10], [0, 0, 0, 0]), (BORDER, True, [10, 10, 10, 10], [0, 0, 0, 0]),
    (REFLECTION, False, [10, 10, 10, 10], [0, 0, 0, 0]), (REFLECTION, True, [10, 10, 10, 10], [0, 0, 0, 0])])
def test_one_pixel(padding, align, out, grid_grad):
    found = sample([0, 0.5, -0.5, 2], BILINEAR, padding, align, image=[10.0])
    agree(found[0], out)
    agree(found[2], grid_grad)


@pytest.mark.parametrize("mode", [BILINEAR, NEAREST])
@pytest.mark.parametrize("padding, out, input_grad", [
    (ZEROS, [0, 0, 0], [0, 0, 0, 0]), (BORDER, [0, 80, 10], [1, 0, 0, 1]), (REFLECTION, [0, 0, 0], [0, 0, 0, 0])])
def test_coordinates_that_are_not_finite(mode, padding, out, input_grad):
    found = sample([NAN, INF, -INF], mode, padding, align=True)
    agree(found[0], out)
    agree(found[1], input_grad)
    agree(found[2], [0, 0, 0])


@pytest.mark.parametrize("align", [False, True])
def test_huge_finite_coordinates(align):
    huge = [2.0 ** 100, -2.0 ** 100]  # multiples of the reflection's period 4: as x = 0, the middle of the row
    agree(sample(huge, BILINEAR, ZEROS, align)[0], [0, 0])
    agree(sample(huge, BILINEAR, BORDER, align)[0], [80, 10])
    for found, middle in zip(sample(huge, BILINEAR, REFLECTION, align), sample([0, 0], BILINEAR, REFLECTION, align)):
        agree(found, middle)


def test_one_aligned_pixel_has_no_coordinate_for_infinity():
    agree(sample([INF, NAN, 5], BILINEAR, BORDER, True, image=[10.0])[0], [0, 0, 10])
    agree(sample([INF, NAN, 5], BILINEAR, BORDER, False, image=[10.0])[0], [10, 0, 10])


def test_special_coordinates_of_bicubic():
    special = [NAN, INF, -INF, 2.0 ** 32, -2.0 ** 32]
    middle = -0.09375 * (10 + 80) + 0.59375 * (20 + 40)  # 2^32 is a multiple of the reflection's period 4
    for padding, out in ((ZEROS, [0] * 5), (BORDER, [10] * 5), (REFLECTION, [0, 0, 0, middle, middle])):
        found = sample(special, BICUBIC, padding, True)
        agree(found[0], out)
        agree(found[2][:3], [0, 0, 0])
    agree(sample([1e6], BICUBIC, BORDER, True)[0], [80])  # large, but within 2^31: the last pixel


@pytest.mark.parametrize("mode, padding", list(itertools.product(range(3), range(3))))
def test_a_special_x_silences_y_too(mode, padding):
    inputs = dict(gradOutput=np.ones((1, 1, 1, 1)), input=uniform(1, 1, 1, 3, 3), grid=[[[[NAN, 0.25]]]],
                  interpolationMode=mode, paddingMode=padding)
    out = grid_sampler_2d.backward(**inputs)
    if (mode, padding) == (BICUBIC, BORDER):  # x collapses onto column 0, y goes on
        agree(out["inputGrad"][0, 0, :, 1:], np.zeros((3, 2)))
        assert out["gridGrad"][0, 0, 0, 0] == 0 != out["gridGrad"][0, 0, 0, 1]
    else:
        agree(out["inputGrad"], np.zeros((1, 1, 3, 3)))
        agree(out["gridGrad"], np.zeros((1, 1, 1, 2)))


@pytest.mark.parametrize("padding, align, columns", [
    (ZEROS, True, [2, 3]), (BORDER, True, [2, 3, 3, 3]), (REFLECTION, True, [2, 3, 2, 1]),
    (REFLECTION, False, [2, 3, 3, 2])])
def test_bicubic_pads_each_neighbour(padding, align, columns):
    x = mp.mpf(3.25) / 1.5 - 1 if align else mp.mpf(7.5) / 4 - 1  # coordinate 3.25 of 4 pixels: neighbours 2 to 5
    taps = grid_sampler_2d.taps_of(x, 4, BICUBIC, padding, align)
    assert [tap[0] for tap in taps] == columns
    slope, factor = grid_sampler_2d.cubic(mp.mpf(0.25), -1)[1], 1.5 if align else 2
    agree(taps[0][2], slope * factor)  # no reflection sign, no clip: the unnormalise factor alone


def test_the_vendors_grid_sample():
    grid = np.stack(np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]), axis=-1)[None]
    image = np.arange(1.0, 41.0).reshape(1, 1, 5, 8)
    out = grid_sampler_2d.backward(gradOutput=np.ones((1, 1, 3, 3)), input=image, grid=grid)
    agree(out["inputGrad"][0, 0], np.outer([0.5, 0, 1, 0, 0.5], [0.5, 0, 0, 0.5, 0.5, 0, 0, 0.5]))
    agree(out["gridGrad"][0, 1, 1], [4 * (21 - 20), 2.5 * (28.5 - 20.5)])  # coordinates 3.5 and 2 of 8 and 5 pixels


def test_the_mask_selects_outputs():
    inputs = dict(gradOutput=np.ones((1, 1, 1, 1)), input=np.ones((1, 1, 2, 2)), grid=np.zeros((1, 1, 1, 2)))
    for mask, names in (((True, False), ["inputGrad"]), ((False, True), ["gridGrad"]), ((False, False), [])):
        assert list(grid_sampler_2d.backward(**inputs, outputMask=mask)) == names
        assert list(grid_sampler_2d.terms(**inputs, outputMask=mask)) == names


def test_grid_sampler_scale_does_not_cancel():
    inputs = dict(gradOutput=[[[[1.0, -1.0]]]], input=[[[[10.0, 20.0]]]], grid=[[[[0.0, 0.0], [0.0, 0.0]]]])
    agree(grid_sampler_2d.backward(**inputs)["inputGrad"], np.zeros((1, 1, 1, 2)))
    agree(grid_sampler_2d.terms(**inputs)["inputGrad"], np.ones((1, 1, 1, 2)))
    agree(grid_sampler_2d.backward(**inputs)["gridGrad"][0, 0], [[10, -7.5], [-10, 7.5]])
    agree(grid_sampler_2d.terms(**inputs)["gridGrad"][0, 0], [[30, 7.5], [30, 7.5]])
