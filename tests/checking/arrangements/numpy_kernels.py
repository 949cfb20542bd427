"""Right kernels in NumPy as libraries write them: whole arrays, other sums, other orders of factors, explicit indices."""

import numpy as np

from checking.rewritings import (
    cross_entropy_loss,
    grid_sampler_2d,
    group_norm_swish,
    hardswish,
    layer_norm,
    one_axis,
    reflected,
    rms_norm,
    wide,
)

__all__ = [
    "cross_entropy_loss",
    "grid_sampler_2d",
    "group_norm_swish",
    "hardswish",
    "layer_norm",
    "one_axis",
    "reflected",
    "rms_norm",
]


def silu(gradOutput, self):
    x, dy = wide(self), wide(gradOutput)
    with np.errstate(over="ignore"):
        gate, rest = 1 / (1 + np.exp(-x)), 1 / (1 + np.exp(x))
    return (dy * gate + dy * x * gate * rest).astype(self.dtype)


def softmax(gradOutput, output, dim):
    y, dy = np.moveaxis(wide(output), dim, 0), np.moveaxis(wide(gradOutput), dim, 0)
    dot = np.zeros_like(y[0]) if len(y) else 0
    for k in range(len(y)):
        dot = dot + dy[k] * y[k]
    return np.moveaxis(y * (dy - dot), 0, dim).astype(output.dtype)


def nll_loss(gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight):
    classes = self.shape[-1]
    rows, ids = self.size // classes, target.reshape(-1)
    g, w = wide(gradOutput).reshape(-1), wide(weight)
    out = np.zeros((rows, classes), g.dtype)
    for row in range(rows):
        t = ids[row]
        if t == ignoreIndex or t < 0 or t >= classes:
            continue
        if reduction == 0:
            out[row, t] = -g[row] * w[t]
        elif reduction == 1:
            out[row, t] = -g[0] * w[t] / wide(totalWeight).reshape(())
        else:
            out[row, t] = -g[0] * w[t]
    return out.reshape(self.shape).astype(self.dtype)


def embedding(grad, indices, numWeights, paddingIdx, scaleGradByFreq):
    ids, width = indices.reshape(-1), grad.shape[-1]
    rows = wide(grad).reshape(ids.size, width)
    out = np.zeros((numWeights, width), rows.dtype)
    count = np.bincount(ids, minlength=numWeights)
    for at in range(ids.size):
        row = ids[at]
        if row == paddingIdx:
            continue
        if scaleGradByFreq:
            out[row] += rows[at] / rows.dtype.type(count[row])
        else:
            out[row] += rows[at]
    return out.astype(grad.dtype)


def avg_pool(
    gradOutput,
    self,
    kernelSize,
    stride,
    padding,
    ceilMode,
    countIncludePad,
    divisorOverride,
    cubeMathType,
):
    height, width = self.shape[-2:]
    dy = wide(gradOutput)
    out = np.zeros(self.shape, dy.dtype)
    kh, kw = kernelSize[0], kernelSize[-1]
    sh, sw = (stride[0], stride[-1]) if stride else (kh, kw)
    ph, pw = padding[0], padding[-1]
    for i in range(dy.shape[-2]):
        for j in range(dy.shape[-1]):
            top, left = i * sh - ph, j * sw - pw
            bottom, right = min(top + kh, height + ph), min(left + kw, width + pw)
            size = (bottom - top) * (right - left)
            top, left, bottom, right = (
                max(top, 0),
                max(left, 0),
                min(bottom, height),
                min(right, width),
            )
            if not countIncludePad:
                size = (bottom - top) * (right - left)
            if divisorOverride:
                size = divisorOverride
            out[..., top:bottom, left:right] += (dy[..., i, j] / dy.dtype.type(size))[
                ..., None, None
            ]
    return out.astype(self.dtype)


def upsample_nearest_2d(gradOut, outputSize, inputSize, scalesH, scalesW):
    height, width = inputSize[-2:]
    rows, columns = outputSize
    dy = wide(gradOut)
    out = np.zeros(inputSize, dy.dtype)
    ratio_h, ratio_w = height / rows, width / columns
    if scalesH > 0 and scalesW > 0:
        ratio_h, ratio_w = 1 / scalesH, 1 / scalesW
    for i in range(rows):
        y = min(int(np.float32(i) * np.float32(ratio_h)), height - 1)
        for j in range(columns):
            x = min(int(np.float32(j) * np.float32(ratio_w)), width - 1)
            out[..., y, x] += dy[..., i, j]
    return out.astype(gradOut.dtype)


def reflection_pad_2d(gradOutput, self, padding):
    left, right, top, bottom = padding
    height, width = self.shape[-2:]
    dy = wide(gradOutput)
    out = np.zeros(self.shape, dy.dtype)
    for i in range(height + top + bottom):
        y = abs(i - top)
        y = y if y < height else 2 * (height - 1) - y
        for j in range(width + left + right):
            x = abs(j - left)
            x = x if x < width else 2 * (width - 1) - x
            out[..., y, x] += dy[..., i, j]
    return out.astype(self.dtype)
