import numpy as np
from checking.wrong.common import erf, wide


def kernel(gradOutput, self):
    x = wide(self)
    root, norm = x.dtype.type(0.7071067811865476), x.dtype.type(0.3989422804014327)
    density = np.exp(-x * x / 2) * norm
    return (wide(gradOutput) * ((1 + erf(x * root)) / 2 + x * density)).astype(self.dtype)
