"""The conventions of an operator that wrote none down: what its kernel makes of empty and special inputs, measured."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from aclnn_viz.cases import case, default
from aclnn_viz.operators import Operator
from aclnn_viz.verification.conventions.model import Convention
from aclnn_viz.words.messages import linked, message

UNKNOWN = message("not written down")


def conventions(op: Operator) -> Iterator[Convention]:
    """One row for each special number in each floating input, and for tensors without elements."""
    inputs = case(op, **(op.shapes or ({},))[0]).inputs
    for name, value in inputs.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
            for special in (np.nan, np.inf):
                yield _row("not finite", message("one element of {name} is {special}, the others are usual", name=name,
                special=special),
                           partial(spoiled, op, inputs, name, special))
    for shape in default.varied_shapes(op):
        if 0 in shape:
            yield _row("empty", message("shape {shape}", shape=shape), partial(empty, op, shape))


def _row(topic: str, where: str, kernel) -> Convention:
    return Convention(topic, where, kernel, None, UNKNOWN, UNKNOWN, message("what the page computes, as measured"),
    pytorch=UNKNOWN)


def spoiled(op: Operator, inputs: dict, name: str, special: float) -> str:
    """How many elements of each output are no numbers when the first element of an input is not one."""
    changed = inputs[name].copy()
    changed.flat[0] = special
    counts = [message("{output}: {n} of {total} not finite", output=output, n=np.count_nonzero(~np.isfinite(value)),
    total=value.size)
            for output, value in op.backward(**inputs | {name: changed}).items()]
    return linked("{some}; {more}", counts)


def empty(op: Operator, shape: tuple[int, ...]) -> str:
    try:
        outputs = op.backward(**case(op, shape=shape).inputs)
    except ValueError as refused:
        return message("refused: {why}", why=refused)
    return "; ".join(f"{name} {list(value.shape)}" + (f", {np.unique(value).tolist()}" if value.size else "")
                     for name, value in outputs.items())
