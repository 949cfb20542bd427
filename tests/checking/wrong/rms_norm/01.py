import numpy as np

TILE = 16


def kernel(dy, x, rstd, gamma):
    n = gamma.size
    rows = x.size // n if n else 0
    xs, dys = (part.astype(np.float32).reshape(rows, n) for part in (x, dy))
    g, r = (gamma.astype(np.float32).ravel(), rstd.astype(np.float32).ravel())
    dx, dgamma = (np.zeros_like(xs), np.zeros(n, np.float32))
    length = -(-n // 8) * 8
    for row in range(rows):
        scale = r[row]
        dot = np.float32(0)
        for start in range(0, n, TILE):
            at = slice(start, min(start + TILE, n))
            term = xs[row, at] * dys[row, at] * g[at]
            dot += np.sum(term, dtype=np.float32)
        along = xs[row] * (dot / np.float32(length) * scale**2)
        dx[row] = scale * (dys[row] * g - along)
        part = dys[row] * xs[row] * scale
        dgamma = dgamma + part
    return (dx.reshape(x.shape).astype(x.dtype), dgamma.reshape(gamma.shape).astype(rstd.dtype))
