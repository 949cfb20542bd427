"""Wrong kernels by hand, after public threads: all are caught, most are explained, and none wrongly."""

import random
from functools import cache

import numpy as np
import pytest
from checking.wrong import FOLDER, ORDINARY, SLIPS, edited, kernel, source, wrong
from machine import SOAK
from together import in_one

from aclnn_viz import case
from aclnn_viz.checking import check
from aclnn_viz.checking.evidence import KernelUnderTest, examine
from aclnn_viz.checking.scope import Scope

pytestmark = pytest.mark.usefixtures("unshrunken")

CHEAP = ("hardswish", "silu", "softmax", "elu", "mse_loss", "swi_glu")
DEPTH = "normal" if SOAK else "quick"
SAMPLE = (
    wrong()
    if SOAK
    else random.Random(4).sample([entry for entry in wrong() if entry[0] in CHEAP], 2)
)


def test_there_are_enough_unlike_ones():
    assert len(wrong()) >= 60 and len(SLIPS) >= 20
    assert len({(operator, slip) for operator, _, slip in wrong()}) == len(wrong())


def test_each_file_has_its_slip_and_says_nothing_of_it():
    """Without comments and docstrings, no text names the slip; each slip is of a right kernel."""
    texts = [source(operator, number) for operator, number, _ in wrong()]
    rights = [source(operator) for operator in SLIPS]
    assert len({*texts, *rights}) == len(texts) + len(rights)
    assert [text for text in (*texts, *rights) if "#" in text or '"""' in text] == []
    assert {path.parent.name for path in FOLDER.glob("*/right.py")} == {*SLIPS, *ORDINARY}


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("operator, number, slip", wrong())
@pytest.mark.sampled(3)
def test_a_wrong_kernel_is_caught(operator, number, slip):
    with np.errstate(all="ignore"):
        assert check(operator, kernel(operator, number)).failed


def numbers(options):
    """Return options of a case: a text after "=" is an expression of NumPy."""
    return {
        name: eval(value[1:], vars(np)) if str(value).startswith("=") else value
        for name, value in options.items()
    }


ROWS = [(name, row) for name, rows in ORDINARY.items() for row in rows.values()]


@pytest.mark.usefixtures("unexplained")
@in_one
@pytest.mark.parametrize("name, row", ROWS if SOAK else ROWS[::8])
def test_each_is_wrong_on_its_inputs_where_the_right_one_is_right(name, row):
    cases = [case(name, seed=seed, **numbers(row["on"])) for seed in range(2)]
    with np.errstate(all="ignore"):
        assert check(name, kernel(name), cases=cases, depth="quick").passed
        assert check(name, edited(name, *row["edits"]), cases=cases, depth="quick").failed


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("name, row", ROWS, ids=[f"{name}: {row['slip']}" for name, row in ROWS])
@pytest.mark.sampled(2)
def test_what_is_wrong_in_ordinary_use_is_caught(name, row):
    with np.errstate(all="ignore"):
        assert check(name, edited(name, *row["edits"])).failed


@cache
def results():
    with np.errstate(all="ignore"):
        checked = [
            (operator, number, check(operator, kernel(operator, number), depth=DEPTH))
            for operator, number, _ in SAMPLE
        ]
    return [entry for entry in checked if not entry[2].passed]


def test_most_are_explained(record_property):
    unexplained = [entry[:2] for entry in results() if not entry[2].explanation]
    record_property("kernels", len(results()))
    record_property("explained", len(results()) - len(unexplained))
    assert len(unexplained) <= 0.25 * len(results()) + (not SOAK), unexplained


def other_cases(operator, tested):
    """Return the kernel's answers to a suite with other numbers."""
    scope = Scope.of(operator)
    seen = examine(KernelUnderTest(tested, scope), scope.cases(seed=11), 60.0).seen
    return [case for case in seen if case.usable]


def test_none_is_explained_wrongly():
    for operator, number, result in results():
        if result.explanation:
            cases = other_cases(operator, kernel(operator, number))
            assert all(map(result.explanation.holds, cases)), (operator, number)


def test_a_wrong_explanation_would_be_noticed():
    explanation = check("silu", kernel("silu", "01"), depth=DEPTH).explanation
    cases = [case for case in other_cases("silu", kernel("silu", "02")) if case.misses]
    assert cases and not all(map(explanation.holds, cases))
