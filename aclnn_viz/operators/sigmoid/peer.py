"""Sigmoid in PyTorch: one function of ATen."""

from aclnn_viz.operators.peers import Difference, narrow_steps


def in_torch(torch, gradOutput, output):
    return {"gradInput": torch.ops.aten.sigmoid_backward(gradOutput, output)}


DIFFERENCES = {
    "torch": (
        Difference(
            "every step is rounded to 16 bits",
            "ATen native/cpu/BinaryOpsKernel.cpp",
            narrow_steps("sigmoid in 16 bits"),
            dtypes=("float16",),
        ),
    )
}

DUMPED = {"sigmoid": "input: self"}
