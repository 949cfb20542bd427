"""Kernels in NumPy that return nan or infinity where the truth is finite, or lose one."""

import functools
import math

import numpy as np


def _named(function):
    @functools.wraps(function)
    def inner(**inputs):
        return dict(zip(("dxOut", "dgammaOut"), function(**inputs)))

    return inner


@_named
def normalized(dy, x, rstd, gamma):
    root = np.sqrt(np.mean(x * x, axis=-1, keepdims=True))
    y = x / root
    scaled = dy * gamma
    dx = rstd * (scaled - y * np.mean(scaled * y, axis=-1, keepdims=True))
    return dx, np.sum(dy * x * rstd, axis=0)


def moments(gradOut, input, weightOptional, **others):
    rows = input.shape[-1]
    largest = np.maximum(gradOut, 0)
    square = np.mean(input**2, axis=-1, keepdims=True)
    mean = np.mean(input, axis=-1, keepdims=True)
    deviation = np.sqrt(square - mean**2 - np.float32(1e-3))
    y = (input - mean) / deviation
    g = gradOut * weightOptional
    total = g.sum(-1, keepdims=True) + y * (g * y).sum(-1, keepdims=True)
    dx = (g - total / rows) / deviation + 0 * largest
    return dx, (gradOut * y).sum(0), gradOut.sum(0)


def masked(gradOutput, output, dim):
    kept = np.where(output < -1e30, np.float32(-np.inf), output)
    shifted = kept - kept.max(dim, keepdims=True)
    share = np.exp(shifted)
    share = share / share.sum(dim, keepdims=True)
    return gradOutput - share * gradOutput.sum(dim, keepdims=True)


def entropy(gradOutput, self, target, **others):
    p = 1 / (1 + np.exp(-self))
    no_loss = -target * np.log(p)
    slope = p - target + 0 * no_loss
    return gradOutput * slope / self.size


def _slope(x):
    grown = math.exp(x) if x < 700 else math.inf
    return grown / (1.0 + grown)


def grown(gradOutput, self, beta, threshold):
    out = np.zeros_like(self)
    for index, x in np.ndenumerate(self):
        out[index] = gradOutput[index] * _slope(beta * float(x))
    return out


def rest(gradOutput, self):
    out = np.empty_like(self)
    inner = np.abs(self) < 3
    out[inner] = (gradOutput * (self / 3 + 0.5))[inner]
    out[self <= -3] = 0
    return np.where(self > 3.5, gradOutput, out)


def clipped(gradOutput, self):
    s = 1 / (1 + np.exp(-np.fmax(self, -88)))
    return gradOutput * s * (1 + np.fmin(self, 3e38) * (1 - s))


def left(gradOutput, self):
    out = np.empty(self.shape, self.dtype)
    for index, x in np.ndenumerate(self):
        if x < 3:
            out[index] = gradOutput[index] * (x / 3 + 0.5) * (x > -3)
    return out


def paired(gradOutput, self):
    out = np.zeros_like(self)
    for row, (g, x) in enumerate(zip(*(gradOutput, self))):
        out[row, :] += g / (x - x)
    return out


def overwritten(*, gradOutput, self):
    ratio = np.divide(gradOutput, self - self, out=np.empty_like(self))
    return ratio * 1


def kept(*, gradOutput, self):
    return np.divide(gradOutput, self, out=np.empty_like(self), where=self > 2)
