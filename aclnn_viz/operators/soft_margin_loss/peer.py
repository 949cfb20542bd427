"""PyTorch's gradient of the soft margin loss, to compare ours with: autograd differentiates PyTorch's own loss."""

import numpy as np

from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.operators.families.losses_peer import ROUNDED, of_loss
from aclnn_viz.operators.peers import Difference


def in_torch(torch, gradOutput, self, target, reduction):
    return of_loss(torch, torch.nn.functional.soft_margin_loss, gradOutput, self, reduction, target)


def _overflowing(inputs):
    grad, x, target = (inputs[name].astype(np.float64) for name in ("gradOutput", "self", "target"))
    fmt = float_format(inputs["self"])
    with np.errstate(all="ignore"):
        z = round_to(np.exp(-target * x), fmt).astype(np.float64)
        product = round_to(target * z, fmt).astype(np.float64)
        return {"out": (np.isinf(product), -product / (z + 1) * grad)}


DIFFERENCES = {
    "torch": (
        ROUNDED,
        Difference(
            "inf or nan where target * exp(-target * x) overflows: the overflowed number is divided by exp(...) + 1",
            "ATen native/Loss.cpp, soft_margin_loss_backward",
            values=_overflowing,
        ),
    )
}
