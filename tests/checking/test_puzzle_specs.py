"""Every loop that says what is wanted of a puzzle, against the scalar references at 50 digits."""

import math
from fractions import Fraction

import numpy as np
import pytest

from aclnn_viz import case, check
from aclnn_viz.puzzles import puzzle, puzzles
from reference import cross_entropy_loss, grid_sampler_2d, group_norm_swish, hardswish, rms_norm
from reference.exact import exact, mp, zeros
from together import in_one

# of the largest element: dozens of terms in float64, which cancel to 1e-6 in rows of one element
CLOSE = 1e-10


def scalars(function, values):
    """A function of one exact number, for every element."""
    return np.array([function(value) for value in exact(values)], dtype=object)


def fractions(function, values):
    return np.array([function(Fraction(float(value))) for value in values], dtype=object)


def grid_point_gradient(row, x, gradOutput, **modes):
    grid = np.stack([x, np.zeros_like(x)], -1)[None, None]
    return grid_sampler_2d.backward(
        gradOutput=gradOutput[None, None, None], input=row[None, None, None], grid=grid, **modes
    )["gridGrad"][0, 0, :, 0]


def rms_row_mean(dy, x, rstd, gamma):
    """Solved from dx = (dy gamma - xhat mean) rstd at the largest x of each row."""
    dx = rms_norm.backward(dy=dy, x=x, rstd=rstd, gamma=gamma)["dxOut"]
    at = np.argmax(np.abs(x), axis=1)
    pick = [(row, at[row]) for row in range(len(x))]
    return np.array(
        [
            [
                (exact(dy)[i] * exact(gamma)[i[1]] - dx[i] / exact(rstd)[i[0], 0])
                / (exact(x)[i] * exact(rstd)[i[0], 0])
            ]
            for i in pick
        ],
        dtype=object,
    )


def rms_xhat(x, rstd):
    """dgamma of one row and dy = 1."""
    ones = np.ones((1, x.shape[1]))
    return np.array(
        [
            rms_norm.backward(dy=ones, x=x[k : k + 1], rstd=rstd[k : k + 1], gamma=ones[0])[
                "dgammaOut"
            ]
            for k in range(len(x))
        ]
    )


def grid_scatter(index, values, pixels):
    image = zeros((len(values), pixels))
    for channel, row in enumerate(exact(values)):
        for pixel in range(pixels):
            image[channel, pixel] = sum(
                (row[k] for k in range(len(index)) if index[k] == pixel), mp.zero
            )
    return image


def ce(**inputs):
    return cross_entropy_loss.backward(**inputs)["xGradOut"]


def ce_target_weight(target, weight, ignoreIndex):
    """With a softmax of nearly 0 the gradient is minus the weight, at the target."""
    found = ce(
        gradLoss=np.ones(len(target)),
        logProb=np.full((len(target), len(weight)), -1e4),
        target=target,
        weightOptional=weight,
        ignoreIndex=ignoreIndex,
        reduction="none",
    )
    return -found.sum(axis=1)


def ce_divisor(target, weight, ignoreIndex):
    """The weight of a row that counts over its share in the mean."""
    found = ce(
        gradLoss=np.ones(()),
        logProb=np.full((len(target), len(weight)), -1e4),
        target=target,
        weightOptional=weight,
        ignoreIndex=ignoreIndex,
    )
    row = int(np.argmax(target != ignoreIndex))
    return np.array(-exact(weight)[target[row]] / found[row, target[row]], dtype=object)


def ce_smoothing(weight, **inputs):
    return ce(gradLoss=np.ones(()), weightOptional=weight, reduction="sum", **inputs)


def ce_zloss(gradZloss, logProb, lse, scale):
    rows = len(lse)
    return ce(
        gradLoss=np.zeros(rows),
        logProb=logProb,
        target=np.zeros(rows, int),
        gradZlossOptional=gradZloss,
        lseForZlossOptional=lse,
        lseSquareScaleForZloss=scale,
        reduction="none",
    )


def gn(dz, x, mean, rstd, numGroups, swishScale=0.0):
    """The reference, where a swish of scale 0 halves: dz is half of dy."""
    ones = np.ones(x.shape[1])
    return group_norm_swish.backward(
        dy=2.0 * dz,
        mean=mean,
        rstd=rstd,
        x=x,
        gamma=ones,
        beta=0.0 * ones,
        numGroups=numGroups,
        swishScale=swishScale,
    )


def swish_slope(z, swishScale):
    """dbeta of channels of one element, with x-hat = z."""
    one = np.ones((1, 1))
    return gn(np.full((1, z.size), 0.5), z[None], 0.0 * one, one, 1, swishScale)["dbetaOut"]


def gn_xhat(x, mean, rstd, numGroups):
    values, _ = group_norm_swish.by_group(exact(x), numGroups)
    return ((values - exact(mean)[..., None]) * exact(rstd)[..., None]).reshape(x.shape)


def gn_means(dxhat, xhat, numGroups):
    values, _ = group_norm_swish.by_group(exact(xhat), numGroups)
    grads, _ = group_norm_swish.by_group(exact(dxhat), numGroups)
    return (grads * values).sum(axis=-1) / values.shape[-1], grads.sum(axis=-1) / values.shape[-1]


def gn_dx(dxhat, xhat, rstd):
    return gn(dxhat[None], (xhat / rstd)[None], np.zeros((1, len(xhat))), rstd.T, len(xhat))[
        "dxOut"
    ][0]


