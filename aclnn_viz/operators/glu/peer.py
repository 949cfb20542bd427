"""PyTorch's gradient of GLU, to compare ours with: glu_backward of ATen."""

from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.glu import page
from aclnn_viz.operators.peers import narrow

# 1 - sigmoid(b) loses digits by cancellation where b is large
ARRANGEMENTS = (changed(page, (("sigmoid(xp, -b)", "(1.0 - sigmoid(xp, b))"),)).backward,)
ATEN = "glu_backward(gradOut, self, dim)"

DIFFERENCES = {
    "torch": (
        narrow(
            "every step is rounded to 16 bits", "ATen native/cpu/Activation.cpp", "glu in 16 bits"
        ),
    )
}

DUMPED = {"glu": "input: self, dim"}
