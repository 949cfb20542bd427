"""The report of full-size test runs: what it says of junit files that pytest wrote, and of failed tests."""

import sys
from xml.etree import ElementTree

import pytest
from machine import ROOT

sys.path.append(str(ROOT / "benchmarks"))
import soak  # noqa: E402

pytest_plugins = "pytester"

SWEEP = """
    import pytest

    @pytest.mark.parametrize("plan,size", [("host", 1000), ("A2", 3000), ("host", 5)])
    def test_sweep(plan, size, record_property):
        record_property("group", plan)
        record_property("elements", size)
        assert size != WRONG

    def test_without_numbers():
        pass
"""


@pytest.fixture
def junit(pytester):
    def run(wrong=None):
        pytester.makepyfile(test_it=SWEEP.replace("WRONG", str(wrong)))
        pytester.runpytest_inprocess("--junitxml=out.xml", "-o", "junit_family=xunit1")
        return ElementTree.parse(pytester.path / "out.xml").getroot()
    return run


def rows_of(text):
    return [line for line in text.splitlines() if line.startswith("|")]


def test_each_run_and_each_group_has_a_row(junit):
    other = junit()
    for case in other.iter("testcase"):
        case.set("classname", "test_other")
    text, failures = soak.report([(junit(), "abc"), (other, "def")], "a machine")
    rows = rows_of(text)
    assert [row.split(" | ")[1:4] for row in rows if "abc" in row or "def" in row] == [
        ["abc", "4", "0"], ["def", "4", "0"]]
    for name in ("test_it", "test_other"):
        assert any(row.startswith(f"| {name}.test_sweep: host | 2 | 0 | elements 5 to 1,000 |") for row in rows)
        assert any(row.startswith(f"| {name}.test_sweep: A2 | 1 | 0 | elements 3,000 |") for row in rows)
    assert "without_numbers" not in text and "a machine" in text and failures == 0


def test_a_failed_test_is_named_and_a_later_run_replaces_an_earlier_one(junit):
    later = junit()
    for case in list(later.iter("testcase"))[1:]:
        next(later.iter("testsuite")).remove(case)
    text, failures = soak.report([(junit(wrong=3000), "abc")], "a machine")
    assert failures == 1 and "| abc | 4 | 1 |" in text and "- test_it.test_sweep[A2-3000]" in text
    text, failures = soak.report([(junit(wrong=1000), "abc"), (later, "def")], "a machine")
    assert failures == 0 and "| abc | 3 | 0 |" in text and "| def | 1 | 0 |" in text
    assert any(row.startswith("| test_it.test_sweep: host | 2 | 0 | elements 5 to 1,000 |") for row in rows_of(text))
