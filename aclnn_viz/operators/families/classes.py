"""Check the targets of losses over classes: each is a class, or the number that marks a row to be ignored."""

from collections.abc import Callable

import numpy as np

from aclnn_viz.errors import problem


def targets_are_classes(*scores: str) -> Callable[[dict], None]:
    """The rule that every target lies among the classes of the tensor of scores, or equals ignoreIndex."""

    def rule(bound: dict) -> None:
        given = next(bound[name] for name in scores if name in bound)
        target, ignored, classes = bound["target"], bound["ignoreIndex"], given.shape[-1]
        beyond = target.view(f"u{target.itemsize}") >= classes  # unsigned, what is below 0 is large
        if np.count_nonzero(beyond) and (bad := np.flatnonzero(beyond & (target != ignored))).size:
            raise ValueError(
                problem(
                    f"every target must lie in [0, {classes}) or equal ignoreIndex {ignored}",
                    f"target[{bad[0]}] = {target.reshape(-1)[bad[0]]} ({bad.size} such)",
                    "mend the targets or set ignoreIndex",
                )
            )

    return rule
