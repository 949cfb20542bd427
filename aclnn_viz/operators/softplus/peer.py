"""PyTorch's gradient of softplus, to compare ours with: softplus_backward of ATen."""

import numpy as np

from aclnn_viz.operators.peers import Difference

ATEN = "softplus_backward(gradOutput, self, beta, threshold)"

DUMPED = {"softplus": "input: self, beta, threshold"}


def _overflowing(inputs):
    x, beta, threshold = (inputs[name] for name in ("self", "beta", "threshold"))
    z = x.astype(np.float64 if x.dtype == np.float64 else np.float32) * beta
    with np.errstate(over="ignore"):
        return {"gradInput": (np.isinf(np.exp(z)) & (z <= threshold), np.nan)}


DIFFERENCES = {
    "torch": (
        Difference(
            "nan where exp(beta * x) overflows below the threshold: the overflowed number is divided by itself plus 1",
            "ATen native/cpu/Activation.cpp, softplus_backward_kernel",
            values=_overflowing,
        ),
    )
}
