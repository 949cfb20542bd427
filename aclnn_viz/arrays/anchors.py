"""How far an exact result moves when its inputs and coordinates are rounded to the formats of a plan.

A device rounds its inputs to the storage format, and some coordinates on the way, in one known manner: these rounded
numbers, the *anchors*, are the same on every device to the bit. A bounded run therefore starts anew from them, with an
error of 0, and bounds only the steps behind. What rounding the anchors has changed is no error that may or may not
occur, it is a difference that is always there. So it is computed, not estimated: as the difference of two runs in
float64, `FromAnchors` and `ExactArrays`, with the anchors and without. An envelope is the sum of both parts.
"""

from dataclasses import replace

import numpy as np

from aclnn_viz.arrays.bounded import BoundedArrays
from aclnn_viz.arrays.planned import is_float
from aclnn_viz.dtypes import round_to


class ExactArrays(BoundedArrays):
    """The arithmetic of a plan in float64 without any rounding to storage: bounded, and almost exact."""

    def __init__(self, plan, storage):
        super().__init__(replace(plan, compute="float64", accumulate="float64", coordinates=None, atomics=None,
                                 saturate=False), storage)

    def given(self, array):
        return self._wrap(array.astype(np.float64)) if is_float(array) else array

    def to_storage(self, x):
        return x

    anchored = to_storage


class FromAnchors(ExactArrays):
    """As `ExactArrays`, but from the inputs and the anchors of a bounded run under the same plan."""

    def __init__(self, plan, storage, run: BoundedArrays):
        super().__init__(plan, storage)
        self._run, self._next = run, iter(run.anchors)

    def given(self, array):
        if not is_float(array):
            return array
        return self._wrap(round_to(round_to(array, self._run.plan.storage or array.dtype),
                                   self._run.compute).astype(np.float64))

    def anchored(self, x):
        anchor = next(self._next)
        return x if anchor is None else self._wrap(anchor)
