"""A program for aclnnGroupNormSwishGrad in the form of the vendor's samples; its documentation prints none.

Two samples, four channels in two groups, three positions; mean and rstd are those of x.
"""

import numpy as np

from aclnn_viz.acl.samples import sample

SHAPE, STATISTICS = [2, 4, 3], [2, 2]
X = (np.arange(24, dtype=np.float32) % 7) - 2
GROUPS = X.reshape(4, 6)

main = sample(
    "aclnnGroupNormSwishGrad",
    (SHAPE, np.arange(24, 0, -1, dtype=np.float32) / 8),  # dy
    (STATISTICS, GROUPS.mean(axis=1)),
    (STATISTICS, (1 / np.sqrt(GROUPS.var(axis=1) + 1e-5)).astype(np.float32)),  # rstd
    (SHAPE, X),
    ([4], np.array([1, 0.5, -1, 2], np.float32)),  # gamma
    ([4], np.array([0, 0.25, -0.5, 1], np.float32)),  # beta
    2,  # numGroups
    "NCHW",  # dataFormatOptional
    1.0,  # swishScale
    True,  # dgammaIsRequire
    True,  # dbetaIsRequire
    (SHAPE, np.zeros(24, np.float32)),  # dxOut
    ([4], np.zeros(4, np.float32)),  # dgammaOut
    ([4], np.zeros(4, np.float32)),  # dbetaOut
    results=[("dx", 11), ("dgamma", 12), ("dbeta", 13)],
)
