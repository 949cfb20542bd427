"""The backward formulas in whole numbers, written from the documentation. Nothing here comes from the kit."""

from itertools import product
from math import prod

import numpy as np
from arrays.fixed_point import FEW, LONG, SHORT, Fixed, fixed, where


def taken(*arrays, below=2.0**10):
    """Return the arrays as fixed-point numbers, long enough for the widest: few bits if all are of moderate size."""
    sizes = [np.abs(np.asarray(a).astype(np.float64)) for a in arrays]
    if all(np.all((size == 0) | (size > 2.0**-60) & (size < below)) for size in sizes):
        bits = FEW
    else:
        bits = LONG if any(np.asarray(a).dtype == np.float64 for a in arrays) else SHORT
    return [fixed(a, bits) for a in arrays]


def hardswish(*, gradOutput, self):
    grad, x = taken(gradOutput, self)
    slope = where(x < -3, x * 0, where(x <= 3, x * 2 + 3, x * 0 + 6))
    return {"out": grad * slope / 6}


def rms_norm(*, dy, x, rstd, gamma):
    n = gamma.size
    dy, x, rstd, gamma = taken(
        dy.reshape(-1, n), x.reshape(-1, n), rstd.reshape(-1, 1), gamma.reshape(1, n)
    )
    along = (dy * gamma * (x * rstd)).sum(1, True)
    return {
        "dxOut": (dy * gamma - (x * rstd) * along / n) * rstd,
        "dgammaOut": (dy * (x * rstd)).sum(0),
    }


def layer_norm(*, gradOut, input, normalizedShape, mean, rstd, weightOptional=None, **other):
    n = int(np.prod(normalizedShape))
    weight = np.ones(n) if weightOptional is None else weightOptional
    dy, x, mean, rstd, *more = taken(
        gradOut.reshape(-1, n),
        input.reshape(-1, n),
        mean.reshape(-1, 1),
        rstd.reshape(-1, 1),
        *([] if weightOptional is None else [weight.reshape(1, n)]),
    )
    xhat, scaled = (x - mean) * rstd, dy * more[0] if more else dy
    shift, along = scaled.sum(1, True), (scaled * xhat).sum(1, True)
    return {
        "gradInputOut": (scaled - (shift + xhat * along) / n) * rstd,
        "gradWeightOut": (dy * xhat).sum(0),
        "gradBiasOut": dy.sum(0),
    }


def group_norm_swish(*, dy, mean, rstd, x, gamma, beta, numGroups, swishScale=1.0, **other):
    shape = x.shape[0], numGroups, x.shape[1] // numGroups, -1
    dy, x, mean, rstd, gamma, beta, s = taken(
        dy.reshape(shape),
        x.reshape(shape),
        mean.reshape(*shape[:2], 1, 1),
        rstd.reshape(*shape[:2], 1, 1),
        gamma.reshape(1, *shape[1:3], 1),
        beta.reshape(1, *shape[1:3], 1),
        np.float32(swishScale),
    )
    if float(np.float32(swishScale)) != swishScale:
        s = fixed(np.float64(swishScale), x.bits)
    n = x.shape[2] * x.shape[3]
    xhat = (x - mean) * rstd
    t = s * (xhat * gamma + beta)
    tail = (-abs(t)).exp()
    large, small = 1 / (1 + tail), tail / (1 + tail)
    sigmoid, complement = where(t < 0, small, large), where(t < 0, large, small)
    dz = dy * (sigmoid * (1 + t * complement))
    along, shift = ((dz * gamma * other).sum((2, 3), True) / n for other in (xhat, xhat * 0 + 1))
    return {
        "dxOut": (dz * gamma - xhat * along - shift) * rstd,
        "dgammaOut": (dz * xhat).sum((0, 3)),
        "dbetaOut": dz.sum((0, 3)),
    }


def cross_entropy_loss(
    *,
    gradLoss,
    logProb,
    target,
    weightOptional=None,
    gradZlossOptional=None,
    lseForZlossOptional=None,
    reduction="mean",
    ignoreIndex=-100,
    labelSmoothing=0.0,
    lseSquareScaleForZloss=0.0,
):
    rows, classes = logProb.shape
    # exp of -64 is no small number yet
    log_prob, grad = taken(logProb, np.asarray(gradLoss).reshape(-1), below=64.0)
    bits = log_prob.bits
    weight = fixed(np.ones(classes) if weightOptional is None else weightOptional, bits)
    kept = target != ignoreIndex
    w = where(kept, weight[np.where(kept, target, 0)], 0)
    counted = kept.astype(int)
    row_grad = where(kept, grad + fixed(np.zeros(rows), bits), 0)
    z_grad = (
        grad
        if gradZlossOptional is None
        else grad + fixed(np.asarray(gradZlossOptional).reshape(-1), bits)
    )
    if reduction == "mean":
        row_grad, z_grad = row_grad / w.sum(0), z_grad / int(counted.sum())
    smoothing, scale = (
        fixed(np.float64(labelSmoothing), bits),
        fixed(np.float64(lseSquareScaleForZloss), bits),
    )
    nll, smooth = row_grad * (1 - smoothing) * w, row_grad * smoothing / classes
    total = nll + smooth * weight.sum(0)
    if lseForZlossOptional is not None:
        total = total + where(kept, fixed(lseForZlossOptional, bits) * scale * 2 * z_grad, 0)
    hit = np.arange(classes) == target[:, None]
    grads = log_prob.exp() * total[:, None] - where(hit, nll[:, None] + log_prob * 0, 0)
    return {"xGradOut": grads - smooth[:, None] * weight[None, :]}


