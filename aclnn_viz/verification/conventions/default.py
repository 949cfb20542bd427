"""Measure what a kernel returns where an implementation must choose a value (kinks, special numbers, empty inputs), for
operators without a conventions.toml.

At a kink, the erratum of that topic, if any, quotes the document and the published kernel.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from aclnn_viz.cases import case, default
from aclnn_viz.cases.default import Draw
from aclnn_viz.devices import open_device
from aclnn_viz.dtypes import FLOAT64
from aclnn_viz.operators import Operator, registry
from aclnn_viz.operators.peers import in_torch
from aclnn_viz.verification.conventions.model import Convention
from aclnn_viz.words.messages import linked, message

STEP = 2.0**-20  # step of float64 differences: half of the digits
UNKNOWN = message("the kit's tables do not say")


def conventions(op: Operator) -> Iterator[Convention]:
    """Yield one row for each declared kink, each special number in each floating input, and empty tensors."""
    errata = registry.table("errata", op.name).get("erratum", ())
    printed = next((one for one in errata if one.get("topic") == "kink"), {})
    for name in op.takes:
        for number in (
            default.kinks_of(op, name, {n: a.default for n, a in op.attributes.items()})
            if name in op.tensors
            else ()
        ):
            there = partial(at_kink, op, name, number)
            text, side = there(op.backward)
            yield replace(
                _row("kink", f"{name} = {number:g}", lambda there=there: there(op.backward)[0]),
                returns=text if side else message("the slope of one side"),
                document=printed.get("document", UNKNOWN),
                published=printed.get("truth", UNKNOWN),
                **_peer(op, there),
            )
    inputs = case(op, **(op.shapes or ({},))[0]).inputs
    for name, value in inputs.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.size:
            for special in (np.nan, np.inf):
                yield _row(
                    "not finite",
                    message(
                        "one element of {name} is {special}, the others are usual",
                        name=name,
                        special=special,
                    ),
                    partial(spoiled, op, inputs, name, special),
                )
    shape = default.fitted(op, {"shape": (0, *default.default_shape(op)[1:])})["shape"]
    if 0 in shape:
        yield _row("empty", message("shape {shape}", shape=shape), partial(empty, op, shape))


def _peer(op: Operator, there) -> dict:
    """Return the fields of a row for PyTorch at a kink, empty if it lacks the operator."""
    if not in_torch(op):
        return {}

    def run(torch):
        with open_device("torch") as peer:
            return there(partial(peer.run, op))[0]

    return {"pytorch": None, "peer": run}


def _row(topic: str, where: str, kernel) -> Convention:
    return Convention(
        topic,
        where,
        kernel,
        None,
        UNKNOWN,
        UNKNOWN,
        message("measured: the page computes this value"),
        pytorch=UNKNOWN,
    )


def at_kink(op: Operator, name: str, number: float, backward: Callable) -> tuple[str, str]:
    """Return the gradient at a kink for upstream 1, and the name of the one-sided slope that it equals, or ""."""
    shape = default.default_shape(op)

    def forward(x):
        taken, *_ = default.draw_forward(op, Draw(FLOAT64, 0, {name: np.full(shape, x)}), shape)
        return op.forward(**taken)[op.gives[0]].flat[0]

    output = next(output for output, of in op.gradient_of.items() if of == name)
    given = case(
        op, "float64", shape=shape, **{name: number}, **dict.fromkeys(op.upstream, 1.0)
    ).inputs
    found = float(backward(**given)[output].flat[0])
    left, right = (
        (forward(number + side * STEP) - forward(number + 2 * side * STEP)) / (-side * STEP)
        for side in (-1, 1)
    )
    side = next(
        (
            side
            for side, slope in {"left": left, "right": right, "mean": (left + right) / 2}.items()
            if abs(found - slope) <= 1e-4 * max(1.0, abs(slope))
        ),
        "",
    )
    return message(
        "{found}, between {left} on the left and {right} on the right",
        found=f"{found:.4g}",
        left=f"{left:.4g}",
        right=f"{right:.4g}",
    ), side


def spoiled(op: Operator, inputs: dict, name: str, special: float) -> str:
    """Return the number of elements of each output that are not finite after one input element became special."""
    changed = inputs[name].copy()
    changed.flat[0] = special
    counts = [
        message(
            "{output}: {n} of {total} not finite",
            output=output,
            n=np.count_nonzero(~np.isfinite(value)),
            total=value.size,
        )
        for output, value in op.backward(**inputs | {name: changed}).items()
    ]
    return linked("{some}; {more}", counts)


def empty(op: Operator, shape: tuple[int, ...]) -> str:
    try:
        outputs = op.backward(**case(op, shape=shape).inputs)
    except ValueError as refused:
        return message("refused: {why}", why=refused)
    return "; ".join(
        f"{name} {list(value.shape)}" + (f", {np.unique(value).tolist()}" if value.size else "")
        for name, value in outputs.items()
    )
