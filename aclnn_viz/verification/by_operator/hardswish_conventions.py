"""Conventions of hardswish."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification import kinks as table
from aclnn_viz.verification.conventions.model import gradients


def kinks() -> list[table.Row]:
    """The two corners."""
    from derivations.hardswish import kinks as hardswish_kinks

    return [_kink(found) for found in hardswish_kinks()]


def sources() -> tuple[str, ...]:
    """What is cited for PyTorch's values at kinks."""
    from derivations.hardswish import PYTORCH

    return (PYTORCH,)


def _kink(found) -> table.Row:
    at = float(found.at)
    ran = table.peer(lambda torch, x: torch.nn.functional.hardswish(x).sum(), [at])
    return table.kink(
        "hardswish",
        "",
        at,
        float(found.left),
        float(found.right),
        float(found.documented),
        float(ours([1], [at])[0]),
        (float(found.pytorch), found.source),
        ran,
        "left" if at < 0 else "right",
    )


def ours(grad, x) -> np.ndarray:
    """gradOutput * slope(self) of the kernel, in float64."""
    return operator("hardswish").backward(
        gradOutput=np.asarray(grad, float), self=np.asarray(x, float)
    )["out"]


def theirs(torch, grad, x) -> np.ndarray:
    return gradients(torch, torch.nn.functional.hardswish, grad, out=x)["out"]
