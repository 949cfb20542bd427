"""Kernels of ten operators by hand, float32 inside, and five mistakes of each as threads about backward kernels tell of them:

a weight twice or forgotten, an accumulator that is not cleared, the last block alone, a tail that is dropped, a parameter that is not
broadcast, an ignored index that counts, the wrong branch, the raw input in the place of the normalised one. With "" each is right.
"""

from functools import partial

import numpy as np

from aclnn_viz.arrays.elementary import ERF, in_numpy_arrays
from aclnn_viz.arrays.plan import BLOCKED, SEQUENTIAL, SHUFFLED, Plan
from checking.rewritings import planned

erf, TILE = in_numpy_arrays(ERF), 16
PLANS = (
    Plan("one after another", order=SEQUENTIAL),
    Plan(
        "tiles on three cores",
        order=BLOCKED,
        tile=8,
        cores=3,
        leading=SHUFFLED,
        scatter=SHUFFLED,
        reciprocal_mean=True,
    ),
)


def wide(array):
    return array if array.dtype == np.float64 else array.astype(np.float32)


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def tails(slip, x):
    """How many elements of a flat array a kernel by tiles computes."""
    return x.size - x.size % TILE if slip == "whole tiles only" and x.size > TILE else x.size


def by_tiles(slip, slope, grad, x, *others):
    """A slope at each element, tile after tile."""
    parts = np.broadcast_arrays(grad, x, *others)
    out, flat, x = np.zeros(parts[0].size, x.dtype), [part.ravel() for part in parts], parts[1]
    for start in range(0, tails(slip, x), TILE):
        g, *parts = (part[start : start + TILE] for part in flat)
        if slip == "upstream of the first tile":
            g = flat[0][: len(parts[0])]
        if slip == "upstream forgotten":
            g = np.ones_like(g)
        out[start : start + TILE] = g * slope(*parts)
    return out.reshape(x.shape)


def silu(slip, gradOutput, self):
    def slope(x):
        s = sigmoid(x)
        if slip == "output for input":
            x = x * s
        return (
            s
            if slip == "second term forgotten"
            else s * (1 + x * (1 - s if slip != "sigmoid not subtracted" else s))
        )

    return by_tiles(slip, slope, wide(gradOutput), wide(self)).astype(self.dtype)


def gelu(slip, gradOutput, self):
    def slope(x):
        one = x.dtype.type
        density = np.exp(-x * x * (one(1) if slip == "half forgotten" else one(0.5))) * one(
            0.3989422804014327
        )
        cdf = (1 + erf(x * one(0.7071067811865476 if slip != "no square root" else 0.5))) * one(0.5)
        return cdf if slip == "density forgotten" else cdf + x * density

    return by_tiles(slip, slope, wide(gradOutput), wide(self)).astype(self.dtype)


def prelu(slip, gradOutput, self, weight):
    g, x, w = wide(gradOutput), wide(self), wide(weight).reshape(-1)
    if slip == "one weight for all channels":
        w = w[:1]
    shaped = w.reshape((1, -1) + (1,) * (x.ndim - 2)) if x.ndim > 1 else w
    below = x <= 0 if slip != "slope by the gradient" else g <= 0
    grad, terms = np.where(below, g * shaped, g), np.where(below, g * x, 0)
    if slip == "weight without the gradient":
        terms = np.where(below, x, 0)
    axes = tuple(k for k in range(x.ndim) if k != 1) if x.ndim > 1 else ()
    if slip == "last sample alone" and x.ndim > 1:
        terms = terms[-1:]
    if weight.size == 1:
        total = np.sum(terms)
    elif slip == "first sample forgotten" and x.ndim > 1:
        total = np.sum(terms[1:], axis=axes)
    else:
        total = np.sum(terms, axis=axes)
    return {
        "gradInput": grad.astype(self.dtype),
        "gradWeight": np.broadcast_to(total, (weight.size,))
        .reshape(weight.shape)
        .astype(weight.dtype),
    }


