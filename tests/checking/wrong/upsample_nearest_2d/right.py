import numpy as np
from checking.wrong.common import wide


def nearest(places, length, ratio):
    ratio = np.float32(ratio or length / places)
    return np.minimum((np.arange(places, dtype=np.float32) * ratio).astype(int), length - 1)


def kernel(gradOut, outputSize, inputSize, scalesH, scalesW):
    g = wide(gradOut)
    out, ratios = np.zeros(inputSize, g.dtype), (0, 0)
    if scalesH > 0 and scalesW > 0:
        ratios = 1 / scalesH, 1 / scalesW
    for i, row in enumerate(nearest(outputSize[0], inputSize[2], ratios[0])):
        for j, column in enumerate(nearest(outputSize[1], inputSize[3], ratios[1])):
            out[..., row, column] += g[..., i, j]
    return out.astype(gradOut.dtype)
