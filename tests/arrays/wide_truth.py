"""Truth for large arrays: the backward formulas in NumPy's longdouble, written from the documentation.

Each function returns {output: (values, sizes)}: `sizes` is the sum of the absolute terms that make up an element, so
that the truth itself errs by at most some `SLACK * sizes`. Nothing here comes from the kit.
"""

from itertools import product
from math import prod

import numpy as np

LD = np.longdouble
SLACK = 256 * np.finfo(LD).eps  # sums are pairwise, so a term meets fewer roundings than this


def wide(*arrays):
    return [np.asarray(a).astype(np.float64).astype(LD) for a in arrays]


def hardswish(*, gradOutput, self):
    grad, x = wide(gradOutput, self)
    inside = (x >= -3) & (x <= 3)
    slope = np.where(inside, x / 3 + LD(0.5), (x > 3).astype(LD))
    return {"out": (grad * slope, np.abs(grad) * np.where(inside, np.abs(x) / 3 + LD(0.5), slope))}


def rms_norm(*, dy, x, rstd, gamma):
    n = gamma.size
    dy, x, rstd, gamma = wide(dy.reshape(-1, n), x.reshape(-1, n), rstd.reshape(-1, 1), gamma.reshape(1, n))
    terms = dy * gamma * x * rstd
    mean, size = (t.sum(axis=1, keepdims=True) / n for t in (terms, np.abs(terms)))
    dgamma = dy * x * rstd
    return {"dxOut": (rstd * (dy * gamma - x * rstd * mean),
                      np.abs(rstd) * (np.abs(dy * gamma) + np.abs(x * rstd) * size)),
            "dgammaOut": (dgamma.sum(axis=0), np.abs(dgamma).sum(axis=0))}


def layer_norm(*, gradOut, input, normalizedShape, mean, rstd, weightOptional=None, **other):
    n = int(np.prod(normalizedShape))
    dy, x, mean, rstd = wide(gradOut.reshape(-1, n), input.reshape(-1, n), mean.reshape(-1, 1), rstd.reshape(-1, 1))
    scaled = dy if weightOptional is None else dy * wide(weightOptional.reshape(1, n))[0]
    xhat, span = (x - mean) * rstd, (np.abs(x) + np.abs(mean)) * np.abs(rstd)
    size = np.abs(scaled)
    shift, along, shift_size, along_size = (t.mean(axis=1, keepdims=True) for t in (
        scaled, scaled * xhat, size, size * span))
    return {"gradInputOut": ((scaled - shift - xhat * along) * rstd,
                             (size + shift_size + span * along_size) * np.abs(rstd)),
            "gradWeightOut": ((dy * xhat).sum(axis=0), (np.abs(dy) * span).sum(axis=0)),
            "gradBiasOut": (dy.sum(axis=0), np.abs(dy).sum(axis=0))}


def group_norm_swish(*, dy, mean, rstd, x, gamma, beta, numGroups, swishScale=1.0, **other):
    shape = x.shape[0], numGroups, x.shape[1] // numGroups, -1
    dy, x = (a.reshape(shape) for a in wide(dy, x))
    mean, rstd = (a.reshape(*shape[:2], 1, 1) for a in wide(mean, rstd))
    gamma, beta = (a.reshape(1, *shape[1:3], 1) for a in wide(gamma, beta))
    s, n = LD(swishScale), x.shape[2] * x.shape[3]
    xhat = (x - mean) * rstd
    z = xhat * gamma + beta
    sigma = 1 / (1 + np.exp(-s * z))
    dz = dy * sigma * (1 + s * z / (1 + np.exp(s * z)))
    # How far dz moves: by its own rounding, and with z by |z''| (|xhat gamma| + |beta|) at most.
    span = (np.abs(x) + np.abs(mean)) * np.abs(rstd)
    dz_size = np.abs(dy) * (2 + np.abs(s * z)) * (1 + np.abs(s) * (span * np.abs(gamma) + np.abs(beta)))
    d, d_size = dz * gamma, dz_size * np.abs(gamma)
    along, shift = ((t.sum(axis=(2, 3), keepdims=True) / n) for t in (d * xhat, d))
    along_size, shift_size = ((t.sum(axis=(2, 3), keepdims=True) / n) for t in (d_size * span, d_size))
    return {"dxOut": ((d - xhat * along - shift) * rstd, (d_size + span * along_size + shift_size) * np.abs(rstd)),
            "dgammaOut": ((dz * xhat).sum(axis=(0, 3)), (dz_size * span).sum(axis=(0, 3))),
            "dbetaOut": (dz.sum(axis=(0, 3)), dz_size.sum(axis=(0, 3)))}


