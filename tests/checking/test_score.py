"""The score of the checker, and that the tests it is compared with are fair."""

import json

import numpy as np
import pytest

from aclnn_viz.checking.score import USUAL, FaultScore, Score, caught, named, score
from machine import SOAK, sampled
from together import in_one


def some(todo, total):
    """Every twentieth fault, and of the dearest operator, which has most of them, every sixtieth."""
    dear = max({op.name for op, _ in todo}, key=lambda name: sum(op.name == name for op, _ in todo))
    cheap, others = (
        [one for one in todo if (one[0].name == dear) is dearest] for dearest in (False, True)
    )
    return todo if SOAK else cheap[::20] + others[::60]


@pytest.fixture(scope="module")
def found():
    return score(progress=some)


def test_every_fault_is_caught_and_named(found):
    assert [(one.operator, one.fault) for one in found.faults if not one.caught] == []
    assert [(one.operator, one.fault, one.named) for one in found.faults if one.wrong_name] == []
    assert sum(one.right_name for one in found.faults) >= 0.9 * len(found.faults)
    assert found.passed == (found.median < 2.0)


@pytest.mark.parametrize("label", USUAL)
def test_the_usual_tests_let_wrong_kernels_through(found, label):
    count = sum(one.usual[label] for one in found.faults)
    assert 0 < count < len(found.faults)


@in_one
@pytest.mark.parametrize("label", USUAL)
@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
def test_the_usual_tests_accept_right_kernels_and_can_fail(op, label):
    cases = USUAL[label](op, 0)
    assert not any(caught(op.backward, one) for one in cases)
    assert any(
        caught(
            lambda **inputs: {
                name: value + np.float32(0.5)  # far beyond the tolerance
                for name, value in op.backward(**inputs).items()
            },
            one,
        )
        for one in cases
    )


def test_the_table_has_a_row_for_each_operator(found):
    rows = [line for line in str(found).splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len(named()) + 1 and "allclose, ones" in rows[0]
    assert found._repr_html_().count("<tr>") == len(rows) - 1
    assert len(json.loads(found.to_json())["faults"]) == len(found.faults)


@pytest.mark.parametrize(
    "change", [{"caught": False}, {"named": "another"}, {"named": None}, {"first_failure": 3.0}]
)
def test_a_checker_that_fails_does_not_pass(change):
    good = dict(
        operator="a",
        fault="b",
        caught=True,
        named="b",
        first_failure=0.1,
        usual=dict.fromkeys(USUAL, True),
    )
    assert Score((FaultScore(**good),)).passed
    assert not Score((FaultScore(**good | change),)).passed
