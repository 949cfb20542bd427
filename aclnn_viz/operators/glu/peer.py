"""GLU in PyTorch: one function of ATen."""

from aclnn_viz.operators.peers import narrow

ATEN = "glu_backward(gradOut, self, dim)"

DIFFERENCES = {
    "torch": (
        narrow(
            "every step is rounded to 16 bits", "ATen native/cpu/Activation.cpp", "glu in 16 bits"
        ),
    )
}

DUMPED = {"glu": "input: self, dim"}
