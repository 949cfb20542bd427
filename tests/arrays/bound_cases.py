"""Inputs that strain a rounding bound, by operator: functions of (random generator, format, elements)."""

from itertools import cycle, product

import numpy as np

from aclnn_viz import operator
from aclnn_viz.dtypes import float_format, round_to

PLAIN, HUGE_RANGE, SUBNORMAL = "plain", "huge range", "subnormal"


def numbers(rng, dtype, shape, kind=PLAIN):
    """Return normal numbers; numbers of every magnitude with finite products; or numbers next to the smallest."""
    fmt = float_format(dtype)
    values = rng.standard_normal(shape)
    if kind == HUGE_RANGE:
        values *= 2.0 ** rng.uniform(fmt.min_exponent / 4, -fmt.min_exponent / 4, shape)
    if kind == SUBNORMAL:
        values *= 2.0 ** rng.uniform(fmt.min_exponent - 4, fmt.min_exponent + 6, shape)
    return round_to(values, dtype)


def hardswish(rng, dtype, size, kind):
    grad, x = numbers(rng, dtype, size, kind), numbers(rng, dtype, size, kind)
    x[::3] = round_to(rng.uniform(-4, 4, x[::3].shape), dtype)
    x[1::5] = round_to(
        -1.5 + rng.uniform(-1, 1, x[1::5].shape) * 2.0 ** rng.integers(-20, 0, x[1::5].shape), dtype
    )
    x[::7] = rng.choice([-3.0, 3.0, -1.5, 0.0], x[::7].shape)
    return dict(gradOutput=grad, self=x)


