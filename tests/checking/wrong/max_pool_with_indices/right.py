import numpy as np
from checking.wrong.common import wide


def kernel(gradOutput, self, indices, kernelSize, stride, padding, dilation, ceilMode):
    size, windows = np.prod(self.shape[-2:]), np.prod(indices.shape[-2:])
    g, places = wide(gradOutput).reshape(-1, windows), indices.reshape(-1, windows)
    out = np.zeros((len(g), size), g.dtype)
    for plane, at, grads in zip(out, places, g):
        np.add.at(plane, at, grads)
    return out.reshape(self.shape).astype(self.dtype)
