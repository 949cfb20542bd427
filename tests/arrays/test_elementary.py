"""Functions of one number in every number system, judged by mpmath at 100 digits."""

import mpmath as mp
import numpy as np
import pytest

from aclnn_viz.arrays import elementary
from aclnn_viz.arrays.bounds import BoundedArrays
from aclnn_viz.arrays.double_double_arrays import PreciseArrays
from aclnn_viz.arrays.float64_arrays import SizedArrays
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.arrays.plan_arrays import PlannedArrays

UFUNCS = {
    "sqrt": np.sqrt,
    "log": np.log,
    "expm1": np.expm1,
    "log1p": np.log1p,
    "tanh": np.tanh,
    "erf": elementary.ERF,
    "erfc": elementary.ERFC,
}
ODD = ("expm1", "log1p", "tanh", "erf")  # functions that are 0 at 0, with its sign


def right(name, x):
    """Return the exact number; mpmath has no erfc far beyond the smallest numbers."""
    if name == "erfc" and x > 1e3:
        return mp.mpf(0)
    return getattr(mp, name)(max(x, mp.mpf(-(10**6))) if name in ("erfc", "expm1") else x)


def points(name, count=400):
    """Return numbers of all sizes, next to 0, to -1 and to the ends of series."""
    rng = np.random.default_rng(7)
    x = np.concatenate(
        [
            rng.normal(size=count),
            rng.uniform(-28.5, 28.5, count),
            rng.normal(size=count) * 2.0 ** rng.integers(-300, 9, count),
            [
                0.5,
                -0.5,
                0.49999,
                2.0**-26,
                -(2.0**-26),
                40.0,
                40.1,
                -40.1,
                26.9,
                27.3,
                -27.9,
                700.0,
                5e-324,
                1 / 16,
                -3 / 16,
            ],
        ]
    )
    if name in ("sqrt", "log"):
        return np.maximum(np.abs(x), 1e-280)
    return np.where(x > -1.0, x, -1.0 + 2.0**-40 * (1 + np.abs(x))) if name == "log1p" else x


@pytest.mark.parametrize("low", [False, True], ids=["float64", "pairs"])
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.sampled(4)
def test_a_function_is_within_its_bound(name, low):
    x = points(name)
    part = (
        np.where(
            np.abs(x) > 1e-280,
            x * 2.0**-54 * np.random.default_rng(8).uniform(-0.9, 0.9, x.size),
            0.0,
        )
        if low
        else None
    )
    with mp.workdps(100), np.errstate(all="ignore"):
        (high, rest), error = elementary.PRECISE[UFUNCS[name]]((x, part))
        for at in np.flatnonzero(np.isfinite(high)):
            exact = right(name, mp.mpf(float(x[at])) + (mp.mpf(float(part[at])) if low else 0))
            gap = abs(mp.mpf(float(high[at])) + mp.mpf(float(rest[at])) - exact)
            assert gap <= error[at], (x[at], gap, error[at])
            # the bound is not too wide
            assert error[at] <= abs(exact) * 2.0**-53 + 2.0**-1070, (x[at], error[at])


@pytest.mark.parametrize("name", UFUNCS)
def test_ends_and_no_number(name):
    x = np.float64([0.0, -0.0, np.inf, -np.inf, np.nan])
    with np.errstate(all="ignore"):
        (high, _), error = elementary.PRECISE[UFUNCS[name]]((x, None))
        wanted = [
            float(getattr(mp, name)(float(v))) if name in ("erf", "erfc") else getattr(np, name)(v)
            for v in x
        ]
    assert np.array_equal(high, wanted, equal_nan=True)
    assert not error[[0, 1]].any() or name in ("erfc",)
    if name in ODD:
        assert np.signbit(high[1])


@pytest.mark.parametrize("name,units", [("erf", 4), ("erfc", 16)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numpy_gets_the_number_next_to_it(name, units, dtype):
    x = points(name).clip(-1e3, 1e3).astype(dtype)
    found = getattr(NumPyArrays(), name)(x)
    assert found.dtype == x.dtype and found.shape == x.shape
    with mp.workdps(50):
        exact = [right(name, mp.mpf(float(v))) for v in x]
        slack = units * 2.0**-53 + (0.5000001 * np.finfo(dtype).eps if dtype != "float64" else 0.0)
        least = float(np.finfo(dtype).smallest_subnormal) if dtype != "float64" else 2.0**-1018
        assert all(
            abs(mp.mpf(float(f)) - e) <= slack * abs(e) + least for f, e in zip(found, exact)
        )


@pytest.mark.parametrize(
    "system",
    [PreciseArrays, SizedArrays, lambda: BoundedArrays(Plan(), "float32")],
    ids=["precise", "sized", "bounded"],
)
@pytest.mark.parametrize("name", UFUNCS)
@pytest.mark.sampled(9)
def test_an_error_is_carried(name, system):
    """f(x / 3 * 7): the operand has an error that a bound must include."""
    x = points(name).clip(-70, 70).astype(np.float32)
    if name == "log1p":
        x = np.maximum(x, np.float32(-0.4))
    x = x[np.abs(x) > 1e-30]
    xp = system()
    with np.errstate(all="ignore"):
        result = getattr(xp, name)(xp.given(x) / 3.0 * 7.0)
    values = (
        [getattr(result, part, None) for part in ("high", "low")]
        if isinstance(xp, PreciseArrays)
        else [result.data, None]
    )
    error = np.broadcast_to(result.error, x.shape)
    with mp.workdps(60):
        exact = [right(name, mp.mpf(float(v)) / 3 * 7) for v in x]
        gaps = np.array(
            [
                float(abs(mp.mpf(float(v)) + (mp.mpf(float(low)) if low is not None else 0) - e))
                for v, e, low in zip(
                    values[0],
                    exact,
                    np.broadcast_to(values[1], x.shape)
                    if values[1] is not None
                    else [None] * x.size,
                )
            ]
        )
    assert (gaps <= error).all()
    # and is not too wide
    assert (error <= 2.0**-20 * np.float64([abs(e) for e in exact]) + 2.0**-100).mean() > 0.6


def test_a_plan_rounds_to_its_format():
    xp = PlannedArrays(Plan(compute="bfloat16"), "float32")
    found = xp.erf(xp.given(np.float32([0.5]))).data
    assert found.dtype == xp.compute and float(found[0]) == 0.51953125  # 0.5204998... in 8 bits
