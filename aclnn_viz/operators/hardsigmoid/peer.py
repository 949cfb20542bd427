"""PyTorch's gradient of hardsigmoid, to compare ours with: hardsigmoid_backward of ATen. One difference is known: in float64
ATen has 1/6 rounded to float32.
"""

import numpy as np

from aclnn_viz.operators.peers import Difference

ATEN = "hardsigmoid_backward(gradOutput, self)"


def _rounded(inputs):
    return {"out": (np.abs(inputs["self"]) < 3, inputs["gradOutput"] * float(np.float32(1 / 6)))}


DIFFERENCES = {
    "torch": (
        Difference(
            "1/6 is rounded to float32",
            "ATen native/cpu/Activation.cpp",
            values=_rounded,
            dtypes=("float64",),
        ),
    )
}

DUMPED = {"hardsigmoid": "input: self, inplace"}
