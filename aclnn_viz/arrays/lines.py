"""Turn an operator's formulas into straight-line code for one element, or one summed row, from which numba loops and Ascend C
kernels are generated.

A page that does more (moves elements, or uses a shape) raises NotStraight.
"""

from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.javascript import ELEMENTWISE, Traced, TracedArrays
from aclnn_viz.errors import NotSupported, problem


class NotStraight(NotSupported):
    """A page has more than arithmetic of single elements and sums along a row."""

    @classmethod
    def of(cls, what) -> "NotStraight":
        return cls(
            problem(
                "a file written from a page alone uses arithmetic on single elements and sums along a row",
                what,
                "write that file of the operator by hand",
            )
        )


class Lines(NamedTuple):
    """A page as steps (value, operation, operands), with inputs and outputs by name, and the row's length or None."""

    steps: list
    inputs: dict
    outputs: dict
    length: int | None

    @property
    def last(self) -> dict[str, int]:
        """Return {name of a value: number of the last step that uses the value}; outputs are used after all steps."""
        found = {
            one.name: k
            for k, (_, _, taken) in enumerate(self.steps)
            for one in taken
            if isinstance(one, Traced)
        }
        return found | {one.name: len(self.steps) for one in self.outputs.values()}


class _Straight(TracedArrays):
    """Traced arrays of one row, or of two elements that stand for all; one element is a number for the row."""

    def _made(self, name, held, *taken):
        if name not in ELEMENTWISE | {"sum"}:
            raise NotStraight.of(f"a page with {name}")
        made = Traced(self, f"v{len(self._steps)}", held)
        self._steps.append(
            (
                made,
                name,
                [one if isinstance(one, Traced) else float(np.unique(one).item()) for one in taken],
            )
        )
        return made

    def astype(self, x, dtype):
        return self.where(x, 1.0, 0.0) if x.dtype == bool else x

    def sum(self, x, axis=None, keepdims=False):
        return self._made(
            "sum" if keepdims else "a sum whose axis goes away",
            np.sum(x.held, axis=axis, keepdims=keepdims),
            x,
        )

    def mean(self, x, axis=None, keepdims=False):
        return self.sum(x, axis, keepdims) / float(self.length)


def straight(op, arranged) -> Lines:
    """Return the backward page of an operator as straight lines for arranged inputs; raise NotStraight if that is impossible."""
    axes, results = arranged.axes, arranged.results
    dots = axes[op.main].count(".") if op.main in results else 9
    at = axes[op.main].find(".")
    length = results[op.main].shape[at] if dots == 1 else None
    if (
        dots > 1
        or arranged.prelude
        or any(axes[name] != axes[op.main] for name in results)
        or any(n != 1 for n in results[op.main].shape[at + 1 :] if dots)
    ):
        raise NotStraight.of(
            "one with an output that is left out, a sum over rows, or rows that lie apart or have several axes"
        )
    xp, known, count = _Straight({}), dict(arranged.arrays), max(length or 2, 2)
    xp.length = length
    for name, array in known.items():
        if array is not None:
            wide = (
                array.shape[at] != 1 or length == 1
                if dots
                else array.size != 1 or array.shape == results[op.main].shape
            )
            known[name] = Traced(
                xp,
                name,
                np.ones(
                    [count if wide and k == max(at, 0) else 1 for k in range(array.ndim)],
                    (bool if array.dtype == bool else np.float64),
                ),
            )
    try:
        outputs = op.page.backward(xp, **known, **arranged.attributes)
    except (TypeError, ValueError, AttributeError, IndexError) as error:
        raise NotStraight.of(f"a page in which {error}") from error
    return Lines(
        xp._steps,
        {name: one for name, one in known.items() if one is not None},
        {name: outputs[name] for name in results},
        length,
    )
