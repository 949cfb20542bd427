"""Hardtanh in PyTorch: one function of ATen, which stops the gradient at the ends."""

import numpy as np

from aclnn_viz.operators.peers import Difference


def in_torch(torch, gradOutput, self, min, max):
    return {"out": torch.ops.aten.hardtanh_backward(gradOutput, self, min, max)}


def _at_ends(inputs):
    return {"out": (np.isin(inputs["self"], [inputs["min"], inputs["max"]]), 0.0)}


DIFFERENCES = {
    "torch": (
        Difference(
            "the gradient stops at min and max", "ATen native/cpu/Activation.cpp", values=_at_ends
        ),
    )
}

DUMPED = {"hardtanh": "input: self, min_val: min, max_val: max, inplace"}
