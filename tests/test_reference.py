"""The references are judged by differentiating their own forward pass numerically; wrong formulas are noticed."""

import importlib.util
import inspect
import itertools

import ml_dtypes
import mpmath
import numpy as np
import pytest
from machine import SOAK
from reference import (
    cross_entropy_loss,
    grid_sampler_2d,
    grid_sampler_3d,
    group_norm_swish,
    hardswish,
    layer_norm,
    rms_norm,
)
from reference.exact import divide, exact, mp
from reference.judging import agree, differentiate, dot, uniform
from tables import table
from together import in_one

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


def differentiated(module, given, gradients, upstream, saved=(), aside=()):
    """Compare gradients, by the names of their inputs, with differences of the forward pass.

    Backward takes the gradients of forward's outputs (`upstream`) and saved tensors; only forward takes
    `aside`.
    """
    made = module.forward(**given)
    arriving = {
        name: uniform(seed, *np.shape(made[output]))
        for seed, (name, output) in enumerate(upstream.items(), 1)
    }
    kept = {name: made[output] for name, output in dict(saved).items()}
    taken = {name: value for name, value in given.items() if name not in aside}
    out = module.backward(**taken, **arriving, **kept)
    for gradient, name in gradients.items():

        def loss(value, name=name):
            outputs = module.forward(**given | {name: value})
            return sum(dot(outputs[upstream[each]], arriving[each]) for each in arriving)

        agree(out[gradient], differentiate(loss, given[name]))


# Each of these differentiates the forward pass of a module and compares with its backward pass.


def hardswish_holds(module):
    x = np.float32([-4, -3.25, -2.75, -1.5, -0.125, 0, 1.25, 2.875, 3.125, 5])
    differentiated(module, {"self": x}, {"out": "self"}, {"gradOutput": "out"})


def rms_norm_holds(module, shape=(2, 3, 4), gamma_ndim=1):
    gamma = uniform(3, *shape[len(shape) - gamma_ndim :])
    given = {"x": uniform(1, *shape), "gamma": gamma, "epsilon": 0.25}
    gradients = {"dxOut": "x", "dgammaOut": "gamma"}
    differentiated(module, given, gradients, {"dy": "y"}, {"rstd": "rstd"}, {"epsilon"})


def grid_sampler_holds(module, mode=BILINEAR, padding=REFLECTION, align=False, size=(3, 4)):
    grid = uniform(4, 2, 1, 3, 2, low=-0.9, high=0.9)
    grid[1, 0] = [[-1.4, 2.3], [1.6, -2.2], [3.4, 0.3]]  # one and two reflections away
    sampled(module, uniform(1, 2, 2, *size), grid, mode, padding, align)


def sampled(module, image, grid, mode, padding, align):
    given = {"input": image, "grid": grid, "interpolationMode": mode, "paddingMode": padding}
    gradients = {"inputGrad": "input", "gridGrad": "grid"}
    differentiated(module, given | {"alignCorners": align}, gradients, {"gradOutput": "out"})


def bicubic_holds(module):
    grid_sampler_holds(module, BICUBIC, BORDER)


def cross_entropy_holds(
    module, reduction="mean", weighted=True, smoothing=0.25, scale=0.5, grad_zloss=True
):
    given = dict(
        input=uniform(1, 4, 3),
        target=np.array([2, -7, 0, 2]),
        weightOptional=uniform(2, 3, low=0.5) if weighted else None,
        reduction=reduction,
        ignoreIndex=-7,
        labelSmoothing=smoothing,
        lseSquareScaleForZloss=scale,
    )
    upstream = {"gradLoss": "loss"} | ({"gradZlossOptional": "zloss"} if grad_zloss else {})
    saved = {"logProb": "logProb", "lseForZlossOptional": "lseForZloss"}
    differentiated(module, given, {"xGradOut": "input"}, upstream, saved, {"input"})


STATISTICS = {"mean": "mean", "rstd": "rstd"}


def group_norm_holds(module, shape=(2, 4, 3), groups=2, scale=-1.5):
    given = {"x": uniform(1, *shape), "gamma": uniform(3, shape[1]), "beta": uniform(4, shape[1])}
    gradients = {"dxOut": "x", "dgammaOut": "gamma", "dbetaOut": "beta"}
    given |= {"numGroups": groups, "swishScale": scale, "eps": 0.25}
    differentiated(module, given, gradients, {"dy": "y"}, STATISTICS, {"eps"})


