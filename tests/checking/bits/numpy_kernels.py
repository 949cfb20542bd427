"""Kernels in NumPy of the gradient of a softmax: of some a row has other bits in another batch."""

import math

import numpy as np

calls = []


def plain(gradOutput, output, dim):
    return output * (gradOutput - (gradOutput * output).sum(dim, keepdims=True))


def by_row(gradOutput, output, dim):
    out = np.empty_like(output)
    for row, (g, y) in enumerate(zip(gradOutput, output)):
        out[row] = y * (g - np.float32(math.fsum(g * y)))
    return out


def in_groups(gradOutput, output, dim):
    parts = []
    for start in range(0, len(output), 16):
        g, y = gradOutput[start : start + 16], output[start : start + 16]
        parts.append(y * (g - np.einsum("ij,ij->i", g, y)[:, None]))
    return np.concatenate(parts)


def halves(gradOutput, output, dim):
    product = gradOutput * output
    middle = product.shape[-1] // 2
    total = product[:, :middle].sum(-1) + product[:, middle:].sum(-1)
    return output * (gradOutput - total[:, None])


def blocks(gradOutput, output, dim):
    product = gradOutput * output
    length = max(512 // len(product), 4)
    total = np.zeros(len(product), np.float32)
    for start in range(0, product.shape[-1], length):
        total += product[:, start : start + length].sum(-1)
    return output * (gradOutput - total[:, None])


def product(gradOutput, output, dim):
    ones = np.ones((output.shape[-1], 1), np.float32)
    return output * (gradOutput - (gradOutput * output) @ ones)


def large(gradOutput, output, dim):
    product = gradOutput * output
    if len(product) < 8:
        total = product.astype(np.float64).sum(-1).astype(np.float32)
    else:
        total = np.add.reduce(product, -1)
    return output * (gradOutput - total[:, None])


def scaled(gradOutput, output, dim):
    scale = np.abs(gradOutput).max() * np.float32(0.7)
    g = gradOutput / scale
    return scale * output * (g - (g * output).sum(-1, keepdims=True))


def seasoned(gradOutput, output, dim):
    calls.append(gradOutput.size)
    step = np.float32(1e-7) * len(calls)
    return output * (gradOutput - (gradOutput * output).sum(-1, keepdims=True) + step)
