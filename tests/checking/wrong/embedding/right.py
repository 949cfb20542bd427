import numpy as np
from checking.wrong.common import wide


def kernel(grad, indices, numWeights, paddingIdx, scaleGradByFreq):
    rows, places = wide(grad).reshape(indices.size, grad.shape[-1]), indices.reshape(-1)
    out = np.zeros((numWeights, grad.shape[-1]), rows.dtype)
    counts = np.bincount(places, minlength=numWeights) if scaleGradByFreq else np.ones(numWeights)
    for row, place in zip(rows, places):
        if place != paddingIdx:
            out[place] += row / counts[place]
    return out.astype(grad.dtype)
