"""PyTorch's gradient of sigmoid, to compare ours with: sigmoid_backward of ATen."""

from aclnn_viz.operators.peers import narrow

ATEN = "sigmoid_backward(gradOutput, output)"

DIFFERENCES = {
    "torch": (
        narrow(
            "every step is rounded to 16 bits",
            "ATen native/cpu/BinaryOpsKernel.cpp",
            "sigmoid in 16 bits",
            dtypes=("float16",),
        ),
    )
}

DUMPED = {"sigmoid": "input: self"}
