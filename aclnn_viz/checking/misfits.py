"""Outputs of another name, shape or format than documented: told apart from wrong numbers, which they would hide."""

from collections.abc import Sequence

import numpy as np

from aclnn_viz.checking.judging import judge
from aclnn_viz.checking.observing import Seen
from aclnn_viz.dtypes import round_to
from aclnn_viz.words.speech import message


def misfits(seen: Sequence[Seen]) -> list[str]:
    """What does not fit, in words: each thing once, with one case's numbers, and in how many cases."""
    found: dict[tuple, list[str]] = {}
    for one in seen:
        for miss in one.misses:
            if miss.wrong is None:
                kind = "shape" if " has shape " in miss.problem else miss.problem
                found.setdefault((miss.output, kind), []).append(miss.problem)
    return [message("{problem} in {n} case", problem=told[0], n=1) if len(told) == 1 else
            message("{problem} in {n} cases", problem=told[0], n=len(told)) for told in found.values()]


def fitted(one: Seen) -> Seen:
    """The same numbers in the documented shapes and formats, where there are as many, without outputs that are none."""
    if all(miss.wrong is not None for miss in one.misses):
        return one
    outputs = {}
    for name, value in one.outputs.items():
        expected = one.prepared.expected.get(name)
        if expected is None:
            continue
        if value.size == expected.truth.size:
            value = value.reshape(expected.truth.shape)
        if value.dtype != expected.dtype:
            with np.errstate(all="ignore"):
                value = np.asarray(round_to(value.astype(np.float64), expected.dtype))
        outputs[name] = value
    return Seen(one.prepared, outputs, judge(one.prepared, outputs))
