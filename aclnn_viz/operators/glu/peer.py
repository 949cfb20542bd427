"""GLU in PyTorch: one function of ATen."""

from aclnn_viz.operators.peers import NARROW, Difference, narrow_steps


def in_torch(torch, gradOut, self, dim):
    return {"out": torch.ops.aten.glu_backward(gradOut, self, dim)}


DIFFERENCES = {
    "torch": (
        Difference(
            "every step is rounded to 16 bits",
            "ATen native/cpu/Activation.cpp",
            narrow_steps("glu in 16 bits"),
            dtypes=NARROW,
        ),
    )
}

DUMPED = {"glu": "input: self, dim"}