def sampler(
    *, gradOutput, input, grid, interpolationMode=0, paddingMode=0, alignCorners=False, **other
):
    """Return the gradients for any number of axes; a point's last coordinate belongs to the image's first axis."""
    n, c, *sizes = input.shape
    axes = len(sizes)
    grad, image, points = taken(gradOutput.reshape(n, c, -1), input, grid.reshape(n, -1, axes))
    sample, bits = np.arange(n)[:, None], grad.bits
    input_grad, grid_grad = np.full((n, *sizes, c), 0, object), np.full(points.shape, 0, object)
    grad, pixels = np.moveaxis(grad.n, 1, 2), np.moveaxis(image.n, 1, -1)
    modes = interpolationMode, paddingMode, alignCorners
    for chosen in product(
        *(list(taps(points[..., axes - 1 - k], size, *modes)) for k, size in enumerate(sizes))
    ):
        inside = np.logical_and.reduce(
            [(index >= 0) & (index < size) for (index, *_), size in zip(chosen, sizes)]
        )
        at = sample, *(np.where(inside, index, 0) for index, *_ in chosen)
        weight = where(inside, prod(w for _, w, _ in chosen), 0).n[..., None]
        np.add.at(input_grad, at, grad * weight >> bits)
        if interpolationMode == 1:  # no weight has a slope
            continue
        dot = (grad * pixels[at] >> bits).sum(axis=2)
        for k in range(axes):
            slope = prod(d if own == k else w for own, (_, w, d) in enumerate(chosen))
            grid_grad[..., axes - 1 - k] += np.where(inside, dot * slope.n >> bits, 0)
    return {
        "inputGrad": Fixed(np.moveaxis(input_grad, -1, 1), bits),
        "gridGrad": Fixed(grid_grad, bits),
    }


def taps(x, size, mode, padding, align):
    """Yield (index, weight, d weight / dx) of each tap along one axis."""
    u = (x + 1) * (size - 1) / 2 if align else ((x + 1) * size - 1) / 2
    slope = (u * 0 + (size - 1)) / 2 if align else (u * 0 + size) / 2
    if mode == 2:
        first = u.floor()
        for k in (-1, 0, 1, 2):
            index = first + k
            if padding == 2:
                index = mirrored(u * 0 + index, size, align)[0].floor()
            if padding:
                index = np.clip(index, 0, size - 1)
            d = u - (first + k)
            a, sign = abs(d), where(d < 0, d * 0 - 1, 1)
            near, far = ((a * 5 - 9) * a * a) / 4 + 1, ((a * -3 + 15) * a * a - a * 24 + 12) / 4
            rise, fall = (a * 15 - 18) * a / 4, (a * -9 + 30) * a / 4 - 6
            yield index, where(a <= 1, near, far), sign * where(a <= 1, rise, fall) * slope
        return
    if padding == 2:
        u, sign = mirrored(u, size, align)
        slope = slope * sign
    if padding:
        slope = where((u > 0) & (u < size - 1), slope, 0)
        u = where(u < 0, u * 0, where(u > size - 1, u * 0 + (size - 1), u))
    if mode == 1:
        yield u.nearest(), u * 0 + 1, u * 0
        return
    first = u.floor()
    for index, sign in ((first, -1), (first + 1, 1)):
        yield index, 1 - abs(u - index), slope * sign


def mirrored(u, size, align):
    """Return the reflected coordinate; mirrors are at low and low + span, doubled to be whole."""
    low, span = (0, 2 * (size - 1)) if align else (-1, 2 * size)
    if not span:
        return u * 0, u * 0
    doubled = u * 2 - low
    period = Fixed(abs(doubled).n % (2 * span << u.bits), u.bits)
    forth = period < span
    sign = np.where(forth == (doubled >= 0), 1, -1)
    return (where(forth, period, 2 * span - period) + low) / 2, u * 0 + sign


TRUTHS = {
    f.__name__: f for f in (hardswish, rms_norm, layer_norm, cross_entropy_loss, group_norm_swish)
}
TRUTHS |= dict.fromkeys(("grid_sampler_2d", "grid_sampler_3d"), sampler)
