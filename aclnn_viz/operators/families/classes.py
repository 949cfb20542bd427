"""Check that each target of a loss over classes is a class or equals ignoreIndex."""

from collections.abc import Callable

import numpy as np

from aclnn_viz.errors import invalid


def targets_are_classes(*scores: str) -> Callable[[dict], None]:
    """Return the rule that every target is a class of the score tensor or equals ignoreIndex."""

    def rule(bound: dict) -> None:
        given = next(bound[name] for name in scores if name in bound)
        target, ignored, classes = bound["target"], bound["ignoreIndex"], given.shape[-1]
        # seen as unsigned, a negative target is large
        beyond = target.view(f"u{target.itemsize}") >= classes
        if np.count_nonzero(beyond) and (bad := np.flatnonzero(beyond & (target != ignored))).size:
            raise invalid(
                f"every target must lie in [0, {classes}) or equal ignoreIndex {ignored}",
                f"target[{bad[0]}] = {target.reshape(-1)[bad[0]]} ({bad.size} such)",
                "mend the targets or set ignoreIndex",
            )

    return rule
