"""Rounding of the kernels against truth on large arrays: float32 within 8 u S, 16 bits within one step of the
format.

A hundred thousand elements of one mode here, ten million of every mode with ACLNN_VIZ_SOAK=1.
"""

from itertools import product

import numpy as np
import pytest
from machine import SOAK
from rounding_bounds import judge, magnitudes

from aclnn_viz import case, operator
from aclnn_viz.dtypes import float_format
from kernels.test_against_reference import REFERENCES

ROWS = 100 if SOAK else 1
U = 2.0**-24


def rounding_judged(name, inputs, kernel=None):
    """Assert the bound for every output; return the worst error in units of u S."""
    worst, failure = judge(operator(name), inputs, kernel)
    assert failure is None, failure
    return worst


@pytest.fixture
def judged(record_property):
    """Return `judged(name, **options)`, which judges a case and records the result for the soak report."""

    def judge_case(name, **options):
        drawn = case(name, **options)
        record_property(
            "elements", max(v.size for v in drawn.inputs.values() if isinstance(v, np.ndarray))
        )
        record_property("worst in u S", round(rounding_judged(name, drawn.inputs), 2))

    return judge_case


DTYPES = pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])


@DTYPES
def test_hardswish(judged, dtype):
    judged("hardswish", dtype=dtype, shape=(ROWS * 100, 1000))


@DTYPES
@pytest.mark.parametrize(
    "shape", [(ROWS * 100, 1000), (10, ROWS * 10_003), (ROWS * 12_500, 8)], ids=str
)
@pytest.mark.sampled(2)
def test_rms_norm(judged, dtype, shape):
    judged("rms_norm", dtype=dtype, shape=shape)


FORMATS = ["float32", "float16", "bfloat16"]
MODES = list(product(range(3), range(3), (False, True), FORMATS))
# any two of the four meet
PAIRS = [(i, p, (i + p) % 3 == 0, FORMATS[(i - p) % 3]) for i, p in product(range(3), repeat=2)]


@pytest.mark.parametrize("interpolation,padding,align,dtype", MODES if SOAK else PAIRS)
@pytest.mark.sampled(2)
def test_grid_sampler(judged, interpolation, padding, align, dtype):
    count, side = (10, 250) if SOAK else (1, 80)
    judged(
        "grid_sampler_2d",
        dtype=dtype,
        shape=(count, 16, side, side),
        grid_shape=(side, side),
        interpolationMode=interpolation,
        paddingMode=padding,
        alignCorners=align,
    )


@DTYPES
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing,zloss", [(0.0, 0.0), (0.1, 0.0), (0.0, 0.01), (0.3, 0.01)])
@pytest.mark.sampled(2)
def test_cross_entropy(judged, dtype, reduction, smoothing, zloss):
    judged(
        "cross_entropy_loss",
        dtype=dtype,
        shape=(ROWS * 100, 1000),
        reduction=reduction,
        labelSmoothing=smoothing,
        lseSquareScaleForZloss=zloss,
    )


@DTYPES
@pytest.mark.parametrize("scale", [1.0, 2.5, -1.0])
@pytest.mark.parametrize(
    "shape,groups", [((ROWS, 32, 55, 57), 8), ((ROWS * 100, 100, 10), 10)], ids=str
)
@pytest.mark.sampled(2)
def test_group_norm_swish(judged, dtype, scale, shape, groups):
    judged("group_norm_swish", dtype=dtype, shape=shape, numGroups=groups, swishScale=scale)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.sampled(1)
def test_many_points_on_one_pixel(judged, dtype):
    """A sum of 60,000 terms in one pixel: accumulated in float32 one by one it would lose four digits."""
    judged(
        "grid_sampler_2d",
        dtype=dtype,
        shape=(1, 2, 3, 3),
        grid_shape=(300, 200),
        grid=5.0,
        paddingMode=1,
    )


SMALL = [
    ("hardswish", {}),
    ("rms_norm", {"shape": (3, 2, 5), "gamma_ndim": 2}),
    ("cross_entropy_loss", {"labelSmoothing": 0.1, "lseSquareScaleForZloss": 0.5}),
    ("group_norm_swish", {"swishScale": 1.7}),
]
SMALL += [
    ("grid_sampler_2d", dict(interpolationMode=i, paddingMode=p, alignCorners=a))
    for i, p, a in product(range(3), range(3), (False, True))
]


@pytest.mark.parametrize("name,options", SMALL)
@pytest.mark.sampled(3)
def test_magnitudes_do_not_exceed_the_scalar_reference(name, options):
    """The bound that is allowed counts roundings: no more than 8 of all terms, and 11 where exponentials of rounded sums are among them."""
    inputs = case(name, seed=5, **options).inputs
    reference = REFERENCES[name].terms(**inputs)
    for output, size in magnitudes(operator(name), inputs).items():
        roundings = 8 if name in ("hardswish", "rms_norm", "grid_sampler_2d") else 11
        allowed = reference[output].astype(np.float64) * roundings / 8 + 1e-12
        assert np.all(size.reshape(allowed.shape) <= allowed), output


@pytest.mark.parametrize("name", list(REFERENCES))
def test_truth_says_how_it_was_computed(name):
    inputs = case(name, dtype="float64").inputs
    truth = operator(name).truth(**inputs)
    assert truth.computed_in.startswith("double-double") and all(
        v.dtype == np.float64 for v in truth.values()
    )
    assert (
        operator(name)
        .truth(**case(name).inputs)
        .computed_in.startswith("float64 with error bounds")
    )


def test_the_judge_rejects_one_lost_digit():
    inputs = case("rms_norm", shape=(100, 100)).inputs
    right = operator("rms_norm").backward(**inputs)
    wrong = right | {"dxOut": right["dxOut"] * np.float32(1 + 20 * U)}
    with pytest.raises(AssertionError, match="dxOut"):
        rounding_judged("rms_norm", inputs, lambda **_: wrong)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_the_judge_rejects_two_steps_of_a_16_bit_format(dtype):
    inputs = case("hardswish", dtype=dtype, shape=(100,)).inputs
    right = operator("hardswish").backward(**inputs)["out"]
    for steps, accepted in ((1, True), (2, False)):
        wrong = (np.abs(right).view(np.uint16) + steps).view(right.dtype) * np.sign(right)
        call = lambda **_: {"out": wrong.astype(right.dtype)}  # noqa: E731, B023
        assert (judge(operator("hardswish"), inputs, call)[1] is None) is accepted


def test_the_formats_are_distinguished():
    assert (
        float_format(
            operator("rms_norm").backward(**case("rms_norm", dtype="bfloat16").inputs)["dgammaOut"]
        ).bits
        == 32
    )
