"""Layer norm, row by row with two sums of the row, then the row; the gradients of weight and bias add up over rows."""

import numpy as np

SLIPS = (
    "mean of the gradient forgotten",
    "correction along x-hat forgotten",
    "unbiased divisor",
    "rstd squared",
    "bias gradient with weight",
    "weight gradient without the mean",
    "weight not in the sums",
    "statistics of the first row",
    "last row not added up",
    "weight gradient averaged",
    "weight gradient with weight",
    "sums of the block of rows",
    "weight of none is zero",
    "rstd not in x-hat",
)


def kernel(
    slip, gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask
):
    n = int(np.prod(normalizedShape))
    rows = input.size // n if n else 0
    xs, dys = (part.astype(np.float32).reshape(rows, n) for part in (input, gradOut))
    m, r = (part.astype(np.float32).ravel() for part in (mean, rstd))
    w = (
        np.ones(n, np.float32)
        if weightOptional is None
        else weightOptional.astype(np.float32).ravel()
    )
    if slip == "weight of none is zero" and weightOptional is None:
        w = np.zeros(n, np.float32)
    dx, dw, db = np.zeros_like(xs), np.zeros(n, np.float32), np.zeros(n, np.float32)
    for row in range(rows):
        at = 0 if slip == "statistics of the first row" else row
        centred = xs[row] - m[at]
        hat = centred if slip == "rstd not in x-hat" else centred * r[at]
        grad = dys[row] * w
        summed = dys[row] if slip == "weight not in the sums" else grad
        first, second = np.sum(summed, dtype=np.float32), np.sum(summed * hat, dtype=np.float32)
        if slip == "sums of the block of rows":
            low = row - row % 2
            first = np.sum(dys[low : low + 2] * w, dtype=np.float32)
        count = np.float32(n - 1 if slip == "unbiased divisor" and n > 1 else n)
        first = np.float32(0) if slip == "mean of the gradient forgotten" else first
        second = np.float32(0) if slip == "correction along x-hat forgotten" else second
        dx[row] = (grad * count - first - hat * second) * (r[at] / count)
        if slip == "rstd squared":
            dx[row] *= r[at]
        if slip == "last row not added up" and rows > 1 and row == rows - 1:
            continue
        term = dys[row] * (xs[row] * r[at] if slip == "weight gradient without the mean" else hat)
        dw += term * w if slip == "weight gradient with weight" else term
        db += grad if slip == "bias gradient with weight" else dys[row]
    if slip == "weight gradient averaged":
        dw /= max(rows, 1)
    kind = input.dtype if weightOptional is None else weightOptional.dtype
    shape = tuple(normalizedShape)
    outputs = {
        "gradInputOut": dx.reshape(input.shape).astype(input.dtype),
        "gradWeightOut": dw.reshape(shape).astype(kind),
        "gradBiasOut": db.reshape(shape).astype(kind),
    }
    return {name: value for (name, value), asked in zip(outputs.items(), outputMask) if asked}
