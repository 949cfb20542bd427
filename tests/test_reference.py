"""The references are judged by differentiating their own forward pass numerically; wrong formulas are noticed."""

import importlib.util
import inspect
import itertools

import numpy as np
import pytest

from machine import SOAK
from reference import cross_entropy_loss, grid_sampler_2d, group_norm_swish, hardswish, rms_norm
from reference.judging import agree, differentiate, dot, uniform

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2


# Each of these differentiates the forward pass of a module and compares with its backward pass.

def hardswish_holds(module):
    x = np.float32([-4, -3.25, -2.75, -1.5, -0.125, 0, 1.25, 2.875, 3.125, 5])
    grad = uniform(1, 10)
    agree(module.backward(gradOutput=grad, self=x)["out"],
          differentiate(lambda v: dot(module.forward(self=v)["out"], grad), x))


def rms_norm_holds(module, shape=(2, 3, 4), gamma_ndim=1):
    x, dy, gamma = uniform(1, *shape), uniform(2, *shape), uniform(3, *shape[len(shape) - gamma_ndim:])
    loss = lambda x, gamma: dot(module.forward(x=x, gamma=gamma, epsilon=0.25)["y"], dy)  # noqa: E731
    saved = module.forward(x=x, gamma=gamma, epsilon=0.25)["rstd"]
    out = module.backward(dy=dy, x=x, rstd=saved, gamma=gamma)
    agree(out["dxOut"], differentiate(lambda v: loss(v, gamma), x))
    agree(out["dgammaOut"], differentiate(lambda v: loss(x, v), gamma))


def grid_sampler_holds(module, mode=BILINEAR, padding=REFLECTION, align=False, size=(3, 4)):
    image, grad = uniform(1, 2, 2, *size), uniform(2, 2, 2, 1, 3)
    grid = uniform(4, 2, 1, 3, 2, low=-0.9, high=0.9)
    grid[1, 0] = [[-1.4, 2.3], [1.6, -2.2], [3.4, 0.3]]  # one and two reflections away
    options = dict(interpolationMode=mode, paddingMode=padding, alignCorners=align)
    loss = lambda image, grid: dot(module.forward(input=image, grid=grid, **options)["out"], grad)  # noqa: E731
    out = module.backward(gradOutput=grad, input=image, grid=grid, **options)
    agree(out["inputGrad"], differentiate(lambda v: loss(v, grid), image))
    agree(out["gridGrad"], differentiate(lambda v: loss(image, v), grid))


def bicubic_holds(module):
    grid_sampler_holds(module, BICUBIC, BORDER)


def cross_entropy_holds(module, reduction="mean", weighted=True, smoothing=0.25, scale=0.5, grad_zloss=True):
    target, logits = np.array([2, -7, 0, 2]), uniform(1, 4, 3)
    options = dict(weightOptional=uniform(2, 3, low=0.5) if weighted else None, reduction=reduction, ignoreIndex=-7,
                   labelSmoothing=smoothing, lseSquareScaleForZloss=scale)
    saved = module.forward(input=logits, target=target, **options)
    grad = uniform(3, *saved["loss"].shape)
    z_grad = uniform(4, *saved["loss"].shape) if grad_zloss else np.zeros_like(grad)

    def loss(logits):
        forward = module.forward(input=logits, target=target, **options)
        return dot(forward["loss"], grad) + dot(forward["zloss"], z_grad)

    out = module.backward(gradLoss=grad, logProb=saved["logProb"], target=target,
                          lseForZlossOptional=saved["lseForZloss"],
                          gradZlossOptional=z_grad if grad_zloss else None, **options)
    agree(out["xGradOut"], differentiate(loss, logits))


def group_norm_holds(module, shape=(2, 4, 3), groups=2, scale=-1.5):
    x, dy, gamma, beta = uniform(1, *shape), uniform(2, *shape), uniform(3, shape[1]), uniform(4, shape[1])
    options = dict(numGroups=groups, swishScale=scale)
    loss = lambda x, gamma, beta: dot(  # noqa: E731
        module.forward(x=x, gamma=gamma, beta=beta, eps=0.25, **options)["y"], dy)
    saved = module.forward(x=x, gamma=gamma, beta=beta, eps=0.25, **options)
    out = module.backward(dy=dy, mean=saved["mean"], rstd=saved["rstd"], x=x, gamma=gamma, beta=beta, **options)
    agree(out["dxOut"], differentiate(lambda v: loss(v, gamma, beta), x))
    agree(out["dgammaOut"], differentiate(lambda v: loss(x, v, beta), gamma))
    agree(out["dbetaOut"], differentiate(lambda v: loss(x, gamma, v), beta))


def test_hardswish_is_the_derivative_of_its_forward():
    hardswish_holds(hardswish)


@pytest.mark.parametrize("shape, gamma_ndim", [((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3), 2), ((5,), 1), ((3, 1), 1)])
def test_rms_norm_is_the_derivative_of_its_forward(shape, gamma_ndim):
    rms_norm_holds(rms_norm, shape, gamma_ndim)


@pytest.mark.parametrize("mode, padding, align", [mode for mode in itertools.product(range(3), range(3), (False, True))
                                                  if SOAK or sum(mode) % 2 == 0])  # any two of the three meet
