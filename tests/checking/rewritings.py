"""Right kernels in other words: NumPy in another order of summation, precision plans, the order of device kernels."""

from itertools import product

import numpy as np

from aclnn_viz import operator
from aclnn_viz.arrays.plan import BLOCKED, PAIRWISE, SEQUENTIAL, SHUFFLED, Plan
from aclnn_viz.operators import plans


def wide(array):
    """float32 for 16-bit formats, and what it is otherwise."""
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def hardswish(gradOutput, self):
    x, dy = wide(self), wide(gradOutput)
    slope = np.ones_like(x)
    middle = (x >= -3) & (x <= 3)
    slope[middle] = (x[middle] + x[middle] + 3) / 6
    slope[x < -3] = 0
    return (dy * slope).astype(self.dtype)


def rms_norm(dy, x, rstd, gamma):
    rows, n = rstd.size, gamma.size
    g, xs, dys, r = (
        wide(gamma).reshape(n),
        wide(x).reshape(rows, n),
        wide(dy).reshape(rows, n),
        rstd.reshape(rows, 1),
    )
    dx = np.zeros_like(xs)
    dgamma = np.zeros(n, r.dtype)
    for row in range(rows):  # one row after another, and the dot product before its factors
        dot = np.sum(dys[row] * g * xs[row], dtype=r.dtype)
        dx[row] = r[row] * dys[row] * g - xs[row] * r[row] * (dot * r[row] / n) * r[row]
        dgamma += dys[row] * (xs[row] * r[row])
    return dx.reshape(x.shape).astype(x.dtype), dgamma.reshape(gamma.shape)


def cross_entropy_loss(
    gradLoss,
    logProb,
    target,
    weightOptional,
    gradZlossOptional,
    lseForZlossOptional,
    reduction,
    ignoreIndex,
    labelSmoothing,
    lseSquareScaleForZloss,
):
    p, (rows, classes) = np.exp(wide(logProb)), logProb.shape
    weight = (
        np.ones(classes, p.dtype)
        if weightOptional is None
        else wide(weightOptional).astype(p.dtype)
    )
    counted = [row for row in range(rows) if target[row] != ignoreIndex]
    out = np.zeros_like(p)
    total, count = sum(float(weight[target[row]]) for row in counted), len(counted)
    if reduction == "mean" and not counted:
        return np.full_like(logProb, np.nan)
    for row in counted:
        grad = wide(np.asarray(gradLoss)).reshape(-1)[row if reduction == "none" else 0]
        share = grad / p.dtype.type(total) if reduction == "mean" else grad
        desired = np.full(classes, labelSmoothing / classes, p.dtype) * weight
        desired[target[row]] += (1 - labelSmoothing) * weight[target[row]]
        out[row] = share * (p[row] * np.sum(desired) - desired)
        if lseForZlossOptional is not None:
            if gradZlossOptional is not None:
                grad = (
                    grad
                    + wide(np.asarray(gradZlossOptional)).reshape(-1)[
                        row if reduction == "none" else 0
                    ]
                )
            each = grad / count if reduction == "mean" else grad
            out[row] += p[row] * (
                each * lseSquareScaleForZloss * 2 * wide(lseForZlossOptional)[row]
            )
    return {"xGradOut": out.astype(logProb.dtype)}


def group_norm_swish(
    dy,
    mean,
    rstd,
    x,
    gamma,
    beta,
    numGroups,
    dataFormatOptional,
    swishScale,
    dgammaIsRequire,
    dbetaIsRequire,
):
    n, c = x.shape[:2]
    shape = (n, c, int(np.prod(x.shape[2:])))
    xs, dys, g, b = wide(x).reshape(shape), wide(dy).reshape(shape), wide(gamma), wide(beta)
    g, b = (part.astype(xs.dtype)[:, None] for part in (g, b))
    each = c // numGroups
    r, m = (
        np.repeat(wide(part).astype(xs.dtype), each, axis=1)[..., None] for part in (rstd, mean)
    )
    xhat = (xs - m) * r
    z = g * xhat + b
    with np.errstate(over="ignore"):
        gate = 1 / (1 + np.exp(-swishScale * z))
    dz = dys * (gate + np.where(gate > 0, swishScale * z * gate * (1 - gate), 0))
    count = each * shape[2]

    def over_groups(a):
        sums = a.reshape(n, numGroups, each, shape[2]).sum(axis=3).sum(axis=2)
        return np.repeat(sums, each, axis=1)[..., None] / max(count, 1)

    dx = r * (dz * g) - r * (over_groups(dz * g) + xhat * over_groups(dz * g * xhat))
    outputs = {"dxOut": dx.reshape(x.shape).astype(x.dtype)}
    if dgammaIsRequire:
        outputs["dgammaOut"] = (dz * xhat).sum(axis=2)[::-1].sum(axis=0).astype(gamma.dtype)
    if dbetaIsRequire:
        outputs["dbetaOut"] = dz.sum(axis=2)[::-1].sum(axis=0).astype(gamma.dtype)
    return outputs


