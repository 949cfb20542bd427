"""The symbolic verification: every page and theorem is proved, every mutant is not, every kernel agrees with its formula.

The proved formula of every output is evaluated at 50 digits, against the NumPy kernel in float32. The forward
definition that a formula was derived from is judged by Taylor rates: the derived gradient against the definition
itself, evaluated at the same points.
"""

from collections.abc import Iterable, Iterator
from inspect import signature

import numpy as np

from aclnn_viz.cases import default
from aclnn_viz.cases.default import Draw
from aclnn_viz.dtypes import FLOAT32
from aclnn_viz.operators import Operator, operators, registry
from aclnn_viz.operators.parameters import bind
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.rates import rate_check
from aclnn_viz.verification.rounding import excess, magnitudes, modes, unsaved, worst
from aclnn_viz.words.messages import kept, message

DIGITS = 50


def theorem_check(theorem) -> Check:
    """One row a theorem: its value is what the proof assumed, its cases the theorem and its mutants."""

    def run():
        proof = theorem.prove()
        missing = "; ".join(equation.latex for equation in proof.not_proved)
        yield (
            "; ".join(proof.assumptions),
            None
            if proof.holds
            else message("not proved: {claim}", claim=missing or kept(theorem.text)),
        )
        for mutant in theorem.mutants:
            yield (
                "",
                message("a false claim was proved: {claim}", claim=kept(mutant.text))
                if mutant.prove().holds
                else None,
            )

    return Check(
        theorem.operator, theorem.name, message("{n} mutants", n=len(theorem.mutants)), "", run
    )


def claims() -> list:
    """All theorems, those of operators from elsewhere included, in the order of the chapters."""
    from derivations import chapters, theorems

    here = chapters()
    found = filter(None, (registry.module("derivation", op.name) for op in operators()))
    return list(theorems(*(module for module in found if module not in here)))


# Formulas


def derivation(op: Operator, mode: dict):
    """Return the derivation of an operator for a mode, of which it takes the attributes that change its formulas."""
    derive = registry.module("derivation", op.name).derive
    return derive(**{name: mode[name] for name in signature(derive).parameters if name in mode})


def sizes_and_arrays(op: Operator, formulas: dict, inputs: dict) -> tuple[dict, dict]:
    """The sizes in the derived formulas, and the inputs in their shapes, which are those of the page."""
    arranged, found = op.arrange_backward(**op.bind(inputs)).arrays, {}
    shaped = {
        name: matched(
            inputs[name] if inputs[name].ndim == len(lengths) else arranged[name], lengths, found
        )
        for formula in formulas.values()
        for name, lengths in formula.leaves.items()
    }
    return found, inputs | shaped


def matched(array: np.ndarray, lengths, found: dict) -> np.ndarray:
    """The array with as many axes as there are lengths, and in `found` what each symbol among them stands for."""
    if array.ndim != len(lengths):
        spare = array.ndim - len(lengths)
        at = (
            tuple(axis for axis, n in enumerate(array.shape) if n == 1)[-spare:]
            if spare > 0
            else ()
        )
        array = np.squeeze(array, at)
    for length, n in zip(lengths, array.shape, strict=True):
        if getattr(length, "is_Symbol", False):
            found.setdefault(length, n)
    return array


def numbers(inputs: dict, sizes: dict) -> dict:
    """The attributes among the inputs and the sizes, by the names that stand in formulas."""
    return {
        str(name): value
        for name, value in (inputs | sizes).items()
        if isinstance(value, int | float)
    }


def symbolic_forward(op: Operator):
    """The definition that the gradients were derived from; None where it needs more than the forward operator takes."""
    from derivations import evaluate

    first = derivation(op, modes(op)[0]).tape
    inputs = (
        ()
        if first is None
        else (node.name for node in first.nodes.values() if node.definition is None)
    )
    if first is None or len(op.upstream) > 1 or not set(inputs) <= set(op.takes):
        return None
    (output,) = op.upstream.values()

    def definition(**inputs):
        arranged = op.arrange_forward(**bind(op.name, op.forward_parameters, inputs))
        tape = derivation(op, inputs).tape
        node = tape.nodes[next(iter(tape.adjoints))]  # from which the derivation went back
        leaves, sizes = {}, {}
        for leaf in tape.nodes.values():
            if leaf.definition is None and leaf.name in arranged.arrays:
                leaves[leaf.name] = matched(
                    arranged.arrays[leaf.name], leaf.indices.values(), sizes
                )
        lengths = {index: int(length.subs(sizes)) for index, length in node.indices.items()}
        found = evaluate(tape.inline(node.entry), numbers(inputs, sizes) | leaves, lengths)
        return {output: found.reshape(arranged.results[output].documented_shape)}

    return definition


