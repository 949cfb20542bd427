"""Hardswish over tiles of 64 elements: the gate relu6(x + 3) / 6, and the slope that it adds where it is not clipped."""

import numpy as np

TILE = 64
SLIPS = (
    "gate alone",
    "slope of the gate alone",
    "slope times x twice",
    "x over six",
    "upper bound six",
    "no gate above",
    "absolute value below the bound",
    "gate not clipped",
    "tail rounded down to blocks",
    "whole tiles only",
    "upstream of the first tile",
    "slope in 16 bits",
    "upstream forgotten",
    "one sixth written as 0.16",
)


def kernel(slip, gradOutput, self):
    x, dy = (part.astype(np.float32).ravel() for part in (self, gradOutput))
    out = np.zeros_like(x)
    count = x.size
    if slip == "tail rounded down to blocks":
        count -= count % 8
    if slip == "whole tiles only" and count > TILE:
        count -= count % TILE
    for start in range(0, count, TILE):
        stop = min(start + TILE, count)
        part, grad = x[start:stop], dy[start:stop]
        if slip == "upstream of the first tile":
            grad = dy[: stop - start]
        out[start:stop] = grad * slope(slip, part, self.dtype)
        if slip == "upstream forgotten":
            out[start:stop] = slope(slip, part, self.dtype)
    return out.reshape(self.shape).astype(self.dtype)


def slope(slip, x, dtype):
    sixth = np.float32(0.16 if slip == "one sixth written as 0.16" else 1 / 6)
    gate = np.minimum(np.maximum(x + 3, 0), 6) * sixth
    if slip == "gate not clipped":
        gate = (x + 3) * sixth
    high = 6 if slip == "upper bound six" else 3
    free = (x >= -3) & (x <= high)
    if slip == "absolute value below the bound":
        free = np.abs(x) < 3
    own = np.where(free, x * sixth, np.float32(0))
    if slip == "gate alone":
        return gate
    if slip == "slope of the gate alone":
        return np.where(free, sixth, np.float32(0)) + gate * 0
    if slip == "slope times x twice":
        return gate + own + own
    if slip == "x over six":
        return np.where(free, x / 6 + np.float32(0.5), (x > 0).astype(np.float32))
    if slip == "no gate above":
        return np.where(x > 3, np.float32(0), gate + own)
    if slip == "slope in 16 bits":
        return np.where(
            free, ((x / 3).astype(np.float16) + np.float16(0.5)).astype(np.float32), gate
        )
    return (
        np.where(free, x / 3 + np.float32(0.5), gate)
        if slip in ("", "tail rounded down to blocks")
        else gate + own
    )
