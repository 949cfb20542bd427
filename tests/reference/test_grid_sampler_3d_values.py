"""The 3D grid sampler's reference against values worked out by hand, the 2D one, and differences of its forward."""

import itertools

import numpy as np
import pytest

from test_reference import mutant

from . import grid_sampler_2d, grid_sampler_3d
from .judging import agree, differentiate, dot, uniform

TRILINEAR, NEAREST = 0, 1
ZEROS, BORDER, REFLECTION = 0, 1, 2
NAN, INF = np.nan, np.inf
CUBE = np.arange(8.0).reshape(1, 1, 2, 2, 2)  # pixel (z, y, x) holds 4 z + 2 y + x


def at(point, mode=TRILINEAR, padding=ZEROS, align=True, image=CUBE):
    inputs = dict(input=image, grid=np.reshape(point, (1, 1, 1, 1, 3)), interpolationMode=mode, paddingMode=padding,
                  alignCorners=align)
    grads = grid_sampler_3d.backward(gradOutput=np.ones((1, 1, 1, 1, 1)), **inputs)
    return grid_sampler_3d.forward(**inputs)["out"].ravel(), grads["inputGrad"][0, 0], grads["gridGrad"].ravel()


def test_a_linear_image_by_hand():
    out, input_grad, grid_grad = at([-0.5, 0.0, 0.5])  # pixel coordinates x 1/4, y 1/2, z 3/4
    agree(out, [0.25 + 2 * 0.5 + 4 * 0.75])
    agree(grid_grad, [0.5, 1, 2])  # coordinate factor 1/2 times the slopes 1, 2, 4 by x, y, z
    agree(input_grad, np.einsum("z,y,x->zyx", [0.25, 0.75], [0.5, 0.5], [0.75, 0.25]))


def test_each_axis_has_its_own_size():
    image = np.zeros((1, 1, 2, 3, 5))
    image[0, 0, 1, 2, 4] = 1.0
    agree(at([1, 1, 1], image=image)[0], [1])
    agree(at([1, 1, 1], image=image)[2], [-2, -1, -0.5])  # leaving the image on the far side: minus (size - 1) / 2


def test_nearest_sends_ties_to_even_and_has_no_grid_gradient():
    out, input_grad, grid_grad = at([0.0, -0.1, 0.1], NEAREST)  # x 1/2 to pixel 0, y to 0, z to 1
    agree(out, [4])
    agree(grid_grad, [0, 0, 0])
    assert input_grad[1, 0, 0] == 1 and sum(input_grad.ravel()) == 1


@pytest.mark.parametrize("padding, out", [(ZEROS, 0), (BORDER, 1), (REFLECTION, 1)])
def test_beyond_an_unaligned_edge(padding, out):
    found = at([1.5, -0.5, -0.5], padding=padding, align=False)  # x is pixel 2 of 0 and 1; y and z are on pixel 0
    agree(found[0], [out])
    agree(found[2][0], 0)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_one_special_coordinate_silences_the_point(axis, value):
    point = np.insert([0.25, -0.25], axis, value)
    for padding in (ZEROS, REFLECTION):
        out, input_grad, grid_grad = at(point, padding=padding)
        agree(out, [0])
        agree(input_grad, np.zeros((2, 2, 2)))
        agree(grid_grad, [0, 0, 0])
    out, _, grid_grad = at(point, padding=BORDER)
    assert (out[0] == 0) == np.isnan(value) and grid_grad[axis] == 0


def test_bicubic_is_refused():
    with pytest.raises(ValueError, match="interpolationMode 2"):
        at([0, 0, 0], 2)


