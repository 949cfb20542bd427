"""Layer norm over the trailing axes of normalizedShape: y = xhat w + b, xhat = (x - mean) / sqrt(variance + eps).

mean and rstd are one number a row: their shape is the leading axes of input, then a 1 for each normalised axis.
"""

import math

import numpy as np

from .exact import divide, exact, mp, zeros


def as_rows(x, normalizedShape):
    """Return x as (rows, columns), and the shape of a statistic."""
    leading, columns = x.shape[: x.ndim - len(normalizedShape)], math.prod(normalizedShape)
    return x.reshape(math.prod(leading), columns), leading + (1,) * len(normalizedShape)


def parameter(given, columns, default):
    return exact(np.full(columns, default) if given is None else given).ravel()


def forward(*, input, normalizedShape, weightOptional=None, biasOptional=None, eps=1e-5):
    """Return `out`, `mean` and `rstd` = 1 / sqrt(biased variance + eps)."""
    x, eps = exact(input), mp.mpf(eps)
    rows, statistic = as_rows(x, normalizedShape)
    count, columns = rows.shape
    weight, bias = parameter(weightOptional, columns, 1.0), parameter(biasOptional, columns, 0.0)
    out, means, rstds = zeros(rows.shape), zeros(count), zeros(count)
    for row in range(count):
        total, square = mp.zero, mp.zero
        for i in range(columns):
            total += rows[row, i]
        means[row] = divide(total, mp.mpf(columns))
        for i in range(columns):
            square += (rows[row, i] - means[row]) ** 2
        rstds[row] = divide(mp.one, mp.sqrt(divide(square, mp.mpf(columns)) + eps))
        for i in range(columns):
            out[row, i] = (rows[row, i] - means[row]) * rstds[row] * weight[i] + bias[i]
    return {
        "out": out.reshape(x.shape),
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
    x = exact(input)
    rows, _ = as_rows(x, normalizedShape)
    count, columns = rows.shape
    dy, means, rstds = exact(gradOut).reshape(rows.shape), exact(mean).ravel(), exact(rstd).ravel()
    weight = parameter(weightOptional, columns, 1.0)
    dx, dweight, dbias = zeros(rows.shape), zeros(columns), zeros(columns)
    for row in range(count):
        shift, along, xhat = mp.zero, mp.zero, zeros(columns)
        for j in range(columns):
            xhat[j] = (rows[row, j] - means[row]) * rstds[row]
            shift += dy[row, j] * weight[j]
            along += dy[row, j] * weight[j] * xhat[j]
        for i in range(columns):
            dx[row, i] = (
                dy[row, i] * weight[i] - shift / columns - xhat[i] * along / columns
            ) * rstds[row]
            dweight[i] += dy[row, i] * xhat[i]
            dbias[i] += dy[row, i]
    return wanted(x.shape, normalizedShape, dx, dweight, dbias, outputMask)


def wanted(shape, normalizedShape, dx, dweight, dbias, outputMask):
    normalised = tuple(normalizedShape)
    found = {
        "gradInputOut": dx.reshape(shape),
        "gradWeightOut": dweight.reshape(normalised),
        "gradBiasOut": dbias.reshape(normalised),
    }
    return {
        name: value for (name, value), asked in zip(found.items(), outputMask, strict=True) if asked
    }


def terms(
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
    """Return S of the three gradients.

    gradInputOut_i: |rstd dy_i w_i|, |rstd| / N |dy_k w_k| and |rstd xhat_i| / N |dy_k w_k xhat_k| of every k;
    gradWeightOut: |dy xhat| of every row; gradBiasOut: |dy| of every row. Intermediates: every x_k - mean with the
    parts |x_k| + |mean|, times the absolute derivative of the element by it.
    """
    x = exact(input)
    rows, _ = as_rows(x, normalizedShape)
    count, columns = rows.shape
    dy, means, rstds = exact(gradOut).reshape(rows.shape), exact(mean).ravel(), exact(rstd).ravel()
    weight = parameter(weightOptional, columns, 1.0)
    dx, dweight, dbias = zeros(rows.shape), zeros(columns), zeros(columns)
    for row in range(count):
        m, r = means[row], rstds[row]
        shift, along, signed, moved = mp.zero, mp.zero, mp.zero, mp.zero
        parts, xhat, scaled = zeros(columns), zeros(columns), zeros(columns)
        for k in range(columns):
            xhat[k], parts[k] = (rows[row, k] - m) * r, (abs(rows[row, k]) + abs(m)) * abs(r)
            scaled[k] = dy[row, k] * weight[k]
            shift += abs(scaled[k])
            signed += scaled[k] * xhat[k]
            along += abs(scaled[k] * xhat[k])
            moved += abs(scaled[k]) * parts[k]  # through xhat_k of the second sum
        for i in range(columns):
            own = abs(xhat[i]) * abs(scaled[i]) * parts[i]
            # xhat_i stands before the second sum, and in it
            both = abs(signed + xhat[i] * scaled[i]) * parts[i]
            dx[row, i] = abs(r) * (
                abs(scaled[i])
                + (shift + abs(xhat[i]) * along + both + abs(xhat[i]) * moved - own) / columns
            )
            dweight[i] += abs(dy[row, i]) * (abs(xhat[i]) + parts[i])
            dbias[i] += abs(dy[row, i])
    return wanted(x.shape, normalizedShape, dx, dweight, dbias, outputMask)
