"""The symbolic part of `verify`: every theorem must be proved, no false variant, and every backward pass must be the derivative
of its forward pass.
"""

from collections.abc import Iterable, Iterator

from aclnn_viz.operators import Operator, operators, registry
from aclnn_viz.verification.check import Check
from aclnn_viz.words.messages import kept, message


def theorem_check(theorem) -> Check:
    """Return the check of one theorem: its value is the assumptions of the proof, its cases the theorem and its mutants."""

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
        theorem.operator, theorem.name, message("{n} mutants", n=len(theorem.mutants)), run
    )


def claims() -> list:
    """Return all theorems in the order of the chapters, including those of operators from outside."""
    from derivations import chapters, theorems

    here = chapters()
    found = filter(None, (registry.module("derivation", op.name) for op in operators()))
    return list(theorems(*(module for module in found if module not in here)))


def page_check(op: Operator, subjects: list) -> Check:
    """Return the check of some combinations of options: its value is the proofs' assumptions, its cases the outputs of each."""

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
        run,
    )


def page_checks(op: Operator) -> Iterator[Check]:
    """Yield checks of all combinations, a few each, to share them among cores."""
    from aclnn_viz.proving.subjects import of_operator

    subjects = of_operator(op)
    for at in range(0, len(subjects), 3):
        yield page_check(op, subjects[at : at + 3])


def checks(ops: Iterable[Operator] | None = None) -> tuple[Check, ...]:
    """Return the checks of theorems and pages, for all operators or for some."""
    ops = tuple(operators() if ops is None else ops)
    wanted = {op.name for op in ops}
    return (
        *(theorem_check(claim) for claim in claims() if claim.operator in wanted),
        *(check for op in ops for check in page_checks(op)),
    )
