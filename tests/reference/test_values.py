"""Numbers, and the references of the other four operators, against values worked out by hand."""

import ml_dtypes
import mpmath
import numpy as np
import pytest

from . import cross_entropy_loss, exact, group_norm_swish, hardswish, rms_norm
from .exact import mp
from .judging import agree, differentiate, uniform

NAN, INF = np.nan, np.inf


def test_every_dtype_is_taken_at_its_exact_value():
    for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
        value = np.array([0.1], dtype=dtype)
        assert exact.exact(value)[0] == mp.mpf(float(value[0]))


def test_the_precision_is_50_digits_and_private():
    assert mp.dps == 50 and mpmath.mp is not mp
    with mpmath.workdps(15):
        assert mp.mpf("1e-52") < abs(3 * (mp.one / 7) - mp.mpf("0.428571428571428571428571428571")) < mp.mpf("1e-30")
        assert abs(7 * (mp.one / 7) - 1) < mp.mpf("1e-49")


def test_division_by_zero_is_that_of_the_floating_standard():
    agree([exact.divide(mp.mpf(v), mp.zero) for v in (1, -1, 0, NAN)], [INF, -INF, NAN, NAN])


# Hard swish

def test_hardswish_kinks_and_special_values():
    x = [-4, -3, -1.5, 0, 3, 4, NAN, INF, -INF]
    agree(hardswish.backward(gradOutput=np.full(9, 2.0), self=x)["out"], [0, -1, 0, 1, 3, 2, 2, 2, 0])
    agree(hardswish.backward(gradOutput=[INF, NAN, 7], self=[-INF, 4, NAN])["out"], [NAN, NAN, 7])


def test_the_vendors_hardswish_sample():
    out = hardswish.backward(gradOutput=np.arange(8.0), self=np.arange(8.0))["out"]
    agree(out, [0, mp.mpf(5) / 6, mp.mpf(7) / 3, 4.5, 4, 5, 6, 7])


def test_hardswish_scale_counts_both_terms():
    agree(hardswish.terms(gradOutput=[2, -2, 2, 2], self=[-1.5, 3, -4, 4])["out"], [2, 3, 0, 2])


# RMS norm

def test_rms_norm_forward_by_hand():
    out = rms_norm.forward(x=[[3.0, 5.0]], gamma=[2.0, 1.0], epsilon=-1.0)  # mean square 17
    agree(out["rstd"], [[0.25]])
    agree(out["y"], [[1.5, 1.25]])


@pytest.mark.parametrize("rstd", [[2.0], [[2.0]]])
def test_rms_norm_uses_rstd_as_given(rstd):
    inputs = dict(dy=[[1.0, 1.0]], x=[[1.0, 2.0]], rstd=rstd, gamma=[1.0, 3.0])
    out = rms_norm.backward(**inputs)
    agree(out["dxOut"], [[-26, -50]])
    agree(out["dgammaOut"], [2, 4])
    scale = rms_norm.terms(**inputs)
    agree(scale["dxOut"], [[30, 62]])
    agree(scale["dgammaOut"], [2, 4])


def test_rms_norm_scale_does_not_cancel():
    inputs = dict(dy=[[1.0, 1.0], [1.0, 1.0]], x=[[1.0, -1.0], [-1.0, 1.0]], rstd=[1.0, 1.0], gamma=[1.0, 1.0])
    agree(rms_norm.backward(**inputs)["dgammaOut"], [0, 0])
    agree(rms_norm.terms(**inputs)["dgammaOut"], [2, 2])
    agree(rms_norm.terms(**inputs)["dxOut"], [[2, 2], [2, 2]])


def test_rms_norm_shapes():
    x, gamma = uniform(1, 2, 3, 4), uniform(2, 3, 4)
    assert rms_norm.forward(x=x, gamma=gamma)["rstd"].shape == (2, 1, 1)
    out = rms_norm.backward(dy=x, x=x, rstd=np.ones(2), gamma=gamma)
    assert out["dxOut"].shape == (2, 3, 4) and out["dgammaOut"].shape == (3, 4)


# Cross entropy

SAMPLE = dict(gradLoss=0.1, logProb=np.full((2, 3), -0.2), target=[0, 0], weightOptional=np.ones(3))


def test_the_vendors_sample():
    other = mp.mpf(0.1) * mp.exp(mp.mpf(-0.2)) / 2
    out = cross_entropy_loss.backward(**SAMPLE)["xGradOut"]
    agree(out, [[other - mp.mpf(0.1) / 2, other, other]] * 2)
    agree(out, [[-0.0090635, 0.0409365, 0.0409365]] * 2, tolerance=1e-7)  # the digits of exp(-0.2) * 0.05
    agree(cross_entropy_loss.backward(**SAMPLE | {"gradLoss": [0.1]})["xGradOut"], out)


