"""Progress in the puzzles: recorded line by line, never lost, and never an obstacle to a verdict."""

import json
import os
import sys

import numpy as np
import pytest
from children import forked

from aclnn_viz.puzzles import detective, progress, puzzle
from aclnn_viz.puzzles.progress import FILE, VARIABLE, keep, kept, progress_file


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    return tmp_path / "data" / FILE


def right(x):
    return x / 3 + 0.5


def wrong(x):
    return x / 3


def row(name):
    return next(line for line in str(progress()).splitlines()[1:] if name in line)


def test_there_is_nothing_at_first(file):
    assert (
        not file.exists()
        and str(progress()).startswith("0 of 53 solved")
        and row("hardswish_middle").endswith("-")
    )


def test_attempts_and_successes_are_counted(file):
    for answer in (wrong, right, wrong):
        assert puzzle("hardswish_middle").check(answer).note == ""
    detective("long_rows").accuse("missing 1/n")
    assert row("hardswish_middle").endswith("solved after 3 attempts") and row(
        "long_rows"
    ).endswith(" 1 attempt")
    assert str(progress()).startswith("1 of 53 solved; next: Two corners (hardswish_slope)\n")
    assert "solved after 3 attempts" in progress()._repr_html_()
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["solved"] for line in lines] == [False, True, False, False] and all(
        line["at"] for line in lines
    )


def test_the_first_right_accusation_solves_a_case():
    assert detective("long_rows").accuse("tail of the row forgotten").right
    assert row("long_rows").endswith("solved after 1 attempt")


def test_a_stub_and_a_question_are_no_attempts(file):
    puzzle("hardswish_middle").check(lambda x: ...)
    puzzle("hardswish_middle").check(lambda x: None)
    detective("long_rows").accuse(None)
    assert not file.exists() or "long_rows" not in file.read_text()


@pytest.mark.parametrize(
    "broken",
    [
        "not json",
        '{"name": "rms_dx"}',
        "[1, 2]",
        '"text"',
        "\x00\x01",
        '{"name": "rms_',
        "[" * 10**5,
    ],
    ids=range(7),
)
def test_a_broken_line_is_reported_and_kept_and_costs_no_other(file, broken):
    keep("rms_dx", True)
    with open(file, "a") as opened:
        opened.write(broken)  # without an end of line, as after a power cut
    keep("rms_xhat", True)
    assert kept().solved == {"rms_dx", "rms_xhat"} and broken in file.read_text()
    assert "1 that cannot be read; mend or delete them" in str(
        progress()
    ) and "2 of 53 solved" in str(progress())


def test_bytes_that_are_no_text_are_survived(file):
    keep("rms_dx", True)
    with open(file, "ab") as opened:
        opened.write(b"\xff\xfe\n")
    assert kept().solved == {"rms_dx"} and "cannot be read" in kept().complaint


def test_names_that_nobody_knows_are_kept_but_not_counted(file):
    keep("of_another_version", True)
    assert kept().solved == {"of_another_version"} and str(progress()).startswith("0 of 53 solved")


def refused(*_, **__):
    raise PermissionError(13, "Permission denied")


def test_a_file_that_cannot_be_written_costs_the_record_only(file, monkeypatch):
    keep("rms_dx", True)
    before = file.read_bytes()
    monkeypatch.setattr("builtins.open", refused)  # also for root, whom no mode of a file stops
    result = puzzle("hardswish_middle").check(right)
    assert result.passed and "Permission denied; make it writable, or set ACLNN_VIZ_DATA" in str(
        result
    )
    monkeypatch.undo()
    assert file.read_bytes() == before


def test_a_folder_in_place_of_the_file_is_reported(file):
    file.mkdir(parents=True)
    assert (
        "progress is added to" in keep("rms_dx", True)
        and "progress is read from" in kept().complaint
    )


def add(name, count):
    for _ in range(count):
        assert keep(name, True) == ""


TIMES = 50


def test_two_processes_lose_nothing(file):
    both = [forked(add, name, TIMES) for name in ("rms_dx", "rms_xhat")]
    assert [os.waitpid(child, 0)[1] for child in both] == [0, 0]
    assert kept().attempts == {"rms_dx": TIMES, "rms_xhat": TIMES} and kept().complaint == ""


def test_the_variable_may_name_the_home_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv(VARIABLE, "~/puzzles")
    assert progress_file() == tmp_path / "puzzles" / FILE


def test_without_the_variable_the_platform_says_where(monkeypatch):
    monkeypatch.delenv(VARIABLE)
    from platformdirs import user_data_path

    assert progress_file() == user_data_path("aclnn-viz", appauthor=False) / FILE


def test_without_platformdirs_the_verdict_stands(monkeypatch):
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setitem(sys.modules, "platformdirs", None)
    result = puzzle("hardswish_middle").check(right)
    assert result.passed and "pip install 'aclnn-viz[lab]', or set the variable" in result.note
    assert "pip install" in str(progress())


def test_an_answer_may_not_spoil_the_record(file):
    puzzle("hardswish_middle").check(lambda x: np.array([object()]))
    assert row("hardswish_middle").endswith(" 1 attempt")