def softmax(slip, gradOutput, output, dim):
    g, y = (
        np.moveaxis(wide(part), dim, -1) if part.ndim else wide(part).reshape(1)
        for part in (gradOutput, output)
    )
    terms = g * y
    if slip == "last block of a row alone" and y.shape[-1] > TILE:
        terms = terms[..., -TILE:]
    total = np.sum(g if slip == "output forgotten in the sum" else terms, axis=-1, keepdims=True)
    if slip == "accumulator not cleared" and total.ndim > 1:
        total = np.cumsum(total.reshape(-1, 1), axis=0).reshape(total.shape)
    out = {"sum forgotten": g * y, "sum without output": y * g - total}.get(slip, y * (g - total))
    return (np.moveaxis(out, -1, dim) if output.ndim else out.reshape(())).astype(output.dtype)


def smooth_l1_loss(slip, gradOut, self, target, reduction, beta):
    d = wide(self) - wide(target)
    g = wide(gradOut) if reduction else np.broadcast_to(wide(gradOut), d.shape)
    near = np.abs(d) < (1 if slip == "beta taken for 1" else beta)
    with np.errstate(all="ignore"):
        slope = np.where(near, d if slip == "not divided by beta" else d / (beta or 1), np.sign(d))
    if slip == "absolute value beyond":
        slope = np.where(near, slope, 1)
    if reduction == 1 or slip == "always the mean" and reduction == 2:
        g = g / max(d.shape[0] if slip == "divided by rows" and d.ndim else d.size, 1)
    return (g * slope).astype(self.dtype)


def nll_loss(slip, gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight):
    g, w, x = wide(gradOutput), wide(weight), self if self.ndim == 2 else self[None]
    out = np.zeros(x.shape, g.dtype)
    for row, label in enumerate(target.reshape(-1)):
        if label == ignoreIndex and slip != "ignored index counts":
            continue
        if not 0 <= label < x.shape[1]:
            continue
        each = g.reshape(-1)[row if g.size > 1 and slip != "first gradient for all" else 0]
        if reduction == 1:
            each = each / (
                x.shape[0] if slip == "divided by rows" else wide(totalWeight).reshape(-1)[0]
            )
        out[row, label] = -each * (
            1
            if slip == "weight forgotten"
            else w[label] ** 2
            if slip == "weight twice"
            else w[label]
        )
    return out.reshape(self.shape).astype(self.dtype)


