"""PyTorch's gradient of log-sigmoid, to compare ours with: log_sigmoid_backward of ATen."""

import numpy as np

from aclnn_viz.operators.peers import NARROW, Difference

ATEN = "log_sigmoid_backward(gradOutput, self, buffer)"


def _by_buffer(inputs):
    gradient, x, b = (inputs[name].astype(np.float32) for name in ("gradOutput", "self", "buffer"))
    return {"gradInput": (True, gradient * ((x < 0) - np.where(x < 0, 1, -1) * (b / (1 + b))))}


DIFFERENCES = {
    "torch": (
        Difference(
            "the slope is made of the saved buffer, of 16 bits",
            "ATen native/cpu/Activation.cpp",
            values=_by_buffer,
            dtypes=NARROW,
        ),
    )
}