@pytest.mark.parametrize("mode, padding, align", list(itertools.product((0, 1), range(3), (False, True))))
def test_a_flat_volume_is_the_2d_sampler(mode, padding, align):
    """One pixel along z, sampled at its centre: out and gradients are those of the picture."""
    options = dict(interpolationMode=mode, paddingMode=padding, alignCorners=align)
    image, grid, grad = uniform(1, 2, 2, 3, 4), uniform(2, 2, 3, 2, 2, low=-1.9, high=1.9), uniform(3, 2, 2, 3, 2)
    flat = dict(gradOutput=grad, input=image, grid=grid, **options)
    deep = dict(gradOutput=grad[:, :, None], input=image[:, :, None], **options,
                grid=np.concatenate([grid, np.zeros((2, 3, 2, 1), np.float32)], axis=-1)[:, None])
    for run in ("backward", "terms"):
        two, three = getattr(grid_sampler_2d, run)(**flat), getattr(grid_sampler_3d, run)(**deep)
        agree(three["inputGrad"][:, :, 0], two["inputGrad"])
        agree(three["gridGrad"][:, 0, ..., :2], two["gridGrad"])


def holds(module, mode=TRILINEAR, padding=REFLECTION, align=False):
    image, grad = uniform(1, 1, 2, 2, 3, 4), uniform(2, 1, 2, 1, 2, 2)
    grid = uniform(3, 1, 1, 2, 2, 3, low=-2.6, high=2.6)  # inside, one and two reflections away
    grid[0, 0, 0] = uniform(4, 2, 3, low=-0.9, high=0.9)
    options = dict(interpolationMode=mode, paddingMode=padding, alignCorners=align)
    loss = lambda image, grid: dot(module.forward(input=image, grid=grid, **options)["out"], grad)  # noqa: E731
    out = module.backward(gradOutput=grad, input=image, grid=grid, **options)
    agree(out["inputGrad"], differentiate(lambda v: loss(v, grid), image))
    agree(out["gridGrad"], differentiate(lambda v: loss(image, v), grid))


@pytest.mark.parametrize("mode, padding, align", list(itertools.product((0, 1), range(3), (False, True))))
def test_backward_is_the_derivative_of_forward(mode, padding, align):
    holds(grid_sampler_3d, mode, padding, align)


@pytest.mark.parametrize("old, new", [
    ("(wz * wy * sx, wz * sy * wx, sz * wy * wx)", "(sz * wy * wx, wz * sy * wx, wz * wy * sx)"),
    ("(wz * wy * sx, wz * sy * wx, sz * wy * wx)", "(wy * sx, sy * wx, sz * wy * wx)"),
    ("wz * wy * wx, (wz", "wy * wx, (wz"), ("part(g * weight)", "part(weight)"),
    ("zip(grid[(n, *place)], reversed(sizes))", "zip(grid[(n, *place)], sizes)")], ids=str)
def test_a_wrong_formula_is_noticed(old, new):
    with pytest.raises((AssertionError, IndexError)):
        holds(mutant(grid_sampler_3d, old, new))


def test_an_unchanged_copy_passes():
    holds(mutant(grid_sampler_3d, "part(g * weight)", "part(g * weight)"))


def test_the_mask_selects_outputs():
    inputs = dict(gradOutput=np.ones((1, 1, 1, 1, 1)), input=CUBE, grid=np.zeros((1, 1, 1, 1, 3)))
    for mask, names in (((True, False), ["inputGrad"]), ((False, True), ["gridGrad"]), ((False, False), [])):
        assert list(grid_sampler_3d.backward(**inputs, outputMask=mask)) == names
        assert list(grid_sampler_3d.terms(**inputs, outputMask=mask)) == names


def test_scale_does_not_cancel():
    inputs = dict(gradOutput=np.reshape([1.0, -1.0], (1, 1, 1, 1, 2)), input=CUBE, grid=np.zeros((1, 1, 1, 2, 3)))
    agree(grid_sampler_3d.backward(**inputs)["inputGrad"], np.zeros((1, 1, 2, 2, 2)))
    agree(grid_sampler_3d.terms(**inputs)["inputGrad"], np.full((1, 1, 2, 2, 2), 0.25))
    agree(grid_sampler_3d.terms(**inputs)["gridGrad"][0, 0, 0], np.full((2, 3), 28 / 4))  # all pixels, weights 1/4
