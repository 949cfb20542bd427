"""RMS norm, row by row in tiles of 16 columns: a dot product of the row first, then the row; cores add up dgamma."""

import numpy as np

TILE = 16
SLIPS = (
    "length of the padded row",
    "last tile not in the dot",
    "dgamma of the last row",
    "dgamma without rstd",
    "one rstd lost in the correction",
    "gamma not in the dot",
    "gamma at the end",
    "rstd of the first row",
    "rows that the cores do not share",
    "correction added",
    "dgamma with gamma",
    "divided by the rows",
    "rstd taken for the variance",
    "rstd of the mean of x",
    "dot of x alone",
    "dot not cleared between rows",
    "dgamma in 16 bits",
)


def kernel(slip, dy, x, rstd, gamma):
    n = gamma.size
    rows = x.size // n if n else 0
    xs, dys = (part.astype(np.float32).reshape(rows, n) for part in (x, dy))
    g, r = gamma.astype(np.float32).ravel(), rstd.astype(np.float32).ravel()
    dx, dgamma = np.zeros_like(xs), np.zeros(n, np.float32)
    if slip == "dgamma in 16 bits":
        dgamma = dgamma.astype(np.float16)
    length = (
        -(-n // 8) * 8
        if slip == "length of the padded row"
        else rows
        if slip == "divided by the rows"
        else n
    )
    shared = rows - rows % 4 if slip == "rows that the cores do not share" and rows >= 4 else rows
    dot = np.float32(0)
    for row in range(shared):
        scale = r[0] if slip == "rstd of the first row" else r[row]
        if slip == "rstd taken for the variance":
            scale = np.float32(1) / np.sqrt(scale)
        if slip == "rstd of the mean of x":
            scale = np.float32(1) / np.sqrt(np.mean(xs[row]) ** 2 + np.float32(1e-6))
        if slip != "dot not cleared between rows":
            dot = np.float32(0)
        for start in range(0, n, TILE):
            if slip == "last tile not in the dot" and start and start + TILE >= n:
                break
            at = slice(start, min(start + TILE, n))
            term = xs[row, at] * dys[row, at] * (1 if slip == "gamma not in the dot" else g[at])
            dot += np.sum(
                xs[row, at] * g[at] if slip == "dot of x alone" else term, dtype=np.float32
            )
        power = 1 if slip == "one rstd lost in the correction" else 2
        along = xs[row] * (dot / np.float32(length) * scale**power)
        if slip == "gamma at the end":
            dot = np.sum(xs[row] * dys[row], dtype=np.float32)
            dx[row] = scale * g * (dys[row] - xs[row] * (dot / np.float32(n) * scale * scale))
        elif slip == "correction added":
            dx[row] = scale * (dys[row] * g + along)
        else:
            dx[row] = scale * (dys[row] * g - along)
        part = dys[row] * xs[row] * (1 if slip == "dgamma without rstd" else scale)
        part = part * g if slip == "dgamma with gamma" else part
        dgamma = (
            part
            if slip == "dgamma of the last row"
            else (dgamma + part.astype(dgamma.dtype)).astype(dgamma.dtype)
        )
    return dx.reshape(x.shape).astype(x.dtype), dgamma.reshape(gamma.shape).astype(rstd.dtype)
