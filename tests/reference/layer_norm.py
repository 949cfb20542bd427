"""Layer norm over the trailing axes of normalizedShape: y = xhat w + b, xhat = (x - mean) / sqrt(variance + eps).

mean and rstd are one number a row: their shape is the leading axes of input, then a 1 for each normalised axis.
"""

import math

import numpy as np

from .exact import divide, exact, inverse_root, mp, zeros


def as_rows(x, normalizedShape):
    """Return x as (rows, columns), and the shape of a statistic."""
    leading, columns = x.shape[: x.ndim - len(normalizedShape)], math.prod(normalizedShape)
    return x.reshape(math.prod(leading), columns), leading + (1,) * len(normalizedShape)


def parameter(given, columns, default):
    return exact(np.full(columns, default) if given is None else given).ravel()


def forward(*, input, normalizedShape, weightOptional=None, biasOptional=None, eps=1e-5):
    """Return `out`, `mean` and `rstd` = 1 / sqrt(biased variance + eps)."""
    rows, statistic = as_rows(exact(input), normalizedShape)
    columns = rows.shape[1]
    weight, bias = parameter(weightOptional, columns, 1.0), parameter(biasOptional, columns, 0.0)
    means = np.sum(rows, axis=1, keepdims=True) / columns
    rstds = inverse_root(np.sum((rows - means) ** 2, axis=1, keepdims=True) / columns + mp.mpf(eps))
    return {
        "out": ((rows - means) * rstds * weight + bias).reshape(np.shape(input)),
        "mean": means.reshape(statistic),
        "rstd": rstds.reshape(statistic),
    }


def backward(
    *,
    gradOut,
    input,
    normalizedShape,
    mean,
    rstd,
    weightOptional=None,
    biasOptional=None,
    outputMask=(True, True, True),
):
    """Return `gradInputOut` (as input), `gradWeightOut` and `gradBiasOut` (as normalizedShape), each if asked for.

    mean and rstd are used as given, consistent with input or not, in any shape with one element a row. With N columns:
    dx_i = (dy_i w_i - 1/N sum_j dy_j w_j - xhat_i 1/N sum_j dy_j w_j xhat_j) rstd; the gradients by weight and bias
    sum dy_i xhat_i and dy_i over the rows.
    """
    columns = math.prod(normalizedShape)
    dx, dweight, dbias = [], zeros(columns), zeros(columns)
    for r, scaled, dy, xhat, _ in rows_of(
        gradOut, input, normalizedShape, mean, rstd, weightOptional
    ):
        shift, along = divide(np.sum(scaled), columns), divide(np.sum(scaled * xhat), columns)
        dx.append((scaled - shift - xhat * along) * r)
        dweight += dy * xhat
        dbias += dy
    return wanted(input, normalizedShape, dx, dweight, dbias, outputMask)


def rows_of(gradOut, input, normalizedShape, mean, rstd, weightOptional):
    """Yield (rstd, dy weight, dy, xhat, sizes of the terms of xhat) of every row."""
    rows, _ = as_rows(exact(input), normalizedShape)
    dy, means, rstds = exact(gradOut).reshape(rows.shape), exact(mean).ravel(), exact(rstd).ravel()
    weight = parameter(weightOptional, rows.shape[1], 1.0)
    for x, d, m, r in zip(rows, dy, means, rstds):
        yield r, d * weight, d, (x - m) * r, (abs(x) + abs(m)) * abs(r)


def wanted(input, normalizedShape, dx, dweight, dbias, outputMask):
    found = {
        "gradInputOut": exact(dx).reshape(np.shape(input)),
        "gradWeightOut": dweight.reshape(normalizedShape),
        "gradBiasOut": dbias.reshape(normalizedShape),
    }
    return {
        name: value for (name, value), asked in zip(found.items(), outputMask, strict=True) if asked
    }


def terms(*, input, normalizedShape, biasOptional=None, outputMask=(True, True, True), **given):
    """Return S of the three gradients.

    gradInputOut_i: |rstd dy_i w_i|, |rstd| / N |dy_k w_k| and |rstd xhat_i| / N |dy_k w_k xhat_k| of every k;
    gradWeightOut: |dy xhat| of every row; gradBiasOut: |dy| of every row. Intermediates: every x_k - mean with the
    parts |x_k| + |mean|, times the absolute derivative of the element by it.
    """
    given = {"weightOptional": None} | given
    columns = math.prod(normalizedShape)
    dx, dweight, dbias = [], zeros(columns), zeros(columns)
    for r, scaled, dy, xhat, parts in rows_of(
        input=input, normalizedShape=normalizedShape, **given
    ):
        size, hat, products = abs(scaled), abs(xhat), scaled * xhat
        # xhat_i stands before the sum of products, and in it
        both = abs(np.sum(products) + products) * parts
        # through xhat_k of the other elements
        moved = hat * (np.sum(size * parts) - size * parts)
        sums = np.sum(size) + hat * np.sum(abs(products)) + both + moved
        dx.append(abs(r) * (size + sums / columns))
        dweight += abs(dy) * (hat + parts)
        dbias += abs(dy)
    return wanted(input, normalizedShape, dx, dweight, dbias, outputMask)