def test_cross_entropy_forward_by_hand():
    inputs = dict(input=np.log([[1.0, 3.0], [4.0, 4.0]]), target=[1, 0], weightOptional=[2.0, 1.0])
    agree(cross_entropy_loss.forward(**inputs, reduction="none")["loss"], np.log([4 / 3, 4]), tolerance=1e-15)
    agree(cross_entropy_loss.forward(**inputs)["loss"], np.log(16 / 3) / 3, tolerance=1e-15)
    out = cross_entropy_loss.forward(**inputs, reduction="none", lseSquareScaleForZloss=0.5, labelSmoothing=1.0)
    agree(out["lseForZloss"], np.log([4, 8]), tolerance=1e-15)
    agree(out["zloss"], np.log([4, 8]) ** 2 / 2, tolerance=1e-15)
    agree(out["logProb"], np.log([[0.25, 0.75], [0.5, 0.5]]), tolerance=1e-15)
    entropy = np.array([2 * np.log(4) + np.log(4 / 3), 3 * np.log(2)]) / 2
    agree(out["loss"], entropy + np.log([4, 8]) ** 2 / 2, tolerance=1e-15)


@pytest.mark.parametrize("reduction", ["none", "sum"])
def test_ignored_rows_are_zero(reduction):
    grad = [1.0, 1.0] if reduction == "none" else 1.0
    out = cross_entropy_loss.backward(**SAMPLE | dict(gradLoss=grad, target=[-100, 1], reduction=reduction))["xGradOut"]
    p = mp.exp(mp.mpf(-0.2))
    agree(out, [[0, 0, 0], [p, p - 1, p]])


@pytest.mark.parametrize("grad", [1.0, 0.0])
def test_a_mean_over_ignored_rows_alone_is_nan(grad):
    inputs = dict(target=[2, 2], ignoreIndex=2)
    agree(cross_entropy_loss.backward(**SAMPLE | dict(gradLoss=grad) | inputs)["xGradOut"], np.full((2, 3), NAN))
    agree(cross_entropy_loss.forward(input=np.zeros((2, 3)), **inputs)["loss"], NAN)


@pytest.mark.parametrize("target", [[0, 3], [-1, 0], [-100, 5]])
def test_a_target_outside_the_classes_raises(target):
    with pytest.raises(ValueError, match="target"):
        cross_entropy_loss.backward(**SAMPLE | dict(target=target))
    with pytest.raises(ValueError, match="target"):
        cross_entropy_loss.forward(input=np.zeros((2, 3)), target=target)


def test_an_unknown_reduction_raises():
    with pytest.raises(ValueError, match="reduction"):
        cross_entropy_loss.backward(**SAMPLE | dict(reduction="avg"))


def test_zloss_needs_its_scale_and_its_lse():
    plain = cross_entropy_loss.backward(**SAMPLE)["xGradOut"]
    z = dict(gradZlossOptional=0.5, lseForZlossOptional=[2.0, 3.0], lseSquareScaleForZloss=0.25)
    for missing in ("lseForZlossOptional", "lseSquareScaleForZloss"):
        agree(cross_entropy_loss.backward(**SAMPLE | {k: v for k, v in z.items() if k != missing})["xGradOut"], plain)
    p = mp.exp(mp.mpf(-0.2)) * (mp.mpf(0.1) + 0.5) / 4
    agree(cross_entropy_loss.backward(**SAMPLE | z)["xGradOut"] - plain, [[2 * p] * 3, [3 * p] * 3])


def test_cross_entropy_scale_by_hand():
    p, g = mp.exp(mp.mpf(-0.2)), mp.mpf(0.1)
    other = p * g / 2
    unweighted = cross_entropy_loss.terms(**SAMPLE | dict(weightOptional=None))
    agree(unweighted["xGradOut"], [[other + g / 2, other, other]] * 2)
    # the divisor of weights 1 and 1 contributes |out| once; of weights 3 and -1 twice
    agree(cross_entropy_loss.terms(**SAMPLE)["xGradOut"], [[g, 2 * other, 2 * other]] * 2)
    weighted = SAMPLE | dict(target=[0, 1], weightOptional=[3.0, -1.0, 1.0])
    agree(cross_entropy_loss.terms(**weighted)["xGradOut"][0],
          [3 * other + 3 * g / 2 + 2 * 3 * (g / 2 - other), 9 * other, 9 * other])
    extra = dict(reduction="sum", gradLoss=1.0, labelSmoothing=0.5, gradZlossOptional=-1.0,
                 lseForZlossOptional=[2.0, 2.0], lseSquareScaleForZloss=0.25)
    agree(cross_entropy_loss.backward(**SAMPLE | extra)["xGradOut"][0],
          [p / 2 - 0.5 + p / 2 - mp.mpf(1) / 6] + [p / 2 + p / 2 - mp.mpf(1) / 6] * 2)
    agree(cross_entropy_loss.terms(**SAMPLE | extra)["xGradOut"][0],
          [3 * p + mp.mpf(2) / 3, 3 * p + mp.mpf(1) / 6, 3 * p + mp.mpf(1) / 6])


