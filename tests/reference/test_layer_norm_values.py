"""The layer norm's reference against values worked out by hand, and against differences of its own forward pass."""

import numpy as np
import pytest

from test_reference import mutant

from . import layer_norm
from .exact import exact, mp
from .judging import agree, differentiate, dot, uniform

BY_HAND = dict(gradOut=[[3.0, 0.0, 0.0]], input=[[1.0, 2.0, 6.0]], normalizedShape=(3,), mean=[[2.0]], rstd=[[2.0]],
               weightOptional=[1.0, -1.0, 2.0])
NAMES = ["gradInputOut", "gradWeightOut", "gradBiasOut"]


def test_forward_by_hand():
    out = layer_norm.forward(input=[[1.0, 3.0], [5.0, 5.0]], normalizedShape=[2], weightOptional=[2.0, 1.0],
                             biasOptional=[0.0, 1.0], eps=3.0)
    agree(out["mean"], [[2], [5]])
    agree(out["rstd"], [[0.5], [1 / mp.sqrt(mp.mpf(3))]])
    agree(out["out"], [[-1, 1.5], [0, 1]])


def test_mean_and_rstd_are_used_as_given():
    out = layer_norm.backward(**BY_HAND)  # x-hat -2, 0, 8; dy w = 3, 0, 0 with mean 1, and -2 times x-hat
    agree(out["gradInputOut"], [[2 * (3 - 1 - 4), -2, 2 * (-1 + 16)]])
    agree(out["gradWeightOut"], [-6, 0, 0])
    agree(out["gradBiasOut"], [3, 0, 0])


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_statistic_counts_its_elements_alone(shape):
    given = {name: np.full(shape, 2.0) for name in ("mean", "rstd")}
    agree(layer_norm.backward(**BY_HAND | given)["gradInputOut"], layer_norm.backward(**BY_HAND)["gradInputOut"])


def test_no_weight_is_a_weight_of_one_and_bias_is_not_read():
    plain = layer_norm.backward(**BY_HAND | dict(weightOptional=None))
    ones = layer_norm.backward(**BY_HAND | dict(weightOptional=np.ones(3)), biasOptional=np.full(3, np.nan))
    for name in NAMES:
        agree(plain[name], ones[name])


def test_shapes():
    x = uniform(1, 2, 3, 4)
    saved = layer_norm.forward(input=x, normalizedShape=(3, 4))
    assert saved["mean"].shape == saved["rstd"].shape == (2, 1, 1) and saved["out"].shape == x.shape
    out = layer_norm.backward(gradOut=x, input=x, normalizedShape=(3, 4), mean=saved["mean"], rstd=saved["rstd"])
    assert [out[name].shape for name in NAMES] == [(2, 3, 4), (3, 4), (3, 4)]


def test_no_rows_give_sums_of_zero():
    empty = np.zeros((0, 2))
    out = layer_norm.backward(gradOut=empty, input=empty, normalizedShape=(2,), mean=np.zeros(0), rstd=np.zeros(0))
    agree(out["gradWeightOut"], [0, 0])
    agree(out["gradBiasOut"], [0, 0])


@pytest.mark.parametrize("mask", [(True, False, False), (False, True, True), (False, False, False)])
def test_the_mask_selects_outputs(mask):
    for run in (layer_norm.backward, layer_norm.terms):
        assert list(run(**BY_HAND, outputMask=mask)) == [name for name, asked in zip(NAMES, mask) if asked]


def test_scale_by_hand():
    scale = layer_norm.terms(**BY_HAND)  # parts of x-hat: (1 + 2) 2, (2 + 2) 2, (6 + 2) 2
    agree(scale["gradWeightOut"], [3 * (2 + 6), 0, 0])
    agree(scale["gradBiasOut"], [3, 0, 0])
    # terms 3, 3 and |x-hat| 6, over 3 the second and third; x-hat_0 through 2 * -6 with 6 parts, x-hat_2 through 8 * 3
    agree(scale["gradInputOut"][0, 0], 2 * (3 + (3 + 2 * 6 + 12 * 6) / mp.mpf(3)))
    agree(scale["gradInputOut"][0, 2], 2 * (0 + (3 + 8 * 6 + 8 * 3 * 6 + 6 * 16) / mp.mpf(3)))


