"""The stand-in computes the documented formulas, written out here in NumPy, and rounds once."""

import subprocess
import sys
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from standin.fixtures import roots  # noqa: F401 - a fixture

pytestmark = pytest.mark.needs("g++")

TESTS = Path(__file__).resolve().parents[1]
UNITS = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


@pytest.fixture(scope="session")
def values(roots, tmp_path_factory):
    file = tmp_path_factory.mktemp("values") / "values.npz"
    done = subprocess.run([sys.executable, "-m", "standin.values", roots(), file], cwd=TESTS, text=True,
                          capture_output=True)
    assert done.returncode == 0, done.stderr
    with np.load(file) as kept:
        assert kept["misuse"].tolist() == []
        kept = dict(kept)

    def arrays(run):
        return {key.split("/")[1]: value.astype(np.float64) if value.dtype.kind == "f" else value
                for key, value in kept.items() if key.startswith(run + "/")}

    return arrays


def assert_rounded(actual, exact, dtype):
    """The stand-in computes in float64, whose own error a thousandth of half an ulp covers, and rounds once."""
    exact = np.asarray(exact, np.float64)
    smallest = {"float16": 2.0**-25, "bfloat16": 2.0**-134, "float32": 2.0**-150}[dtype]
    bound = np.maximum(UNITS[dtype] * np.abs(exact), smallest) * 1.001
    different = ~((np.abs(actual - exact) <= bound) | (actual == exact) | (np.isnan(actual) & np.isnan(exact)))
    assert not different.any(), (actual[different], exact[different])


def test_assert_rounded_rejects_the_next_number():
    with pytest.raises(AssertionError):
        assert_rounded(np.array([np.nextafter(np.float32(1.1), np.float32(2))], np.float64), [1.1], "float32")


@pytest.mark.parametrize("dtype", UNITS)
def test_hardswish(values, dtype):
    v = values(f"hardswish {dtype}")
    slope = np.where(v["x"] < -3, 0, np.where(v["x"] > 3, 1, v["x"] / 3 + 0.5))
    assert_rounded(v["out"][..., 0], v["grad"] * slope, dtype)
    assert not v["out"][..., 1].any()  # the gaps of a strided output stay


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rms_norm(values, dtype):
    v = values(f"rms_norm {dtype}")
    dy, xhat = v["dy"], v["x"] * v["rstd"][..., None, None]
    mean = (dy * v["gamma"] * xhat).mean((2, 3), keepdims=True)
    assert_rounded(v["dx"], (dy * v["gamma"] - xhat * mean) * v["rstd"][..., None, None], dtype)
    assert_rounded(v["dgamma"], (dy * xhat).sum((0, 1)), "float32")


def cross_entropy(v, reduction):
    N, C = v["log_prob"].shape
    weight = v.get("weight", np.ones(C))
    m = v["target"] != v["ignore"]
    wt = np.where(m, weight[np.where(m, v["target"], 0)], 0)
    grad = np.broadcast_to(v["grad"], N) / (wt.sum() if reduction == "mean" else 1)
    nll = grad * (1 - v["smoothing"]) * wt
    smooth = np.outer(grad * m * v["smoothing"] / C, weight)
    p = np.exp(v["log_prob"])
    return p * (nll + smooth.sum(1))[:, None] - nll[:, None] * (np.arange(C) == v["target"][:, None]) - smooth


@pytest.mark.parametrize("reduction, weighted", list(product(["none", "mean", "sum"], [False, True])))
def test_cross_entropy(values, reduction, weighted):
    v = values(f"cross_entropy {reduction} {weighted}")
    assert (v["target"] == v["ignore"]).any()
    assert_rounded(v["out"], cross_entropy(v, reduction), "float32")


@pytest.mark.parametrize("run, dtype", [("cross_entropy float16", "float16"), ("cross_entropy smoothed", "float32")])
def test_cross_entropy_variants(values, run, dtype):
    v = values(run)
    assert_rounded(v["out"], cross_entropy(v, "mean"), dtype)


def test_cross_entropy_of_ignored_targets_only(values):
    assert np.isnan(values("all ignored")["out"]).all()


@pytest.mark.parametrize("run, inner, dtype", [("group_norm 9.1", 1.7, "float32"), ("group_norm 9.0", 1, "float32"),
                                               ("group_norm bfloat16", 1, "bfloat16")])
