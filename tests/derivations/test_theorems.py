"""Every theorem is proved and true in numbers; every mutant is refused and false in numbers.

A sample proves and refuses a few of them, while `aclnn-viz verify` takes all, and tests the numbers of some
mutants.
"""

import itertools

import pytest
from machine import SOAK
from numeric import SIZES, difference
from sympy import S

from derivations import chapters, proves_equal, theorems

ALL = list(theorems())
MUTANTS = [(theorem, mutant) for theorem in ALL for mutant in theorem.mutants]
SOME, SOME_MUTANTS = (ALL, MUTANTS) if SOAK else (ALL[::4], MUTANTS[::4])
CLOSE = 1e-20  # 30 digits, a few hundred operations on numbers near 1


def name(theorem):
    return f"{theorem.operator}-{theorem.name}"


@pytest.mark.parametrize("theorem", SOME, ids=name)
@pytest.mark.sampled(3)
def test_theorem_is_proved(theorem):
    proof = theorem.prove()
    assert proof.holds and proof.reason == "" and proof.not_proved == ()


@pytest.mark.parametrize("mutant", [m for _, m in SOME_MUTANTS], ids=name)
@pytest.mark.sampled(3)
def test_mutant_is_refused(mutant):
    proof = mutant.prove()
    assert not proof.holds and proof.not_proved and proof.assumptions == ()
    # the equation was understood, not given up
    assert proof.reason.startswith("no rule makes the difference 0: ")


@pytest.mark.parametrize("theorem", ALL, ids=name)
@pytest.mark.sampled(5)
def test_theorem_is_true_at_explicit_sizes(theorem):
    for seed, sizes in enumerate(SIZES if SOAK else SIZES[:2]):
        assert all(difference(e, seed, sizes=sizes) < CLOSE for e in theorem.equations())


def test_mutants_are_false_in_numbers():
    for _, mutant in MUTANTS if SOAK else MUTANTS[1::18]:
        # deltas make many of the points agree
        points = itertools.product(range(30), mutant.equations())
        assert any(difference(e, seed, sizes=SIZES[seed % 3]) > 1e-6 for seed, e in points), name(
            mutant
        )


@pytest.mark.parametrize("theorem", ALL if SOAK else ALL[1::4], ids=name)
@pytest.mark.sampled(2)
def test_proof_fails_when_a_side_is_changed(theorem):
    for e in theorem.equations():
        assert not proves_equal(e.left, e.right + 1, in_range=e.in_range)
        if not proves_equal(e.right, 0, in_range=e.in_range):
            assert not proves_equal(e.left, 2 * e.right, in_range=e.in_range)
            assert not proves_equal(e.left, -e.right, in_range=e.in_range)


def test_statements_are_latex():
    for theorem in ALL[:: 1 if SOAK else 12]:
        statement = theorem.statement
        assert statement, name(theorem)
        assert not any(bad in statement for bad in ("Sum(", "_b0", "Dummy", "KroneckerDelta")), (
            name(theorem)
        )


def test_there_are_theorems_about_each_operator():
    text = [t.operator for t in ALL]
    assert list(dict.fromkeys(text)) == [chapter.book.operator for chapter in chapters()]
    assert min(len(t.mutants) for t in ALL) >= 2


def test_names_and_texts_are_unique():
    assert len({name(t) for t in ALL}) == len({t.text for t in ALL}) == len(ALL)
    assert all(len({m.name for m in t.mutants}) == len(t.mutants) for t in ALL)


@pytest.mark.soak
def test_no_two_theorems_say_the_same():
    statements = [str([(e.left, e.right, e.in_range, e.where) for e in t.equations()]) for t in ALL]
    assert len(set(statements)) == len(statements)


def test_assumptions_are_stated():
    proof = next(t for t in ALL if t.name == "dx_is_the_derivative").prove()
    assert {"n >= 1, integer", "epsilon > 0", "0 <= p <= m - 1"} <= set(proof.assumptions)
    invariance = next(t for t in ALL if t.name == "scale_invariance_without_epsilon").prove()
    assert any(r"\neq 0" in text for text in invariance.assumptions)


def test_an_empty_claim_is_not_proved():
    theorem = ALL[0]
    proof = type(theorem)("nothing", "hardswish", "says nothing", list).prove()
    assert not proof.holds and proof.reason == "no equation to prove"


def test_the_judge_rejects_a_false_equation():
    e = ALL[0].equations()[0]
    assert difference(type(e)(S.One, S.One + S(1) / 1000), 0) > 1e-6


def test_evidence_tells_a_false_theorem_and_a_mutant_that_gets_through(monkeypatch):
    import derivations
    from derivations.prover.theorem import Book, Equation

    book = Book("mine")

    @book.theorem("One is two.", {"one is one": {"other": 1}, "one is three": {"other": 3}})
    def one_is(other=2):
        return [Equation(S(1), S(other))]

    monkeypatch.setattr(derivations, "theorems", lambda: iter(book.theorems))
    assert derivations.evidence("mine").splitlines() == [
        "NOT PROVED: One is two.",
        "    rejected, as it must be: one is three",
        "    PROVED, THOUGH FALSE: one is one",
    ]
    with pytest.raises(KeyError, match="a theorem about mine: got 'two_is'; choose among one_is"):
        derivations.evidence("mine", "two_is")
    with pytest.raises(KeyError, match="an operator with theorems: got 'yours'; choose among mine"):
        derivations.evidence("yours")


def test_the_steps_of_a_derivation_are_told_by_their_titles():
    import derivations

    how = derivations.rms_norm.derive()
    assert [step.title for step in how["Mean"].steps] == ["Mean"]
    # in reading order
    assert [step.title for step in how["Mean", "Scale"].steps] == ["Scale", "Mean"]
    with pytest.raises(KeyError, match="got 'Median'; choose among Reciprocal"):
        how["Median"]