def reflected(u, size, aligned):
    """Mirrors counted by a division, and the sign of the direction."""
    low, span = (0.0, size - 1.0) if aligned else (-0.5, float(size))
    if span == 0:
        return np.zeros_like(u), np.zeros_like(u)
    sign, u = np.where(u < low, -1, 1), np.abs(u - u.dtype.type(low))
    flips, extra = np.floor(u / u.dtype.type(span)), np.fmod(u, u.dtype.type(span))
    odd = flips % 2 == 1
    return (np.where(odd, span - extra, extra) + low).astype(u.dtype), np.where(
        odd, -sign, sign
    ).astype(u.dtype)


def one_axis(x, size, interpolation, padding, aligned):
    """The taps along one axis in the format of x, as a library for GPUs computes them: index, weight, slope each."""
    one = x.dtype.type
    u, scale = (
        ((x + 1) / one(2) * one(size - 1), (size - 1) / 2)
        if aligned
        else (((x + 1) * one(size) - 1) / one(2), size / 2)
    )
    scale = np.full_like(u, scale)
    if interpolation == 2:
        t = u - np.floor(u)
        taps, a = [], -0.75
        for k in range(-1, 3):
            d = np.abs(t - one(k))
            inner, outer = ((a + 2) * d - (a + 3)) * d * d + 1, a * (d * (d * (d - 5) + 8) - 4)
            slope = np.where(
                d <= 1, (3 * (a + 2) * d - 2 * (a + 3)) * d, a * (d * (3 * d - 10) + 8)
            ) * np.sign(t - k)
            index = np.floor(u) + one(k)
            if padding == 2:
                index, _ = reflected(index, size, aligned)
            index = index if padding == 0 else np.clip(index, 0, size - 1)
            taps.append((np.rint(index).astype(int), np.where(d <= 1, inner, outer), slope * scale))
        return taps
    if padding == 2:
        u, sign = reflected(u, size, aligned)
        scale = scale * sign
    if padding:
        scale = np.where((u <= 0) | (u >= size - 1), 0, scale)
        u = np.clip(u, 0, one(size - 1))
    if interpolation == 1:
        return [(np.rint(u).astype(int), np.ones_like(u), np.zeros_like(u))]
    first = np.floor(u)
    return [(first.astype(int), first + 1 - u, -scale), (first.astype(int) + 1, u - first, scale)]


def grid_sampler_2d(
    gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
):
    """Sample by sample, corner by corner, every coordinate in float32."""
    (samples, channels, height, width), points = input.shape, grid.shape[1] * grid.shape[2]
    images, places, grads = wide(input), wide(grid).reshape(samples, points, 2), wide(gradOutput)
    grads = grads.reshape(samples, channels, points)
    image_grad, grid_grad = np.zeros_like(images), np.zeros_like(places)
    modes = interpolationMode, paddingMode, alignCorners
    for n in range(samples):
        for column, wx, dx in one_axis(places[n, :, 0], width, *modes):
            for row, wy, dy in one_axis(places[n, :, 1], height, *modes):
                at = np.flatnonzero((row >= 0) & (row < height) & (column >= 0) & (column < width))
                y, x, grad = row[at], column[at], grads[n][:, at]
                np.add.at(
                    image_grad[n], (slice(None), y, x), grad * (wy * wx)[at].astype(images.dtype)
                )
                dot = np.sum(grad * images[n][:, y, x], axis=0)
                grid_grad[n, at, 0] += dot * (wy * dx)[at].astype(images.dtype)
                grid_grad[n, at, 1] += dot * (wx * dy)[at].astype(images.dtype)
    outputs = {"inputGrad": image_grad, "gridGrad": grid_grad.reshape(grid.shape)}
    return {
        name: outputs[name].astype(input.dtype) for name, asked in zip(outputs, outputMask) if asked
    }