def test_group_norm(values, run, inner, dtype):
    """Before CANN 9.1.0 one factor swishScale is missing."""
    v = values(run)
    s = np.float64(np.float32(v["scale"]))  # the attribute is narrowed
    inner = s if inner != 1 else 1
    per_group = partial(np.repeat, repeats=2, axis=1)
    mean, rstd = (per_group(v[name])[:, :, None, None] for name in ("mean", "rstd"))
    gamma, beta = (v[name][:, None, None] for name in ("gamma", "beta"))
    xhat = (v["x"] - mean) * rstd
    y = xhat * gamma + beta
    sigmoid = 1 / (1 + np.exp(-s * y))
    d = v["dy"] * sigmoid * (1 + inner * y * (1 - sigmoid))
    groups = lambda a: per_group(a.reshape(2, 3, 2, 3, 2).mean((2, 3, 4)))[:, :, None, None]  # noqa: E731
    assert_rounded(v["dbeta"], d.sum((0, 2, 3)), dtype)
    assert_rounded(v["dgamma"], (d * xhat).sum((0, 2, 3)), dtype)
    assert_rounded(v["dx"], rstd * (d * gamma - groups(d * gamma) - xhat * groups(d * gamma * xhat)), dtype)


def reflected(x, size, align):
    low, span = (0, size - 1) if align else (-0.5, size)
    turns, rest = divmod(abs(x - low), span)
    return low + (span - rest if turns % 2 else rest)


def padded(x, size, padding, align):
    if padding == 2:
        x = reflected(x, size, align)
    return x if padding == 0 else min(max(x, 0), size - 1)


def weights(x, size, mode, padding, align):
    """The pixels and their weights along one axis, at the grid coordinate x."""
    x = (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2
    if mode == 2:
        t, base = x - np.floor(x), int(np.floor(x))
        near, far = (lambda u: 1.25 * u**3 - 2.25 * u**2 + 1), (lambda u: -0.75 * (u**3 - 5 * u**2 + 8 * u - 4))
        found = zip(range(base - 1, base + 3), (far(1 + t), near(t), near(1 - t), far(2 - t)))
        return [(padded(i, size, padding, align), w) for i, w in found]
    x = padded(x, size, padding, align)
    return [(np.round(x), 1)] if mode == 1 else [(np.floor(x), 1 - x + np.floor(x)), (np.floor(x) + 1, x - np.floor(x))]


def sampled(image, grid, mode, padding, align):
    """The forward operator, point by point."""
    N, C, H, W = image.shape
    out = np.zeros((N, C, *grid.shape[1:3]))
    for n, i, j in np.ndindex(grid.shape[:3]):
        x, y = grid[n, i, j]
        for (row, a), (column, b) in product(weights(y, H, mode, padding, align), weights(x, W, mode, padding, align)):
            if 0 <= row < H and 0 <= column < W:
                out[n, :, i, j] += a * b * image[n, :, int(row), int(column)]
    return out


@pytest.mark.parametrize("mode, padding, align", list(product(range(3), range(3), (False, True))))
def test_grid_sampler(values, mode, padding, align):
    """inputGrad is the adjoint of sampling; gridGrad is a central difference.

    The difference is wrong by step squared times a third derivative, of which cubic weights in 5 pixels have some 1000.
    """
    v = values(f"grid {mode} {padding} {align}")
    loss = lambda image, grid: (v["grad"] * sampled(image, grid, mode, padding, align)).sum()  # noqa: E731
    for pixel in np.ndindex(1, 3, 4, 5):
        unit = np.zeros_like(v["image"])
        unit[pixel] = 1
        assert v["dx"][pixel] == pytest.approx(loss(unit, v["grid"]), abs=1e-13)
    step = 1e-5
    for place in np.ndindex(v["grid"].shape):
        move = np.zeros_like(v["grid"])
        move[place] = step
        slope = (loss(v["image"], v["grid"] + move) - loss(v["image"], v["grid"] - move)) / (2 * step)
        assert v["dgrid"][place] == pytest.approx(slope, abs=1e-6)


def test_grid_points_that_are_nowhere(values):
    """A point that is not finite or far outside gets no gradient and gives none."""
    v = values("grid strange")
    nowhere = ~np.isfinite(v["grid"]) | (np.abs(v["grid"]) > 1e9)
    pairs = nowhere.any(-1)
    assert pairs.sum() == 9 and not v["dgrid"][pairs].any() and v["dgrid"][~pairs].all()
    assert np.isfinite(v["dx"]).all()