def cross_entropy_loss(*, gradLoss, logProb, target, weightOptional=None, gradZlossOptional=None,
                       lseForZlossOptional=None, reduction="mean", ignoreIndex=-100, labelSmoothing=0.0,
                       lseSquareScaleForZloss=0.0):
    rows, classes = logProb.shape
    (log_prob,), weight = wide(logProb), np.ones(classes, LD)
    if weightOptional is not None:
        weight, = wide(weightOptional)
    kept = target != ignoreIndex
    safe, m = np.where(kept, target, 0), kept.astype(LD)
    w = weight[safe] * m
    total, count = (w.sum(), m.sum()) if reduction == "mean" else (LD(1), LD(1))
    grad = wide(gradLoss)[0].reshape(-1, 1) / total * m[:, None]
    nll = grad * (1 - LD(labelSmoothing)) * w[:, None]
    smooth = grad * LD(labelSmoothing) / classes
    hit = np.arange(classes) == target[:, None]
    z = LD(0)
    if lseForZlossOptional is not None:
        z_grad = wide(gradLoss)[0].reshape(-1, 1)
        if gradZlossOptional is not None:
            z_grad = z_grad + wide(gradZlossOptional)[0].reshape(-1, 1)
        z = 2 * LD(lseSquareScaleForZloss) * wide(lseForZlossOptional)[0][:, None] * m[:, None] * z_grad / count
    p = np.exp(log_prob)
    parts = (p * nll, np.where(hit, -nll, 0), p * smooth * weight.sum(), -smooth * weight, p * z)
    return {"xGradOut": (sum(parts), sum(np.abs(part) for part in parts) * (1 + np.abs(log_prob)))}


def sampler(*, gradOutput, input, grid, interpolationMode=0, paddingMode=0, alignCorners=False, **other):
    """Of any number of axes; the last coordinate of a point is that of the first axis of the image."""
    n, c, *sizes = input.shape
    axes = len(sizes)
    grad, image = wide(gradOutput.reshape(n, c, -1), input)
    grid = wide(grid.reshape(n, -1, axes))[0]
    sample, reach = np.arange(n)[:, None], sum(sizes) * max(sizes)
    input_grad, input_size = np.zeros((2, n, *sizes, c), LD)
    grid_grad, grid_size = np.zeros((2, *grid.shape), LD)
    grad, modes = np.moveaxis(grad, 1, 2), (interpolationMode, paddingMode, alignCorners)
    for taps in product(*(list(_taps(grid[..., axes - 1 - k], size, *modes)) for k, size in enumerate(sizes))):
        inside = np.logical_and.reduce([(index >= 0) & (index < size) for (index, *_), size in zip(taps, sizes)])
        at = sample, *(np.where(inside, index, 0).astype(int) for index, *_ in taps)
        weight, weight_size = (np.where(inside, prod(tap[k] for tap in taps), 0)[..., None] for k in (1, 3))
        np.add.at(input_grad, at, grad * weight)
        np.add.at(input_size, at, np.abs(grad) * weight_size)
        pixels = np.moveaxis(image, 1, -1)[at]
        dot, size = (grad * pixels).sum(axis=2), np.abs(grad * pixels).sum(axis=2)
        for k in range(axes):
            slope = prod(tap[2 if own == k else 1] for own, tap in enumerate(taps))
            steep = prod(np.abs(tap[2]) if own == k else tap[3] for own, tap in enumerate(taps))
            grid_grad[..., axes - 1 - k] += np.where(inside, dot * slope, 0)
            grid_size[..., axes - 1 - k] += np.where(inside, size * steep + np.abs(dot) * reach, 0)
    return {"inputGrad": tuple(np.moveaxis(a, -1, 1) for a in (input_grad, input_size * max(sizes))),
            "gridGrad": (grid_grad, grid_size)}


def _taps(x, size, mode, padding, align):
    """(index, weight, d weight / dx, size of the weight's terms) of each tap along one axis."""
    u, slope = ((x + 1) / 2 * (size - 1), (size - 1) / LD(2)) if align else (((x + 1) * size - 1) / 2, size / LD(2))
    slope = np.full(u.shape, slope)
    if mode == 2:
        first = np.floor(u)
        for k in (-1, 0, 1, 2):
            index = first + k
            if padding == 2:
                index, _ = _mirrored(index, size, align)
            if padding:
                index = np.clip(index, 0, size - 1)
            d = u - first - k
            a, b = np.abs(d), np.sign(d)
            weight = np.where(a <= 1, (1.25 * a - 2.25) * a * a + 1, ((-0.75 * a + 3.75) * a - 6) * a + 3)
            rise = np.where(a <= 1, (3.75 * a - 4.5) * a, (-2.25 * a + 7.5) * a - 6)
            yield index, weight, b * rise * slope, np.full(u.shape, LD(40))
        return
    if padding == 2:
        u, sign = _mirrored(u, size, align)
        slope = slope * sign
    if padding:
        slope = np.where((u > 0) & (u < size - 1), slope, 0)
        u = np.clip(u, 0, size - 1)
    if mode == 1:
        yield np.rint(u), np.ones_like(u), np.zeros_like(u), np.ones_like(u)
        return
    first = np.floor(u)
    for index, sign in ((first, -1), (first + 1, 1)):
        yield index, 1 - np.abs(u - index), sign * slope, np.ones_like(u)


def _mirrored(u, size, align):
    low, span = (LD(0), size - 1) if align else (LD(-0.5), size)
    if span == 0:
        return np.zeros_like(u), np.zeros_like(u)
    flips = np.floor((u - low) / span)
    offset = u - low - flips * span
    odd = flips % 2 == 1
    return np.where(odd, span - offset, offset) + low, np.where(odd, -1, 1)


TRUTHS = {f.__name__: f for f in (hardswish, rms_norm, layer_norm, cross_entropy_loss, group_norm_swish)}
TRUTHS |= dict.fromkeys(("grid_sampler_2d", "grid_sampler_3d"), sampler)
