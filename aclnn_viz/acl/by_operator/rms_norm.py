"""The sample program of aclnnRmsNormGrad, CANN documentation, in Python for any C API.

It passes an rstd that was not computed from its x. The outputs follow from the formula, but they are not a gradient.
The format NCDHW at ranks 3 and 1 is the sample's, and is taken as ND.
"""

import numpy as np

from aclnn_viz.acl import ACL_FORMAT_NCDHW
from aclnn_viz.acl.samples import sample

X = [2, 1, 16], np.arange(1, 33, dtype=np.float32)
GAMMA = [16], np.arange(1, 17, dtype=np.float32)

main = sample(
    "aclnnRmsNormGrad",
    X,  # dy
    X,
    ([2], np.array([1, 2], np.float32)),  # rstd
    GAMMA,
    X,  # dxOut
    GAMMA,  # dgammaOut
    results=[("result", 4), ("result", 5)],
    format=ACL_FORMAT_NCDHW,
)