def compare(op: Operator, mode: dict, inputs: dict) -> tuple[float, str | None]:
    """Judge every output of the kernel by its formula: the worst error in u S, and the first failure."""
    from derivations import evaluate

    actual, size, formulas = (
        op.backward(**inputs),
        magnitudes(op, inputs),
        derivation(op, mode).formulas(),
    )
    sizes, arrays = sizes_and_arrays(op, formulas, inputs)
    values = numbers(arrays, sizes)
    results = []
    for name, formula in formulas.items():
        shaped = {
            leaf: np.reshape(arrays[leaf], [int(n.subs(sizes)) for n in lengths])
            for leaf, lengths in formula.leaves.items()
        }
        lengths = {
            index: int(n.subs(sizes)) if hasattr(n, "subs") else n
            for index, n in formula.indices.items()
        }
        exact = evaluate(formula.expression, values | shaped, lengths, digits=DIGITS)
        results.append(
            excess(
                name, actual[name], exact.astype(np.float64).reshape(actual[name].shape), size[name]
            )
        )
    return worst(results)


def formula_check(op: Operator, tried: tuple) -> Check:
    def run():
        for seed, mode in enumerate(tried):
            # A small case in which every optional tensor is given: what is absent is in no formula.
            value, failure = compare(
                op,
                mode,
                default.draw(op, Draw(FLOAT32, seed, dict(mode)), default.default_shape(op)),
            )
            yield value, failure and message("{failure}, for {mode}", failure=failure, mode=mode)

    return Check(
        op.name,
        message("kernel against symbols"),
        message("{n} digits", n=DIGITS),
        message("times unit roundoff times scale"),
        run,
    )


def formula_modes(op: Operator) -> tuple[dict, ...]:
    """The modes that a formula covers: none stands for a tensor that is left out."""
    return (*(mode for mode in modes(op) if None not in mode.values()), unsaved(op))


def formula_checks(op: Operator) -> Iterator[Check]:
    """The modes of an operator, a few a check, so that several cores share them."""
    if registry.file("derivation", op.name) is None:
        return
    tried, definition = formula_modes(op), symbolic_forward(op)
    for part in (tried[at : at + 6] for at in range(0, len(tried), 6)):
        yield formula_check(op, part)
        if definition:
            yield rate_check(op, message("symbols against forward"), definition, part, directions=1)


# Pages


def page_check(op: Operator, subjects: list) -> Check:
    """One row for some combinations of options: its value is what the proofs assume, its cases the outputs under each."""

    def run():
        from aclnn_viz.proving.proofs import proved

        for theorem in proved(op.name, subjects).theorems:
            yield (
                "; ".join(theorem.assumptions),
                None
                if theorem.holds
                else message(
                    "not proved: {claim}",
                    claim=kept(f"{theorem.output}, {theorem.options}: {theorem.reason}"),
                ),
            )

    return Check(
        op.name,
        message("page against derivative"),
        message("{n} combinations of options", n=len(subjects)),
        "",
        run,
    )


def page_checks(op: Operator) -> Iterator[Check]:
    """All combinations, a few a check, so that several cores share them."""
    from aclnn_viz.proving.subjects import of_operator

    subjects = of_operator(op)
    for at in range(0, len(subjects), 3):
        yield page_check(op, subjects[at : at + 3])


def checks(ops: Iterable[Operator] | None = None) -> tuple[Check, ...]:
    """The theorems, the kernels against the proved formulas, and the pages, of all operators or of some."""
    ops = tuple(operators() if ops is None else ops)
    wanted = {op.name for op in ops}
    return (
        *(theorem_check(claim) for claim in claims() if claim.operator in wanted),
        *(check for op in ops for check in formula_checks(op)),
        *(check for op in ops for check in page_checks(op)),
    )
