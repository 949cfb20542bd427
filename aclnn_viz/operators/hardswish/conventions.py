"""Conventions of hardswish."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification import kinks as table
from aclnn_viz.verification.conventions.model import SILENT, Convention, both, gradients

INF, NAN = np.inf, np.nan
TBE = "TBE kernels of A2, A3 and 910 (CANN 8.1)"
CLOSED = "closed interval: self/3 + 0.5 for -3 <= self <= 3; its second version, aclnnHardswishBackwardV2, has it open"


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
    return table.kink("hardswish", "", at, float(found.left), float(found.right), float(found.documented),
                      float(ours([1], [at])[0]), (float(found.pytorch), found.source), ran, "left" if at < 0 else "right")


def ours(grad, x) -> np.ndarray:
    """gradOutput * slope(self) of the kernel, in float64."""
    return operator("hardswish").backward(gradOutput=np.asarray(grad, float), self=np.asarray(x, float))["out"]


def theirs(torch, grad, x) -> np.ndarray:
    return gradients(torch, torch.nn.functional.hardswish, grad, out=x)["out"]


shown = both(ours, theirs)


def row(topic, grad, x, returns, *texts, **pytorch) -> Convention:
    return shown(topic, f"gradOutput = {grad:g}, self = {x:g}", lambda of: of([grad], [x]), [returns], *texts,
                 **pytorch)


CONVENTIONS = (
    row("kink", 1, -3, -0.5, CLOSED, f"-0.5 in {TBE} and on Ascend 950; 0 in the kernels of the second version",
        "the document of this operator governs; there is no derivative at a kink", pytorch=[0.0]),
    row("kink", 1, 3, 1.5, CLOSED, f"1.5 in {TBE} and on Ascend 950; 1 in the kernels of the second version",
        "the document of this operator governs; there is no derivative at a kink", pytorch=[1.0]),
    row("not finite", 5, NAN, 5.0, "no case covers nan",
        f"{TBE}: 1 in float32 and bfloat16, nan in float16; Ascend 950: gradOutput",
        "a nan fails both comparisons, as on Ascend 950, and has the slope 1"),
    row("not finite", INF, -4, NAN, "out = gradOutput * 0", "gradOutput times a slope that is 0, on every product",
        "the product as printed; PyTorch selects 0 without a product", pytorch=[0.0]),
    row("not finite", NAN, -4, NAN, "out = gradOutput * 0", "gradOutput times a slope that is 0, on every product",
        "the product as printed; PyTorch selects 0 without a product", pytorch=[0.0]),
    row("not finite", 2, -INF, 0.0, SILENT, "0: the linear branch is infinite and not selected", "-inf is below -3"),
    row("not finite", 2, INF, 2.0, SILENT, "gradOutput: the linear branch is infinite and not selected", "inf is above 3"),
    shown("empty", "shape (0, 3)", lambda of: list(of(np.zeros((0, 3)), np.zeros((0, 3))).shape), [0, 3], SILENT,
          "phase 1 succeeds, and nothing runs", "an elementwise operator of nothing is nothing"),
)