def layer_norm_holds(module, shape=(2, 3, 4), normalised=1, weighted=True):
    trailing = shape[len(shape) - normalised :]
    given = {"input": uniform(1, *shape), "normalizedShape": trailing, "eps": 0.25}
    given |= {"weightOptional": uniform(3, *trailing) if weighted else None}
    given |= {"biasOptional": uniform(4, *trailing)}
    gradients = {"gradInputOut": "input", "gradBiasOut": "biasOptional"}
    if weighted:
        gradients["gradWeightOut"] = "weightOptional"
    differentiated(module, given, gradients, {"gradOut": "out"}, STATISTICS, {"eps"})


def grid_sampler_3d_holds(module, mode=BILINEAR, padding=REFLECTION, align=False):
    grid = uniform(3, 1, 1, 2, 2, 3, low=-2.6, high=2.6)  # inside, one and two reflections away
    grid[0, 0, 0] = uniform(4, 2, 3, low=-0.9, high=0.9)
    sampled(module, uniform(1, 1, 2, 2, 3, 4), grid, mode, padding, align)


@pytest.mark.parametrize(
    "shape, normalised", [((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3), 2), ((5,), 1), ((3, 1), 1)]
)
@pytest.mark.parametrize("weighted", [True, False])
def test_layer_norm_is_the_derivative_of_its_forward(shape, normalised, weighted):
    layer_norm_holds(layer_norm, shape, normalised, weighted)


@pytest.mark.parametrize(
    "mode, padding, align", list(itertools.product((0, 1), range(3), (False, True)))
)
@pytest.mark.sampled(2)
def test_grid_sampler_3d_is_the_derivative_of_its_forward(mode, padding, align):
    grid_sampler_3d_holds(grid_sampler_3d, mode, padding, align)


def test_hardswish_is_the_derivative_of_its_forward():
    hardswish_holds(hardswish)


@pytest.mark.parametrize(
    "shape, gamma_ndim", [((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3), 2), ((5,), 1), ((3, 1), 1)]
)
def test_rms_norm_is_the_derivative_of_its_forward(shape, gamma_ndim):
    rms_norm_holds(rms_norm, shape, gamma_ndim)


@pytest.mark.parametrize(
    "mode, padding, align",
    [
        mode
        for mode in itertools.product(range(3), range(3), (False, True))
        # the sample has every pair of values
        if SOAK or sum(mode) % 2 == 0
    ],
)
@pytest.mark.sampled(2)
def test_grid_sampler_is_the_derivative_of_its_forward(mode, padding, align):
    grid_sampler_holds(grid_sampler_2d, mode, padding, align)


@pytest.mark.parametrize(
    "mode, padding, align", list(itertools.product((0, 2), range(3), (False, True)))
)
@pytest.mark.sampled(2)
def test_grid_sampler_is_the_derivative_of_its_forward_on_a_line_of_pixels(mode, padding, align):
    grid_sampler_holds(grid_sampler_2d, mode, padding, align, size=(1, 3))


@in_one
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(
    "options",
    [
        dict(),
        dict(weighted=False),
        dict(smoothing=0.0),
        dict(smoothing=1.0),
        dict(scale=0.0),
        dict(grad_zloss=False),
        dict(weighted=False, smoothing=0.0, scale=0.0, grad_zloss=False),
    ],
    ids=str,
)
def test_cross_entropy_is_the_derivative_of_its_forward(reduction, options):
    cross_entropy_holds(cross_entropy_loss, reduction, **options)


@pytest.mark.parametrize(
    "shape, groups",
    [((2, 4, 3), 2), ((2, 4, 3), 1), ((3, 2), 2), ((2, 6), 2), ((1, 2, 2, 1, 2), 1)],
)
@pytest.mark.parametrize("scale", [1.0, -1.5, 0.0])
@pytest.mark.sampled(3)
def test_group_norm_swish_is_the_derivative_of_its_forward(shape, groups, scale):
    group_norm_holds(group_norm_swish, shape, groups, scale)


# The checks above must reject wrong formulas: each entry changes one place of a module's text.

