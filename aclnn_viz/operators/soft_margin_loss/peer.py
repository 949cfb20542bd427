"""The loss in PyTorch, and its gradient by autograd."""

import numpy as np

from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.operators.families.losses_peer import ROUNDED, of_loss
from aclnn_viz.operators.peers import Difference


def in_torch(torch, gradOutput, self, target, reduction):
    return of_loss(torch, torch.nn.functional.soft_margin_loss, gradOutput, self, reduction, target)


def _overflowing(inputs):
    x, target = (inputs[name].astype(np.float64) for name in ("self", "target"))
    with np.errstate(over="ignore"):
        z = round_to(np.exp(-target * x), float_format(inputs["self"]))
    return {"out": (np.isinf(z.astype(np.float64)), np.nan)}


DIFFERENCES = {
    "torch": (
        ROUNDED,
        Difference(
            "nan where exp(-target * x) overflows: it is divided by itself plus 1",
            "ATen native/Loss.cpp, soft_margin_loss_backward",
            values=_overflowing,
        ),
    )
}