def gn_parameters(dz, xhat):
    one = np.ones((len(xhat), 1))
    found = gn(dz, xhat, 0.0 * one, one, 1)
    return found["dgammaOut"], found["dbetaOut"]


RIGHT = {
    "hardswish_middle": lambda x: scalars(hardswish.derivative, x),
    "hardswish_slope": lambda x: scalars(hardswish.derivative, x),
    "rms_xhat": rms_xhat,
    "rms_row_mean": rms_row_mean,
    "rms_dx": lambda **inputs: rms_norm.backward(**inputs)["dxOut"],
    "rms_dgamma": lambda dy, x, rstd: rms_norm.backward(
        dy=dy, x=x, rstd=rstd, gamma=np.ones(x.shape[1])
    )["dgammaOut"],
    "grid_unnormalise": lambda x, size, alignCorners: (
        np.array(
            [grid_sampler_2d.coordinate(value, size, alignCorners) for value in exact(x)],
            dtype=object,
        ),
        np.full(x.shape, grid_sampler_2d.unnormalise_factor(size, alignCorners), dtype=object),
    ),
    "grid_clip": lambda u, size: tuple(
        fractions(lambda c: grid_sampler_2d.clip(c, size)[k], u) for k in (0, 1)
    ),
    "grid_reflect": lambda u, size, alignCorners: fractions(
        lambda c: grid_sampler_2d.reflect(c, size, alignCorners)[0], u
    ),
    "grid_reflect_slope": lambda u, size, alignCorners: fractions(
        lambda c: grid_sampler_2d.reflect(c, size, alignCorners)[1], u
    ),
    "grid_taps": lambda u: (
        fractions(math.floor, u),
        fractions(lambda c: 1 - (c - math.floor(c)), u),
        fractions(lambda c: c - math.floor(c), u),
    ),
    "grid_nearest": lambda u: fractions(round, u),  # of a Fraction: ties to even
    "grid_scatter": grid_scatter,
    "grid_row_gradient": lambda **inputs: grid_point_gradient(**inputs, alignCorners=True),
    "grid_reflected_gradient": lambda **inputs: grid_point_gradient(**inputs, paddingMode=2),
    "grid_bicubic_slopes": lambda t: np.array(
        [scalars(lambda c: grid_sampler_2d.cubic(c, tap)[1], t) for tap in (-1, 0, 1, 2)]
    ),
    "ce_softmax": lambda **inputs: ce(gradLoss=np.ones(()), reduction="sum", **inputs),
    "ce_target_weight": ce_target_weight,
    "ce_divisor": ce_divisor,
    "ce_mean_gradient": lambda weight, **inputs: ce(weightOptional=weight, **inputs),
    "ce_smoothing": ce_smoothing,
    "ce_zloss": ce_zloss,
    "swish_slope": swish_slope,
    "gn_xhat": gn_xhat,
    "gn_means": gn_means,
    "gn_dx": gn_dx,
    "gn_parameters": gn_parameters,
}
WHOLE = {"hardswish_kernel": hardswish, "rms_kernel": rms_norm, "gn_kernel": group_norm_swish}


def assert_close(actual, expected):
    actual = np.asarray(actual)
    assert actual.shape == expected.shape
    wanted = np.array([float(value) for value in expected.ravel()]).reshape(expected.shape)
    scale = np.max(np.abs(wanted), initial=0.0, where=np.isfinite(wanted))
    assert ((actual == wanted) | (np.abs(actual - wanted) <= CLOSE * scale)).all()


def several(value):
    return value if isinstance(value, tuple) else (value,)


@in_one
@pytest.mark.parametrize("name", RIGHT)
def test_a_specification_agrees_with_the_reference(name):
    for inputs in puzzle(name).cases:
        actual, expected = several(puzzle(name).spec(**inputs)), several(RIGHT[name](**inputs))
        assert len(actual) == len(expected) == len(puzzle(name).outputs)
        for a, e in zip(actual, expected):
            assert_close(a, e)


@pytest.mark.parametrize("name", WHOLE)
def test_the_specification_of_a_whole_kernel_agrees_with_the_reference(name):
    one = puzzle(name)
    inputs = case(
        one.operator, dtype="float64", shape={"gn_kernel": (2, 4, 3)}.get(name, (3, 4))
    ).inputs
    actual, expected = one.spec(**inputs), WHOLE[name].backward(**inputs)
    for a, e in zip(
        actual.values() if isinstance(actual, dict) else several(actual),
        expected.values(),
        strict=True,
    ):
        assert_close(a, e)


@pytest.mark.parametrize("name", WHOLE)
def test_the_specification_of_a_whole_kernel_is_a_right_kernel(name):
    assert check(puzzle(name).operator, puzzle(name).spec, time_limit=5.0).failed == 0


def test_every_specification_is_judged():
    assert {*RIGHT, *WHOLE} == {one.name for one in puzzles()} and len(puzzles()) >= 20


def test_a_wrong_specification_is_noticed():
    wrong = RIGHT["hardswish_slope"](np.float64([-3.0, 1.0]))
    with pytest.raises(AssertionError):
        assert_close(np.float64([0.0, 1 / 3 + 0.5]), wrong)  # the kink open
    with pytest.raises(AssertionError):
        assert_close(np.float64([-0.5]), wrong)