MUTANTS = table(r"""
hardswish          | hardswish       | x / 3 + mp.mpf(1) / 2            | x / 6 + mp.mpf(1) / 2
rms_norm           | rms_norm        | mp.mpf(g.size))                  | mp.one)
rms_norm           | rms_norm        | part(d * g * hat)                | part(g * hat)
rms_norm           | rms_norm        | dgamma += part(d * hat)          | dgamma[:] = part(d * hat)
grid_sampler_2d    | grid_sampler    | multiplier *= sign               | multiplier *= 1
grid_sampler_2d    | grid_sampler    | return c, multiplier * inside    | return c, multiplier
grid_sampler_2d    | grid_sampler    | (span - extra + low, -sign)      | (span - extra + low, sign)
grid_sampler_2d    | grid_sampler    | else Fraction(size, 2)           | else Fraction(size - 1, 2)
grid_sampler_2d    | grid_sampler    | -slope), (floor + 1              | slope), (floor + 1
grid_sampler_2d    | bicubic         | side * (3 * (A + 2)              | (3 * (A + 2)
grid_sampler_2d    | bicubic         | t, factor = to_mpf(c - floor), to_mpf(unnormalise_factor(size, align)) | t, factor = to_mpf(c - floor), to_mpf(unnormalise_factor(size, align) * clip(c, size)[1])
cross_entropy_loss | cross_entropy   | [grad, exact(gradZlossOptional).ravel()] | [grad]
cross_entropy_loss | cross_entropy   | divide(z[row], count_divisor)    | divide(z[row], weight_divisor)
cross_entropy_loss | cross_entropy   | prob * np.sum(part(smooth * weight)) | 0
cross_entropy_loss | cross_entropy   | smoothing / classes * mask       | smoothing / classes
group_norm_swish   | group_norm      | * projection - shift)            | * projection - shift * u.size)
group_norm_swish   | group_norm      | xhat * projection                | xhat * projection * u.size
group_norm_swish   | group_norm      | (1 + z * sigmoid(-z))            | (1 + u * sigmoid(-z))
group_norm_swish   | group_norm      | np.add.at(dgamma, c, du * xhat)  | dgamma[c] = du * xhat
layer_norm         | layer_norm      | (scaled - shift                  | (scaled - shift * columns
layer_norm         | layer_norm      | (scaled - shift                  | (scaled
layer_norm         | layer_norm      | xhat * along                     | xhat * along * columns
layer_norm         | layer_norm      | np.sum(scaled * xhat)            | np.sum(xhat)
layer_norm         | layer_norm      | dweight += dy * xhat             | dweight[:] = dy * xhat
grid_sampler_2d    | grid_sampler_3d | by_axis[::-1]                    | by_axis
grid_sampler_2d    | grid_sampler_3d | math.prod(weights), by           | math.prod(weights[1:]), by
grid_sampler_2d    | grid_sampler_3d | part(g * weight)                 | part(weight)
""")


def holds(module, what, old, new):
    """Check a copy of a module with one text replaced."""
    module = globals()[module]
    source = inspect.getsource(module)
    assert source.count(old) == 1, old
    spec = importlib.util.spec_from_loader(module.__name__, loader=None)
    changed = importlib.util.module_from_spec(spec)
    exec(compile(source.replace(old, new), "mutant", "exec"), changed.__dict__)
    globals()[f"{what}_holds"](changed)


@pytest.mark.parametrize("module, what, old, new", MUTANTS, ids=[row[3][:40] for row in MUTANTS])
@pytest.mark.sampled(5)
def test_a_wrong_formula_is_noticed(module, what, old, new):
    with pytest.raises(AssertionError):
        holds(module, what, old, new)


# Invisible to differentiation: conversion of numbers, kinks, ties, special values, refusals.


def test_numbers_are_exact_to_50_digits_in_a_context_of_their_own():
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        value = np.array([0.1], dtype=dtype)
        assert exact(value)[0] == mp.mpf(float(value[0]))
    with mpmath.workdps(15):
        assert (
            mpmath.mp is not mp
            and abs(7 * (mp.one / 7) - 1) < mp.mpf("1e-49")
            and mp.mpf("1e-52")
            < abs(3 * (mp.one / 7) - mp.mpf("0.428571428571428571428571428571"))
            < mp.mpf("1e-30")
        )
    agree(
        [divide(mp.mpf(v), mp.zero) for v in (1, -1, 0, np.nan)], [np.inf, -np.inf, np.nan, np.nan]
    )


def test_hardswish_kinks_and_special_values():
    x = [-4, -3, -1.5, 0, 3, 4, np.nan, np.inf, -np.inf]
    agree(
        hardswish.backward(gradOutput=np.full(9, 2.0), self=x)["out"], [0, -1, 0, 1, 3, 2, 2, 2, 0]
    )
    agree(
        hardswish.backward(gradOutput=[np.inf, np.nan, 7], self=[-np.inf, 4, np.nan])["out"],
        [np.nan, np.nan, 7],
    )


