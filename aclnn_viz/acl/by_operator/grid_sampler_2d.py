"""The sample program of aclnnGridSampler2DBackward, CANN documentation, in Python for any C API."""

import numpy as np

from aclnn_viz.acl.samples import sample

IMAGE, POINTS = [1, 1, 5, 8], [1, 3, 3, 2]

main = sample(
    "aclnnGridSampler2DBackward",
    ([1, 1, 3, 3], np.ones(9, np.float32)),  # gradOutput
    (IMAGE, np.arange(1, 41, dtype=np.float32)),  # input
    (POINTS, np.float32([-1, -1, 0, -1, 1, -1, -1, 0, 0, 0, 1, 0, -1, 1, 0, 1, 1, 1])),  # grid
    0,  # interpolationMode
    0,  # paddingMode
    False,  # alignCorners
    [True, True],  # outputMask
    (IMAGE, np.zeros(40, np.float32)),  # inputGrad
    (POINTS, np.zeros(18, np.float32)),  # gridGrad
    results=[("inputGradResultData", 7), ("gridGradResultData", 8)],
)