def group_norm(slip, gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask):
    g, x, w = (
        wide(gradOut).reshape(N, C, HxW),
        wide(input).reshape(N, C, HxW),
        np.ones(C, np.float32) if gamma is None else wide(gamma),
    )
    shape = (N, group, C // group * HxW)
    r, m = (
        np.repeat(wide(part).reshape(N, group), C // group, axis=1)[:, :, None]
        for part in (rstd, mean)
    )
    xh = x if slip == "raw input" else (x - m) * r
    gw = (g if slip == "gamma forgotten" else g * w[None, :, None]).reshape(shape)
    means = [np.mean(part, axis=-1, keepdims=True) for part in (gw, gw * xh.reshape(shape))]
    if slip == "mean subtracted twice":
        means[0] = means[0] * 2
    if slip == "projection forgotten":
        means[1] = means[1] * 0
    dx = r * (gw - means[0] - xh.reshape(shape) * means[1]).reshape(N, C, HxW)
    terms = g * xh
    found = {
        "gradInput": dx.reshape(input.shape).astype(input.dtype),
        "gradGammaOut": np.sum(terms[-1:] if slip == "last sample alone" else terms, axis=(0, 2)),
        "gradBetaOut": np.sum(g, axis=(0, 2)),
    }
    dtype = (input if gamma is None else gamma).dtype
    return {
        name: value.astype(dtype)
        for (name, value), asked in zip(found.items(), outputMask)
        if asked
    }


def swi_glu(slip, yGrad, x, dim):
    g, (a, b) = wide(yGrad), np.split(wide(x), 2, axis=dim)
    if slip == "halves exchanged":
        a, b = b, a
    s = sigmoid(a)
    slope = (
        s
        if slip == "slope of the gate alone"
        else s * (1 + a * (s if slip == "sigmoid not subtracted" else 1 - s))
    )
    one, other = (
        g * (1 if slip == "other half forgotten" else b) * slope,
        g * (s if slip == "sigmoid for silu" else a * s),
    )
    return np.concatenate([one, other], axis=dim).astype(x.dtype)


def embedding(slip, grad, indices, numWeights, paddingIdx, scaleGradByFreq):
    rows, flat = wide(grad).reshape(-1, grad.shape[-1]), indices.reshape(-1)
    out, counts = (
        np.zeros((numWeights, grad.shape[-1]), rows.dtype),
        np.bincount(flat[flat >= 0], minlength=numWeights),
    )
    for row, index in zip(rows, flat):
        if index == paddingIdx and slip != "padding index counts":
            continue
        share = counts[index] if scaleGradByFreq and slip != "frequency forgotten" else 1
        share = share**2 if slip == "frequency twice" else share
        if slip == "last duplicate wins":
            out[index] = row / share
        elif slip == "row zero for padding" and index == 0 and paddingIdx < 0:
            continue
        else:
            out[index] += row / share
    return out.astype(grad.dtype)


def deep_norm(slip, dy, x, gx, gamma, mean, rstd, alpha):
    rows, n = mean.size, gamma.size
    g, w = wide(dy).reshape(rows, n), wide(gamma).reshape(1, n)
    xs, gs, m, r = (
        wide(part).reshape(rows, width) for part, width in ((x, n), (gx, n), (mean, 1), (rstd, 1))
    )
    xh = ((xs if slip == "alpha forgotten in the sum" else np.float32(alpha) * xs) + gs - m) * r
    gw = g if slip == "gamma forgotten" else g * w
    grad = r * (
        gw
        - np.mean(gw, axis=1, keepdims=True)
        - xh * (0 if slip == "projection forgotten" else np.mean(gw * xh, axis=1, keepdims=True))
    )
    return {
        "dxOut": (grad if slip == "alpha forgotten in dx" else np.float32(alpha) * grad)
        .reshape(x.shape)
        .astype(x.dtype),
        "dgxOut": grad.reshape(x.shape).astype(x.dtype),
        "dbetaOut": np.sum(g, axis=0).reshape(gamma.shape).astype(np.float32),
        "dgammaOut": np.sum((g * xh)[-1:] if slip == "last row alone" else g * xh, axis=0)
        .reshape(gamma.shape)
        .astype(np.float32),
    }


SLIPS = {
    silu: (
        "second term forgotten",
        "sigmoid not subtracted",
        "output for input",
        "whole tiles only",
        "upstream of the first tile",
    ),
    gelu: (
        "half forgotten",
        "no square root",
        "density forgotten",
        "whole tiles only",
        "upstream forgotten",
    ),
    prelu: (
        "one weight for all channels",
        "slope by the gradient",
        "weight without the gradient",
        "last sample alone",
        "first sample forgotten",
    ),
    softmax: (
        "last block of a row alone",
        "output forgotten in the sum",
        "accumulator not cleared",
        "sum forgotten",
        "sum without output",
    ),
    smooth_l1_loss: (
        "beta taken for 1",
        "not divided by beta",
        "absolute value beyond",
        "always the mean",
        "divided by rows",
    ),
    nll_loss: (
        "ignored index counts",
        "first gradient for all",
        "divided by rows",
        "weight forgotten",
        "weight twice",
    ),
    group_norm: (
        "raw input",
        "gamma forgotten",
        "mean subtracted twice",
        "projection forgotten",
        "last sample alone",
    ),
    swi_glu: (
        "halves exchanged",
        "slope of the gate alone",
        "sigmoid not subtracted",
        "other half forgotten",
        "sigmoid for silu",
    ),
    embedding: (
        "padding index counts",
        "frequency forgotten",
        "frequency twice",
        "last duplicate wins",
        "row zero for padding",
    ),
    deep_norm: (
        "alpha forgotten in the sum",
        "gamma forgotten",
        "projection forgotten",
        "alpha forgotten in dx",
        "last row alone",
    ),
}


def wrong():
    """(operator, slip, kernel) of every mistake."""
    return [
        (kernel.__name__, slip, partial(kernel, slip))
        for kernel, slips in SLIPS.items()
        for slip in slips
    ]


def right():
    """(operator, arrangement, kernel) of right kernels: by hand, and the page with sums in two other orders."""
    for kernel in SLIPS:
        yield kernel.__name__, "by hand", partial(kernel, "")
        for plan in PLANS:
            yield kernel.__name__, plan.name, planned(kernel.__name__, plan)
