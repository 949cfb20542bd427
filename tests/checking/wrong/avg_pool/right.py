import numpy as np
from checking.wrong.common import wide


def kernel(
    gradOutput,
    self,
    kernelSize,
    stride,
    padding,
    ceilMode,
    countIncludePad,
    divisorOverride,
    cubeMathType,
):
    (height, width), g = self.shape[-2:], wide(gradOutput)
    out = np.zeros(self.shape, g.dtype)
    kh, kw, ph, pw = kernelSize[0], kernelSize[-1], padding[0], padding[-1]
    sh, sw = (stride[0], stride[-1]) if stride else (kh, kw)
    for i, j in np.ndindex(g.shape[-2:]):
        top, left = i * sh - ph, j * sw - pw
        bottom, right = min(top + kh, height + ph), min(left + kw, width + pw)
        count = (bottom - top) * (right - left)
        rows, columns = range(height)[max(top, 0) : bottom], range(width)[max(left, 0) : right]
        if not countIncludePad:
            count = len(rows) * len(columns)
        part = g[..., i, j] / g.dtype.type(divisorOverride or count)
        for row in rows:
            for column in columns:
                out[..., row, column] += part
    return out.astype(self.dtype)