def test_grid_sampler_is_the_derivative_of_its_forward(mode, padding, align):
    grid_sampler_holds(grid_sampler_2d, mode, padding, align)


@pytest.mark.parametrize("mode, padding, align", list(itertools.product((0, 2), range(3), (False, True))))
def test_grid_sampler_is_the_derivative_of_its_forward_on_a_line_of_pixels(mode, padding, align):
    grid_sampler_holds(grid_sampler_2d, mode, padding, align, size=(1, 3))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("options", [
    dict(), dict(weighted=False), dict(smoothing=0.0), dict(smoothing=1.0), dict(scale=0.0), dict(grad_zloss=False),
    dict(weighted=False, smoothing=0.0, scale=0.0, grad_zloss=False)], ids=str)
def test_cross_entropy_is_the_derivative_of_its_forward(reduction, options):
    cross_entropy_holds(cross_entropy_loss, reduction, **options)


@pytest.mark.parametrize("shape, groups", [
    ((2, 4, 3), 2), ((2, 4, 3), 1), ((3, 2), 2), ((2, 6), 2), ((1, 2, 2, 1, 2), 1)])
@pytest.mark.parametrize("scale", [1.0, -1.5, 0.0])
def test_group_norm_swish_is_the_derivative_of_its_forward(shape, groups, scale):
    group_norm_holds(group_norm_swish, shape, groups, scale)


# The checks above must reject wrong formulas: each entry changes one place of a module's text.

MUTANTS = [
    (hardswish, hardswish_holds, "x / 3 + mp.mpf(1) / 2", "x / 6 + mp.mpf(1) / 2"),
    (rms_norm, rms_norm_holds, "mean = divide(total, mp.mpf(g.size))", "mean = total"),
    (rms_norm, rms_norm_holds, "total += dy_rows[row, j] * g[j]", "total += g[j]"),
    (rms_norm, rms_norm_holds, "dgamma[i] += dy_rows[row, i] * x_rows[row, i] * rstd[row]\n    return {\"dxOut\": dx",
     "dgamma[i] = dy_rows[row, i] * x_rows[row, i] * rstd[row]\n    return {\"dxOut\": dx"),
    (grid_sampler_2d, grid_sampler_holds, "multiplier *= sign", "multiplier *= 1"),
    (grid_sampler_2d, grid_sampler_holds, "return c, multiplier * inside", "return c, multiplier"),
    (grid_sampler_2d, grid_sampler_holds, "(span - extra + low, -sign)", "(span - extra + low, sign)"),
    (grid_sampler_2d, grid_sampler_holds, "else Fraction(size, 2)", "else Fraction(size - 1, 2)"),
    (grid_sampler_2d, grid_sampler_holds, "-slope), (floor + 1", "slope), (floor + 1"),
    (grid_sampler_2d, bicubic_holds, "side * (3 * (A + 2)", "(3 * (A + 2)"),
    (grid_sampler_2d, bicubic_holds, "t, factor = to_mpf(c - floor), to_mpf(unnormalise_factor(size, align))",
     "t, factor = to_mpf(c - floor), to_mpf(unnormalise_factor(size, align) * clip(c, size)[1])"),
    (cross_entropy_loss, cross_entropy_holds, "[grad, exact(gradZlossOptional).ravel()]", "[grad]"),
    (cross_entropy_loss, cross_entropy_holds, "divide(z[row], count_divisor)", "divide(z[row], weight_divisor)"),
    (cross_entropy_loss, cross_entropy_holds, "+ prob[c] * smooth_total - smooth * weight[c]\n            for",
     "- smooth * weight[c]\n            for"),
    (cross_entropy_loss, cross_entropy_holds, "smoothing / classes * mask", "smoothing / classes"),
    (group_norm_swish, group_norm_holds, "- shift / n)", "- shift)"),
    (group_norm_swish, group_norm_holds, "xhats[k] * projection / n -", "xhats[k] * projection -"),
    (group_norm_swish, group_norm_holds, "(1 + s * u * sigmoid(-s * u))", "(1 + u * sigmoid(-s * u))"),
    (group_norm_swish, group_norm_holds, "            xhats, dus = [], []\n            projection, shift",
     "            xhats, dus = [], []\n            if group == 0:\n                projection, shift"),
]


def mutant(module, old, new):
    source = inspect.getsource(module)
    assert source.count(old) == 1, old
    changed = importlib.util.module_from_spec(importlib.util.spec_from_loader(module.__name__, loader=None))
    exec(compile(source.replace(old, new), "mutant", "exec"), changed.__dict__)
    return changed


@pytest.mark.parametrize("module, holds, old, new", MUTANTS, ids=[new[:40] for *_, new in MUTANTS])
def test_a_wrong_formula_is_noticed(module, holds, old, new):
    with pytest.raises(AssertionError):
        holds(mutant(module, old, new))


@pytest.mark.parametrize("module, holds, old", list({entry[0].__name__: entry[:3] for entry in MUTANTS}.values()),
                         ids=lambda value: getattr(value, "__name__", ""))
def test_an_unchanged_copy_passes(module, holds, old):
    holds(mutant(module, old, old))