def test_scale_by_differentiation():
    """x moves x - mean alone when mean and rstd are given, so the derivatives in S can be measured."""
    inputs = dict(gradOut=uniform(1, 1, 3), input=uniform(2, 1, 3), normalizedShape=(3,), mean=[0.375], rstd=[1.75],
                  weightOptional=uniform(3, 3))
    dy, x, w = (exact(inputs[k]).ravel() for k in ("gradOut", "input", "weightOptional"))
    m, r = mp.mpf(0.375), mp.mpf(1.75)
    xhat = (x - m) * r
    scale = layer_norm.terms(**inputs)
    for i in range(3):
        own = r * abs(dy[i] * w[i]) + r / 3 * sum(abs(dy[k] * w[k]) * (1 + abs(xhat[i] * xhat[k])) for k in range(3))
        for name, terms in (("gradInputOut", own), ("gradWeightOut", abs(dy[i] * xhat[i])), ("gradBiasOut", abs(dy[i]))):
            by_x = differentiate(lambda v: layer_norm.backward(**inputs | dict(input=v))[name].ravel()[i],
                                 x.reshape(1, 3)).ravel()
            agree(scale[name].ravel()[i], terms + sum(abs(by_x[k]) * (abs(x[k]) + m) for k in range(3)))


def holds(module, shape=(2, 3, 4), normalised=1, weighted=True):
    x, dy = uniform(1, *shape), uniform(2, *shape)
    trailing = shape[len(shape) - normalised:]
    w, b = (uniform(seed, *trailing) for seed in (3, 4))

    def forward(x, w, b):
        return module.forward(input=x, normalizedShape=trailing, weightOptional=w if weighted else None,
                              biasOptional=b, eps=0.25)

    saved = forward(x, w, b)
    out = module.backward(gradOut=dy, input=x, normalizedShape=trailing, mean=saved["mean"], rstd=saved["rstd"],
                          weightOptional=w if weighted else None, biasOptional=b)
    agree(out["gradInputOut"], differentiate(lambda v: dot(forward(v, w, b)["out"], dy), x))
    agree(out["gradBiasOut"], differentiate(lambda v: dot(forward(x, w, v)["out"], dy), b))
    if weighted:
        agree(out["gradWeightOut"], differentiate(lambda v: dot(forward(x, v, b)["out"], dy), w))


@pytest.mark.parametrize("shape, normalised", [((2, 3, 4), 1), ((2, 3, 4), 2), ((2, 3), 2), ((5,), 1), ((3, 1), 1)])
@pytest.mark.parametrize("weighted", [True, False])
def test_backward_is_the_derivative_of_forward(shape, normalised, weighted):
    holds(layer_norm, shape, normalised, weighted)


@pytest.mark.parametrize("old, new", [
    ("- shift / columns", "- shift"), ("- shift / columns", ""), ("xhat[i] * along / columns", "xhat[i] * along"),
    ("along += dy[row, j] * weight[j] * xhat[j]", "along += weight[j] * xhat[j]"),
    ("dweight[i] += dy[row, i] * xhat[i]", "dweight[i] = dy[row, i] * xhat[i]"),
    ("dbias[i] += dy[row, i]\n    return wanted(x.shape, normalizedShape, dx, dweight, dbias, outputMask)\n\n\ndef wanted",
     "dbias[i] += dy[row, i] * xhat[i]\n"
     "    return wanted(x.shape, normalizedShape, dx, dweight, dbias, outputMask)\n\n\ndef wanted")], ids=str)
def test_a_wrong_formula_is_noticed(old, new):
    with pytest.raises(AssertionError):
        holds(mutant(layer_norm, old, new))


def test_an_unchanged_copy_passes():
    holds(mutant(layer_norm, "- shift / columns", "- shift / columns"))