# Group norm and swish

BY_HAND = dict(dy=[[[2.0, 0.0, 0.0, 0.0]]], mean=[[2.0]], rstd=[[2.0]], x=[[[1.0, 2.0, 3.0, 6.0]]], gamma=[1.0],
               beta=[0.0], numGroups=1, swishScale=0.0)


def test_group_norm_swish_uses_mean_and_rstd_as_given():
    out = group_norm_swish.backward(**BY_HAND)  # swishScale 0: y = u / 2
    agree(out["dxOut"], [[[-0.5, -0.5, 1.5, 7.5]]])
    agree(out["dgammaOut"], [-2])
    agree(out["dbetaOut"], [1])


def test_swish_far_out_neither_overflows_nor_cancels():
    inputs = BY_HAND | dict(beta=[1e6], swishScale=1.0)
    agree(group_norm_swish.backward(**inputs)["dbetaOut"], [2])
    agree(group_norm_swish.backward(**inputs | dict(beta=[-1e6]))["dbetaOut"], [0])


def test_group_norm_swish_forward_by_hand():
    out = group_norm_swish.forward(x=[[1.0, 3.0, 5.0, 5.0]], gamma=np.ones(4), beta=np.zeros(4), numGroups=2, eps=3.0,
                                   swishScale=0.0)
    agree(out["mean"], [[2, 5]])
    agree(out["rstd"][0, 0], 0.5)
    agree(out["y"], [[-0.25, 0.25, 0, 0]])


def test_the_flags_drop_outputs():
    for run in (group_norm_swish.backward, group_norm_swish.terms):
        assert list(run(**BY_HAND, dgammaIsRequire=False)) == ["dxOut", "dbetaOut"]
        assert list(run(**BY_HAND, dbetaIsRequire=False)) == ["dxOut", "dgammaOut"]


def test_group_norm_swish_scale_by_differentiation():
    """One element per channel: beta moves u alone, x moves x - mean, and the derivatives in S can be measured."""
    inputs = dict(dy=uniform(1, 1, 3), mean=[[0.375]], rstd=[[1.75]], x=uniform(2, 1, 3), gamma=uniform(3, 3),
                  beta=uniform(4, 3), numGroups=1, swishScale=1.5)
    dy, x, gamma, beta = (exact.exact(inputs[k]).ravel() for k in ("dy", "x", "gamma", "beta"))
    mean, r, s = mp.mpf(0.375), mp.mpf(1.75), mp.mpf(1.5)
    xhat = (x - mean) * r
    u = xhat * gamma + beta
    p = [1 / (1 + mp.exp(-s * v)) for v in u]
    size = [abs(dy[k]) * (p[k] + p[k] * abs(s * u[k]) * (1 - p[k])) for k in range(3)]
    terms_of_dx = [r * abs(gamma[i]) * size[i] + r / 3 * sum(abs(gamma[k]) * size[k] * (abs(xhat[i] * xhat[k]) + 1)
                                                            for k in range(3)) for i in range(3)]
    terms_of = {"dxOut": terms_of_dx, "dgammaOut": [size[i] * abs(xhat[i]) for i in range(3)], "dbetaOut": size}
    scale = group_norm_swish.terms(**inputs)
    for name, own in terms_of.items():
        for i in range(3):
            element = lambda **changed: group_norm_swish.backward(**inputs | changed)[name].ravel()[i]  # noqa: E731
            by_u = differentiate(lambda v: element(beta=v), beta)
            by_x = differentiate(lambda v: element(x=v), x.reshape(1, 3)).ravel()
            expected = own[i] + sum(abs(by_u[k]) * (abs(xhat[k] * gamma[k]) + abs(beta[k]))
                                    + abs(by_x[k]) * (abs(x[k]) + abs(mean)) for k in range(3))
            agree(scale[name].ravel()[i], expected)


def test_the_scale_is_never_below_the_element():
    inputs = dict(dy=uniform(1, 2, 4, 3), mean=uniform(2, 2, 2), rstd=uniform(3, 2, 2), x=uniform(4, 2, 4, 3),
                  gamma=uniform(5, 4), beta=uniform(6, 4), numGroups=2, swishScale=-0.75)
    out, scale = group_norm_swish.backward(**inputs), group_norm_swish.terms(**inputs)
    for name in out:
        assert out[name].shape == scale[name].shape
        assert all(abs(a) <= b for a, b in zip(out[name].ravel(), scale[name].ravel()))
