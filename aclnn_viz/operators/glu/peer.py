"""PyTorch's gradient of GLU, to compare ours with: glu_backward of ATen."""

import numpy as np

from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.glu import page
from aclnn_viz.operators.peers import Difference, narrow

# 1 - sigmoid(b) cancels where b is large
ARRANGEMENTS = (changed(page, (("sigmoid(xp, -b)", "(1.0 - sigmoid(xp, b))"),)).backward,)
ATEN = "glu_backward(gradOut, self, dim)"


def _saturated(inputs):
    a, b = np.split(inputs["self"].astype(np.float64), 2, inputs["dim"])
    mask = np.concatenate(
        [np.zeros(a.shape, bool), b > 16], inputs["dim"]
    )  # there 1 + exp(-b) is 1
    return {"out": (mask, 0 * mask)}


DIFFERENCES = {
    "torch": (
        narrow(
            "every step is rounded to 16 bits", "ATen native/cpu/Activation.cpp", "glu in 16 bits"
        ),
        Difference(
            "1 - sigmoid(b) is 0 where sigmoid(b) rounds to 1",
            "ATen native/cpu/Activation.cpp, glu_backward_cpu_kernel",
            values=_saturated,
            dtypes=("float32", "bfloat16"),
        ),
    )
}

DUMPED = {"glu": "input: self, dim"}
