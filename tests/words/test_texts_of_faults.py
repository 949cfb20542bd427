"""Texts of faults and puzzles are translated when shown, and English to programs; names stay unchanged."""

import dataclasses

import pytest
import visible

from aclnn_viz.operators import operators, registry
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.faults.fault import by_letter
from aclnn_viz.puzzles import (
    detective,
    detectives,
    progress,
    puzzle,
    puzzles,
    tile_detectives,
    tile_puzzles,
)
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.words import messages
from aclnn_viz.words.messages import Message, Name, named, tr
from notebooks.gallery.declared import is_code, of_faults

TASKS, CASES = (*puzzles(), *tile_puzzles()), (*detectives(), *tile_detectives())


@pytest.fixture
def marked(monkeypatch, tmp_path):
    monkeypatch.setenv("ACLNN_VIZ_DATA", str(tmp_path))  # an attempt of a test is nobody's progress
    monkeypatch.setattr(
        messages,
        "_translations",
        lambda: (
            {} if messages.language_here() == "en" and messages._for_now.get() else visible.Marked()
        ),
    )


@pytest.fixture
def chinese():
    before = messages.language()
    messages.language("zh")
    yield
    messages.language(before)


def unspoken(text):
    """Return untranslated words in the lines of a text, without code, names and signs."""
    return [
        left for line in text.splitlines() if not is_code(line) and (left := visible.unspoken(line))
    ]


def test_every_puzzle_and_its_hints_are_looked_up(marked):
    for one in TASKS:
        head = str(one).partition("\n\n")[0].replace(f"({one.operator}", "(")
        hints = [one.hint(k) for k in range(1, 1 + len(one.hints))]
        assert unspoken("\n".join([head, *hints])) == [] and visible.OPEN in head, one.name


@pytest.mark.parametrize("name", ["rms_dx", "tile_count"])
def test_a_verdict_is_looked_up(name, marked):
    one = puzzle(name)
    for answer in (
        solution_of(one).wrong(solution_of(one).mistakes[0]),
        solution_of(one).function,
        lambda **inputs: None,
    ):
        result = one.check(answer)
        assert unspoken(str(result).partition(": ")[2]) == [] and visible.OPEN not in result.text


def test_an_accusation_and_a_symptom_are_looked_up(marked):
    one = detective("long_rows")
    assert unspoken(str(one).partition("\n\n")[2]) == []
    for suspect in (None, one.culprit, one.suspects[0]):
        answer = one.accuse(suspect)
        plain = [line for line in str(answer).splitlines() if not line.startswith(("  - ", "  + "))]
        assert unspoken("\n".join(plain)) == [] and visible.OPEN not in answer.text


def test_progress_is_looked_up(marked):
    head, table, *_ = str(progress()).splitlines()
    assert (
        unspoken(f"{head}\n{table}") in ([], [f"({progress().next})"])
        and visible.OPEN in progress()._repr_html_()
    )


def test_a_name_stays_what_is_passed_and_tells_what_it_means(chinese):
    one = detective("long_rows")
    assert (
        one.culprit
        in [fault.name for fault in faults("rms_norm")]
        == [str(fault.name) for fault in faults("rms_norm")]
    )
    assert f"  漏掉行尾（{one.culprit}）" in str(one) and one.accuse(one.culprit).right
    assert tr(named("no such name")) == "no such name" == named(named("no such name"))


def test_a_text_follows_the_language_after_it_was_made(chinese):
    result, mystery = puzzle("rms_dx").check(lambda **inputs: None), detective("long_rows")
    before = str(result), str(mystery.symptom)
    messages.language("en")
    assert str(result) == f"rms_dx: {result.text}" != before[0]
    assert "wrong in 51 of 51" in str(mystery.symptom) and "wrong in" not in before[1]


def texts(value):
    """Yield (field, text) of all texts in the fields of an entry."""
    for field in dataclasses.fields(value):
        part = getattr(value, field.name)
        for one in part if isinstance(part, tuple) else [part]:
            yield from [(field.name, one)] if isinstance(one, str) else []


def test_every_text_of_a_fault_and_of_a_case_is_kept_as_a_message():
    found = [
        fault for op in operators() if registry.file("faults", op.name) for fault in faults(op)
    ] + [*faults("layer_norm")[:9]]
    assert [
        text for fault in found for _, text in texts(fault) if not isinstance(text, Message)
    ] == []
    # code means no more elsewhere
    assert (
        all(type(fault.name) is (Message if fault.edit else Name) for fault in found)
        and len(found) > 100
    )
    for one in CASES:
        assert all(
            isinstance(text, Message)
            for name, text in texts(one)
            if name not in ("name", "operator")
        )
        assert all(isinstance(label, Message) for label, _ in one.experiments)


def test_what_is_declared_is_collected_but_code():
    found = of_faults()
    assert {
        "the row mean is written as a row sum",
        "there is one row",
        "Right for rows of certain lengths",
        "four rows, gamma is 1",
        "the row is summed, not averaged",
        puzzle("rms_dx").task,
        puzzle("rms_dx").hint(1),
    } <= {*found}
    assert puzzle("rms_dgamma").hints[2] not in found


def test_places_are_named_in_the_language(chinese):
    assert [tr(name) for name in by_letter("r", (4,))] == [
        "首位置（r轴）",
        "末位置（r轴）",
        "首末位置（r轴）之间",
    ]