def rms_norm(rng, dtype, size, kind, columns=64):
    rows = max(size // columns, 1)
    x, dy = (numbers(rng, dtype, (rows, columns), kind) for _ in "ab")
    gamma = numbers(rng, dtype, columns)
    rstd = operator("rms_norm").forward(x=x, gamma=gamma)["rstd"]
    rstd[::3] *= np.float32(rng.uniform(0.1, 3))  # off the manifold of the forward pass
    wide_x, wide_r = x.astype(np.float64), rstd.astype(np.float64)
    with np.errstate(all="ignore"):
        # dx cancels
        dy[1::2] = round_to(wide_x[1::2] * wide_r[1::2] / gamma.astype(np.float64), dtype)
    dy = np.where(np.isfinite(dy.astype(np.float64)), dy, np.zeros_like(dy))
    return dict(dy=dy, x=x, rstd=rstd, gamma=gamma)


def cross_entropy_loss(rng, dtype, size, kind, classes=64, reduction="mean", smoothing=0.1):
    rows = max(size // classes, 1)
    # exponentials of every size, down to subnormal ones
    scale = {PLAIN: 1.0, HUGE_RANGE: 20.0, SUBNORMAL: 60.0}[kind]
    log_prob = round_to(-np.abs(rng.standard_normal((rows, classes)) * scale), dtype)
    grad = numbers(rng, dtype, (rows,) if reduction == "none" else (), kind)
    target = np.where(rng.random(rows) < 0.1, -100, rng.integers(0, classes, rows))
    if (target < 0).all():
        target[0] = 0  # a mean of no rows is nan
    return dict(
        gradLoss=grad,
        logProb=log_prob,
        target=target,
        weightOptional=rng.uniform(0.1, 2, classes).astype(np.float32),
        reduction=reduction,
        labelSmoothing=smoothing,
        lseSquareScaleForZloss=1e-3,
        lseForZlossOptional=numbers(rng, dtype, rows),
    )


def group_norm_swish(rng, dtype, size, kind, scale=1.3):
    shape = (max(size // (8 * 16), 2), 8, 16)
    x, dy = (numbers(rng, dtype, shape, kind) for _ in "ab")
    x[0] = round_to(x[0].astype(np.float64) * 1e-2 + 50.0, dtype)  # mean * rstd cancels
    gamma, beta = numbers(rng, dtype, 8), numbers(rng, dtype, 8)
    saved = operator("group_norm_swish").forward(
        x=x, gamma=gamma, beta=beta, numGroups=2, swishScale=scale
    )
    rstd = saved["rstd"]
    rstd[1::3] = round_to(rstd[1::3].astype(np.float64) * 0.7, rstd.dtype)
    return dict(
        dy=dy,
        mean=saved["mean"],
        rstd=rstd,
        x=x,
        gamma=gamma,
        beta=beta,
        numGroups=2,
        swishScale=scale,
    )


def layer_norm(rng, dtype, size, kind, columns=64, weight="same"):
    rows = max(size // columns, 1)
    x, dy = (numbers(rng, dtype, (rows, columns), kind) for _ in "ab")
    x[::4] = round_to(x[::4].astype(np.float64) * 1e-2 + 50.0, dtype)  # x - mean cancels
    gamma = (
        None
        if weight is None
        else numbers(rng, "float32" if weight == "wide" and dtype != "float64" else dtype, columns)
    )
    saved = operator("layer_norm").forward(
        input=x, normalizedShape=(columns,), weightOptional=gamma
    )
    mean, rstd = saved["meanOut"], saved["rstdOut"]
    rstd[::3] *= rstd.dtype.type(rng.uniform(0.1, 3))  # off the manifold of the forward pass
    mean[1::5] += mean.dtype.type(rng.standard_normal())
    with np.errstate(all="ignore"):
        xhat = (x.astype(np.float64) - mean) * rstd
        along = (rng.standard_normal() + xhat * rng.standard_normal()) / (
            1.0 if gamma is None else gamma.astype(np.float64)
        )
        dy[1::2] = round_to(along[1::2], dtype)  # dx cancels
    dy = np.where(np.isfinite(dy.astype(np.float64)), dy, np.zeros_like(dy))
    return dict(
        gradOut=dy,
        input=x,
        normalizedShape=(columns,),
        mean=mean,
        rstd=rstd,
        weightOptional=gamma,
        biasOptional=None,
    )


def grid_sampler_2d(rng, dtype, size, kind, side=129, modes=(0, 0, False)):
    return sampler(rng, dtype, size, kind, (side, side), modes)


def grid_sampler_3d(rng, dtype, size, kind, side=9, modes=(0, 0, False)):
    inputs = sampler(rng, dtype, size, kind, (side, side + 2, side), modes)
    far = inputs["grid"].reshape(-1, 3)[5::40]
    # behind further mirrors
    far[:] = round_to(far.astype(np.float64) + 4.0 * rng.integers(-3, 4, far.shape), dtype)
    return inputs


def sampler(rng, dtype, size, kind, image, modes):
    side, axes = image[0], len(image)
    points = (max(int((size // 2) ** (1 / axes) + 1e-9), 2),) * axes
    grid = rng.uniform(-1.3, 1.3, (1, *points, axes))
    pixel = 2.0 / (side - 1 if modes[2] else side)
    # next to pixel centres
    near = np.round(grid / pixel) * pixel * (1 + rng.choice([-1, 0, 1], grid.shape) * 1e-6)
    flat = grid.reshape(-1, axes)
    for axis in range(axes):
        flat[axis::20, axis] = near.reshape(-1, axes)[axis::20, axis]
    flat[2::50] = rng.choice([-1.0, 1.0, 0.0], flat[2::50].shape)  # corners
    return dict(
        gradOutput=numbers(rng, dtype, (1, 2, *points), kind),
        input=numbers(rng, dtype, (1, 2, *image), kind),
        grid=round_to(grid, dtype),
        **dict(zip(("interpolationMode", "paddingMode", "alignCorners"), modes)),
    )


CASES = {
    f.__name__: f
    for f in (
        hardswish,
        rms_norm,
        layer_norm,
        grid_sampler_2d,
        grid_sampler_3d,
        cross_entropy_loss,
        group_norm_swish,
    )
}
# images with at most as many elements as the points have
SMALL = {"grid_sampler_2d": {"side": 17}, "grid_sampler_3d": {"side": 5}}
VARIANTS = {"layer_norm": [{"weight": weight} for weight in ("same", "wide", None)]}
for _name, _interpolations in (("grid_sampler_2d", 3), ("grid_sampler_3d", 2)):
    VARIANTS[_name] = [
        {"modes": modes} for modes in product(range(_interpolations), range(3), (False, True))
    ]


def variants(name):
    """Return further arguments of CASES without an end: first some that differ, then all in turn."""
    found = VARIANTS.get(name, [{}])
    return cycle(found[::5] + found)
