"""Kernels against symbols: the proved formula of every output at 50 digits, against the NumPy kernel in float32.

The forward definition that a formula was derived from is judged by Taylor rates: the derived gradient against the
definition itself, evaluated at the same points.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from aclnn_viz import rooms
from aclnn_viz.operators import Operator, operators
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.definitions import derivation
from aclnn_viz.verification.numeric import rate_check
from aclnn_viz.verification.rounding import excess
from aclnn_viz.verification.subjects import Subject
from aclnn_viz.words.speech import message

DIGITS = 50


def values_of(formula, inputs: dict, sizes: dict) -> dict:
    """What `derivations.evaluate` needs: sizes and attributes by name, tensors in the shapes of the formula."""
    shaped = {name: np.reshape(inputs[name], [int(n.subs(sizes)) for n in lengths])
              for name, lengths in formula.leaves.items()}
    numbers = {name: value for name, value in inputs.items() if isinstance(value, int | float)}
    return {str(name): value for name, value in sizes.items()} | numbers | shaped


def compare(op: Operator, mode: dict, inputs: dict) -> tuple[float, str | None]:
    """Judge every output of the kernel by its formula: the worst error in u S, and the first failure."""
    from derivations import evaluate

    file = Subject(op)
    actual, size = op.backward(**inputs), file.magnitudes(**inputs)
    sizes, symbolic = file.symbols(inputs)
    results = []
    for name, formula in derivation(op.name, mode).formulas().items():
        lengths = {index: int(n.subs(sizes)) if hasattr(n, "subs") else n for index, n in formula.indices.items()}
        exact = evaluate(formula.expression, values_of(formula, symbolic, sizes), lengths, digits=DIGITS)
        results.append(excess(name, actual[name], exact.astype(np.float64).reshape(actual[name].shape), size[name]))
    return max(worst for worst, _ in results), next((failure for _, failure in results if failure), None)


def formula_check(op: Operator, modes: tuple) -> Check:
    def run():
        for seed, mode in enumerate(modes):
            value, failure = compare(op, mode, Subject(op).small(mode, seed))
            yield value, failure and message("{failure}, for {mode}", failure=failure, mode=mode)
    return Check(op.name, message("kernel against symbols"), message("{n} digits", n=DIGITS), "u S", run)


def modes_of(op: Operator) -> tuple[dict, ...]:
    """The modes that a formula covers: only a file of its own knows what stands for a tensor that is left out."""
    every = Subject(op).MODES
    return every if rooms.own("verification", op.name, "symbols") else tuple(
        mode for mode in every if None not in mode.values())


def checks(ops: Iterable[Operator] | None = None) -> Iterator[Check]:
    """The modes of each operator, or of some, a few a check, so that several cores share them."""
    for op in operators() if ops is None else ops:
        modes = modes_of(op)
        for part in (modes[at:at + 6] for at in range(0, len(modes), 6)):
            yield formula_check(op, part)
            if Subject(op).symbolic_forward:
                yield rate_check(op, message("symbols against forward"), Subject(op).symbolic_forward, part, directions=1)
