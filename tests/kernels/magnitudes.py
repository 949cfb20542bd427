"""S of every output element, for large arrays: the sum of the absolute values of the terms that make it up.

For an intermediate that is itself a sum, |d out / d intermediate| times the sum of its absolute parts is added. A
float32 kernel must stay within 8 u S. Written from the formulas, in float64, sharing nothing with the kernels; judged
on small shapes by the scalar `terms` of tests/reference.
"""

import numpy as np


def hardswish(*, gradOutput, self):
    g, x = np.abs(gradOutput, dtype=np.float64), self.astype(np.float64)
    return {"out": np.where(x < -3, 0, np.where(x <= 3, g * (np.abs(x) / 3 + 0.5), g))}


def rms_norm(*, dy, x, rstd, gamma):
    rows = int(np.prod(x.shape[:x.ndim - gamma.ndim]))
    d, a = (np.abs(t.astype(np.float64)).reshape(rows, -1) for t in (dy, x))
    r, g = np.abs(rstd.astype(np.float64)).reshape(rows, 1), np.abs(gamma.astype(np.float64)).reshape(-1)
    mean = np.mean(d * g * a * r, axis=1, keepdims=True)
    return {"dxOut": (r * (d * g + a * r * mean)).reshape(x.shape), "dgammaOut": np.sum(d * a * r, 0).reshape(gamma.shape)}


def cross_entropy_loss(*, gradLoss, logProb, target, weightOptional=None, gradZlossOptional=None,
                       lseForZlossOptional=None, reduction="mean", ignoreIndex=-100, labelSmoothing=0.0,
                       lseSquareScaleForZloss=0.0):
    rows, classes = logProb.shape
    w = np.ones(classes) if weightOptional is None else weightOptional.astype(np.float64)
    m = (target != ignoreIndex).astype(np.float64)
    w_t = m * w[np.where(m > 0, target, 0)]
    g = np.abs(np.broadcast_to(gradLoss.astype(np.float64), rows))
    loss = (g / np.sum(w_t) if reduction == "mean" else g) * m
    p = np.exp(logProb.astype(np.float64))
    nll, smooth = loss * (1 - labelSmoothing) * w_t, loss * labelSmoothing / classes
    s = p * (nll + smooth * np.sum(w))[:, None] + smooth[:, None] * w
    s[np.arange(rows)[m > 0], target[m > 0]] += nll[m > 0]
    if lseForZlossOptional is not None:
        gz = g if gradZlossOptional is None else g + np.abs(gradZlossOptional.astype(np.float64))
        gz = gz / np.sum(m) if reduction == "mean" else gz
        s += p * np.abs(2 * lseSquareScaleForZloss * lseForZlossOptional.astype(np.float64) * m * gz)[:, None]
    return {"xGradOut": s}


def group_norm_swish(*, dy, mean, rstd, x, gamma, beta, numGroups, dataFormatOptional="NCHW", swishScale=1.0,
                     dgammaIsRequire=True, dbetaIsRequire=True):
    shape = (x.shape[0], numGroups, x.shape[1] // numGroups, -1)
    dy, x = (t.astype(np.float64).reshape(shape) for t in (dy, x))
    mean, rstd = (t.astype(np.float64)[..., None, None] for t in (mean, rstd))
    gamma, beta = (t.astype(np.float64).reshape(1, *shape[1:3], 1) for t in (gamma, beta))
    s, n = swishScale, x[0, 0].size
    xhat = (x - mean) * rstd
    y = xhat * gamma + beta
    parts = np.abs(xhat * gamma) + np.abs(beta)
    sigma, tail = 1 / (1 + np.exp(-s * y)), 1 / (1 + np.exp(s * y))
    bend = s * sigma * tail * (2 + s * y * (tail - sigma))  # second derivative of y sigma(s y)
    dz = np.abs(dy) * (sigma + np.abs(sigma * s * y * tail) + np.abs(bend) * parts)
    group = dict(axis=(2, 3), keepdims=True)
    dx = np.abs(rstd) * (np.abs(gamma) * dz + np.abs(xhat) * np.sum(np.abs(gamma * xhat) * dz, **group) / n
                         + np.sum(np.abs(gamma) * dz, **group) / n)
    channels = lambda t: np.sum(t, axis=(0, 3)).reshape(-1)
    return {"dxOut": dx.reshape(dx.shape[0], -1), "dgammaOut": channels(dz * np.abs(xhat)), "dbetaOut": channels(dz)}


def _axis(x, size, interpolation, padding, align):
    """Taps along one axis as (index, |weight|, |d weight / d x|), the index -1 where there is no pixel."""
    u = (x + 1) / 2 * (size - 1) if align else ((x + 1) * size - 1) / 2
    slope = np.full_like(u, (size - 1) / 2 if align else size / 2)
    low, span = (0, size - 1) if align else (-0.5, size)

    def padded(v):
        if padding == 2:
            v = np.abs((v - low) - 2 * span * np.rint((v - low) / (2 * span))) + low if span else 0 * v
        return v if padding == 0 else np.clip(v, 0, size - 1)

    if interpolation == 2:
        t = u - np.floor(u)
        d = [1 + t, t, 1 - t, 2 - t]
        w = [np.where(a <= 1, 1.25 * a**3 - 2.25 * a**2 + 1, -0.75 * (a**3 - 5 * a**2 + 8 * a - 4)) for a in d]
        dw = [np.where(a <= 1, 3.75 * a**2 - 4.5 * a, -0.75 * (3 * a**2 - 10 * a + 8)) for a in d]
        taps = [(padded(np.floor(u) + k - 1), w[k], dw[k]) for k in range(4)]
    else:
        if padding:
            v = padded(u)
            slope = np.where((v <= 0) | (v >= size - 1), 0, slope)
            u = v
        t = u - np.floor(u)
        taps = [(np.rint(u), np.ones_like(u), np.zeros_like(u))] if interpolation == 1 else [
            (np.floor(u), 1 - t, np.ones_like(u)), (np.floor(u) + 1, t, np.ones_like(u))]
    return [(np.where((i >= 0) & (i < size), i, -1).astype(int), np.abs(w), np.abs(d) * slope) for i, w, d in taps]


def grid_sampler_2d(*, gradOutput, input, grid, interpolationMode=0, paddingMode=0, alignCorners=False, outputMask=None):
    n, c, height, width = input.shape
    grad = np.abs(gradOutput.astype(np.float64)).reshape(n, c, -1)
    image = np.abs(input.astype(np.float64)).reshape(n, c, -1)
    points = grid.astype(np.float64).reshape(n, -1, 2)
    spread, gx, gy = np.zeros(image.shape), *np.zeros((2, *points.shape[:2]))
    modes = interpolationMode, paddingMode, alignCorners
    for sample in range(n):
        for row, wy, dy in _axis(points[sample, :, 1], height, *modes):
            for column, wx, dx in _axis(points[sample, :, 0], width, *modes):
                inside = (row >= 0) & (column >= 0)
                at = np.where(inside, row * width + column, 0)
                dot = inside * np.einsum("cp,cp->p", grad[sample], image[sample][:, at])
                gx[sample] += dot * wy * dx
                gy[sample] += dot * wx * dy
                for channel in range(c):
                    spread[sample, channel] += np.bincount(at, inside * wy * wx * grad[sample, channel], height * width)
    return {"inputGrad": spread.reshape(input.shape), "gridGrad": np.stack([gx, gy], -1).reshape(grid.shape)}
