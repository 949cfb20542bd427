"""The symbolic verification: every theorem is proved, and every mutant of it is not."""

from collections.abc import Iterator

from aclnn_viz.verification.check import Check


def theorem_check(theorem) -> Check:
    """One row a theorem: its value is what the proof assumed, its cases the theorem and its mutants."""
    def run():
        proof = theorem.prove()
        missing = "; ".join(equation.latex for equation in proof.not_proved)
        yield "; ".join(proof.assumptions), None if proof.holds else f"not proved: {missing or theorem.text}"
        for mutant in theorem.mutants:
            yield "", f"a false claim was proved: {mutant.text}" if mutant.prove().holds else None
    return Check(theorem.operator, theorem.name, f"{len(theorem.mutants)} mutants", "", run)


def checks() -> Iterator[Check]:
    """All theorems, in the order in which they are told."""
    from derivations import theorems

    return map(theorem_check, theorems())
