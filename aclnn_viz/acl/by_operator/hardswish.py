"""The sample program of aclnnHardswishBackward, CANN documentation, in Python for any C API."""

import numpy as np

from aclnn_viz.acl.samples import sample

SHAPE = [4, 2]

main = sample(
    "aclnnHardswishBackward",
    (SHAPE, np.arange(8, dtype=np.float32)),  # gradOutput
    (SHAPE, np.arange(8, dtype=np.float32)),  # self
    (SHAPE, np.zeros(8, np.float32)),  # out
    results=[("result", 2)],
)
