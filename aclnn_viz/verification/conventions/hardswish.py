"""Conventions of hardswish."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification import kinks as table


def kinks() -> list[table.Row]:
    """The two corners."""
    from derivations.kinks import hardswish_kinks

    return [_kink(found) for found in hardswish_kinks()]


def _kink(found) -> table.Row:
    at = float(found.at)
    kernel = operator("hardswish").backward(gradOutput=np.ones(1), self=np.array([at]))["out"]
    ran = table.peer(lambda torch, x: torch.nn.functional.hardswish(x).sum(), [at])
    return table.kink("hardswish", "", at, float(found.left), float(found.right), float(found.documented),
                      float(kernel[0]), (float(found.pytorch), found.source), ran, "left" if at < 0 else "right")
