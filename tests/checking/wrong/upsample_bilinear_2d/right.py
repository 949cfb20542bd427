import numpy as np
from checking.wrong.common import wide


def taps(places, length, scale, aligned):
    at = np.arange(places)
    if aligned:
        at = at * ((length - 1) / (places - 1) if places > 1 else 0)
    else:
        at = np.maximum((at + 0.5) * (1 / scale if scale > 0 else length / places) - 0.5, 0)
    low = np.minimum(at.astype(int), length - 1)
    return low, np.minimum(low + 1, length - 1), at - low


def kernel(gradOut, outputSize, inputSize, alignCorners, scalesH, scalesW):
    g = wide(gradOut)
    out = np.zeros(inputSize, g.dtype)
    rows = taps(outputSize[0], inputSize[2], scalesH, alignCorners)
    columns = taps(outputSize[1], inputSize[3], scalesW, alignCorners)
    for i, (top, bottom, v) in enumerate(zip(*rows)):
        for j, (left, right, u) in enumerate(zip(*columns)):
            out[..., top, left] += g[..., i, j] * ((1 - v) * (1 - u))
            out[..., top, right] += g[..., i, j] * ((1 - v) * u)
            out[..., bottom, left] += g[..., i, j] * (v * (1 - u))
            out[..., bottom, right] += g[..., i, j] * (v * u)
    return out.astype(gradOut.dtype)