def grid_sampler_3d(
    gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
):
    """Corner by corner, every coordinate in float32 and mirrored as it is, as PyTorch does."""
    size, (samples, channels), points = (
        input.shape[2:],
        input.shape[:2],
        int(np.prod(grid.shape[1:4])),
    )
    images, places = wide(input), wide(grid).reshape(samples, points, 3)
    grads, kind = wide(gradOutput).reshape(samples, channels, points), images.dtype
    image_grad, grid_grad = np.zeros_like(images), np.zeros_like(places)
    for n in range(samples):
        axes = [
            one_axis(places[n, :, k], size[2 - k], interpolationMode, paddingMode, alignCorners)
            for k in range(3)
        ]
        for (x, wx, dx), (y, wy, dy), (z, wz, dz) in product(*axes):
            at = np.flatnonzero(
                np.all([(k >= 0) & (k < length) for k, length in zip((z, y, x), size)], axis=0)
            )
            pixel, grad = (slice(None), z[at], y[at], x[at]), grads[n][:, at]
            np.add.at(image_grad[n], pixel, grad * (wx * wy * wz)[at].astype(kind))
            dot = np.sum(grad * images[n][pixel], axis=0)
            for k, slope in enumerate((dx * wy * wz, wx * dy * wz, wx * wy * dz)):
                grid_grad[n, at, k] += dot * slope[at].astype(kind)
    outputs = {"inputGrad": image_grad, "gridGrad": grid_grad.reshape(grid.shape)}
    return {
        name: outputs[name].astype(input.dtype) for name, asked in zip(outputs, outputMask) if asked
    }


def layer_norm(
    gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask
):
    """x-hat as rstd * x - rstd * mean: where x is the mean, its rounding is left."""
    rows, n = rstd.size, int(np.prod(normalizedShape))
    x, dy, w = (
        wide(input).reshape(rows, n),
        wide(gradOut).reshape(rows, n),
        1 if weightOptional is None else wide(weightOptional).reshape(n),
    )
    m, r = (wide(part).reshape(rows, 1).astype(x.dtype) for part in (mean, rstd))
    # the first product and the difference are one instruction
    hat = (r.astype(np.float64) * x - r * m).astype(x.dtype)
    dx = (
        (
            dy * w
            - (dy * w).sum(1, keepdims=True) / n
            - hat * ((dy * w * hat).sum(1, keepdims=True) / n)
        )
        * r
        if n
        else dy
    )
    kind = input.dtype if weightOptional is None else weightOptional.dtype
    outputs = (
        dx.astype(input.dtype).reshape(input.shape),
        *(part.sum(0).astype(kind).reshape(normalizedShape) for part in (dy * hat, dy)),
    )
    return {
        name: value
        for name, value, asked in zip(
            ("gradInputOut", "gradWeightOut", "gradBiasOut"), outputs, outputMask
        )
        if asked
    }


def differentiated(gradOutput, self):
    """Hardswish as automatic differentiation has it, of x * clip(x + 3, 0, 6) / 6."""
    x, share = wide(self), wide(gradOutput) / 6
    inside = np.where((x + 3 >= 0) & (x + 3 <= 6), x, np.zeros_like(x))
    return (share * np.clip(x + 3, 0, 6) + share * inside).astype(self.dtype)


def planned(name, plan):
    def kernel(**inputs):
        if any(isinstance(value, np.ndarray) and value.size == 0 for value in inputs.values()):
            return operator(name).backward(**inputs)  # plans are for tensors that have elements
        return plans.run(operator(name), plan, **inputs)

    return kernel


PLANS = {
    "one after another": Plan(coordinates="float32", order=SEQUENTIAL, division_ulps=1.0),
    "binary tree": Plan(coordinates="float64", order=PAIRWISE),
    "tiles of 16 on four cores": Plan(coordinates="float32", order=BLOCKED, tile=16, cores=4),
    "atomic additions": Plan(
        order=SHUFFLED, scatter=SHUFFLED, tile=8, cores=3, seed=1, coordinates="float32"
    ),
}


def rewritings(name):
    """Right kernels of an operator, by what is different about them."""
    yield "the kit's own", operator(name).backward
    if name in globals():
        yield "NumPy in another order", globals()[name]
    if name == "hardswish":
        yield "automatic differentiation", differentiated
    for label, plan in PLANS.items():
        yield label, planned(name, plan)
    yield "as on Atlas A2", planned(name, plans.preset(name, "Ascend910B2", "9.1"))
    if name != "grid_sampler_2d":  # there Ascend 950 rounds coordinates to 16 bits
        yield "as on Ascend 950", planned(name, plans.preset(name, "Ascend950PR_9589", "9.1"))
