"""The sample program of aclnnCrossEntropyLossGrad, CANN documentation, in Python for any C API, with its faults mended.

The printed program stores float32 bytes under ACL_BF16, copies 8 bytes into a target of two int64, fills the output
with the expected answer before the call, and reads bfloat16 results as float. Here the data are made in the types that
the tensors declare, and the output starts as zeros. Its logProb is no log-softmax: the numbers are the formula's.
"""

import ml_dtypes
import numpy as np

from aclnn_viz.acl.samples import sample

main = sample(
    "aclnnCrossEntropyLossGrad",
    ([], np.array([0.1], ml_dtypes.bfloat16)),  # gradLoss
    ([2, 3], np.full(6, -0.2, ml_dtypes.bfloat16)),  # logProb
    ([2], np.array([0, 0], np.int64)),  # target
    ([3], np.ones(3, np.float32)),  # weightOptional
    None,  # gradZlossOptional
    None,  # lseForZlossOptional
    "mean",  # reduction
    -100,  # ignoreIndex
    0.0,  # labelSmoothing
    0.0,  # lseSquareScaleForZloss
    ([2, 3], np.zeros(6, ml_dtypes.bfloat16)),  # xGradOut
    results=[("result", 10)],
)