def test_saved_statistics_are_used_as_given():
    inputs = dict(dy=[[1.0, 1.0]], x=[[1.0, 2.0]], rstd=[2.0], gamma=[1.0, 3.0])
    agree(rms_norm.backward(**inputs)["dxOut"], [[-26, -50]])
    agree(rms_norm.terms(**inputs)["dxOut"], [[30, 62]])
    agree(
        group_norm_swish.backward(
            dy=[[[2.0, 0, 0, 0]]],
            mean=[[2.0]],
            rstd=[[2.0]],
            x=[[[1.0, 2, 3, 6]]],
            gamma=[1.0],
            beta=[0.0],
            # y = u / 2
            numGroups=1,
            swishScale=0.0,
        )["dxOut"],
        [[[-0.5, -0.5, 1.5, 7.5]]],
    )
    agree(
        layer_norm.backward(
            gradOut=[[3.0, 0.0, 0.0]],
            input=[[1.0, 2.0, 6.0]],
            normalizedShape=(3,),
            mean=[[2.0]],
            rstd=[[2.0]],
            weightOptional=[1.0, -1.0, 2.0],
        )["gradInputOut"],
        [[-4, -2, 30]],
    )


def test_ignored_targets_and_those_outside():
    inputs = dict(gradLoss=1.0, logProb=np.full((2, 3), -0.2), weightOptional=np.ones(3))
    p = mp.exp(mp.mpf(-0.2))
    agree(
        cross_entropy_loss.backward(**inputs, target=[-100, 1], reduction="sum")["xGradOut"],
        [[0, 0, 0], [p, p - 1, p]],
    )
    agree(
        cross_entropy_loss.backward(**inputs, target=[2, 2], ignoreIndex=2)["xGradOut"],
        np.full((2, 3), np.nan),
    )
    for target in ([0, 3], [-1, 0]):
        with pytest.raises(ValueError, match="target"):
            cross_entropy_loss.backward(**inputs, target=target)


@pytest.mark.parametrize(
    "c, size, align, position, sign",
    [
        (-1, 3, False, 0, -1),
        (-0.5, 3, False, -0.5, 1),
        (-3.5, 3, False, 2.5, 1),
        (2.5, 3, False, 2.5, -1),
        (5.5, 3, False, -0.5, 1),
        (-1, 3, True, 1, -1),
        (4, 3, True, 0, 1),
        (2, 3, True, 2, -1),
        (7, 1, True, 0, 0),
        (0.75, 1, False, 0.25, -1),
        (2**80 + 1, 3, True, 1, 1),
    ],
)
def test_reflection(c, size, align, position, sign):
    assert grid_sampler_2d.reflect(grid_sampler_2d.Fraction(c), size, align) == (position, sign)


# pixels 10, 20, 40, 80 in a row
@pytest.mark.parametrize(
    "xs, mode, padding, align, out, image_grad, grid_grad",
    [
        # no slope at a border
        (
            [-1, 1, -0.75, 0.75],
            BILINEAR,
            BORDER,
            False,
            [10, 80, 10, 80],
            [2, 0, 0, 2],
            [0, 0, 0, 0],
        ),
        # but towards the pixels outside
        ([-1, 1], BILINEAR, ZEROS, True, [10, 80], [1, 0, 0, 1], [15, -120]),
        # ties go to even
        ([-0.5, 0, 0.5], NEAREST, ZEROS, False, [10, 40, 40], [1, 0, 2, 0], [0, 0, 0]),
        ([np.nan, np.inf, -np.inf], BILINEAR, BORDER, True, [0, 80, 10], [1, 0, 0, 1], [0, 0, 0]),
        ([np.nan, np.inf, -np.inf], NEAREST, REFLECTION, True, [0, 0, 0], [0, 0, 0, 0], [0, 0, 0]),
        ([np.nan, np.inf, -np.inf], BICUBIC, BORDER, True, [10, 10, 10], [3, 0, 0, 0], [0, 0, 0]),
    ],
)
def test_borders_ties_and_coordinates_that_are_not_finite(
    xs, mode, padding, align, out, image_grad, grid_grad
):
    given = dict(
        input=[[[[10.0, 20.0, 40.0, 80.0]]]],
        grid=[[[[x, 0.0] for x in xs]]],
        interpolationMode=mode,
        paddingMode=padding,
        alignCorners=align,
    )
    agree(grid_sampler_2d.forward(**given)["out"][0, 0, 0], out)
    grads = grid_sampler_2d.backward(gradOutput=np.ones((1, 1, 1, len(xs))), **given)
    agree(grads["inputGrad"][0, 0, 0], image_grad)
    agree(grads["gridGrad"][0, 0, :, 0], grid_grad)
