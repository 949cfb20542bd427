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
def junit(pytester, monkeypatch):
    # some plugins take a second to import
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

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
        ["abc", "4", "0"],
        ["def", "4", "0"],
    ]
    for name in ("test_it", "test_other"):
        assert any(
            row.startswith(f"| {name}.test_sweep: host | 2 | 0 | elements 5 to 1,000 |")
            for row in rows
        )
        assert any(
            row.startswith(f"| {name}.test_sweep: A2 | 1 | 0 | elements 3,000 |") for row in rows
        )
    assert "without_numbers" not in text and "a machine" in text and failures == 0


def test_a_failed_test_is_named_and_a_later_run_replaces_an_earlier_one(junit):
    later = junit()
    for case in list(later.iter("testcase"))[1:]:
        next(later.iter("testsuite")).remove(case)
    text, failures = soak.report([(junit(wrong=3000), "abc")], "a machine")
    assert failures == 1 and "| abc | 4 | 1 |" in text and "- test_it.test_sweep[A2-3000]" in text
    text, failures = soak.report([(junit(wrong=1000), "abc"), (later, "def")], "a machine")
    assert failures == 0 and "| abc | 3 | 0 |" in text and "| def | 1 | 0 |" in text
    assert any(
        row.startswith("| test_it.test_sweep: host | 2 | 0 | elements 5 to 1,000 |")
        for row in rows_of(text)
    )


MADE = """
    import pytest

    @pytest.mark.parametrize("name,n,found", [("logs", 1200, 0), ("stores", 300, FOUND)])
    def test_inputs(name, n, found, record_property):
        for key, value in {"surface": name, "oracle": "all is well", "inputs": n, "taken": 100, "refused": n - 100, "seconds": 1.5, "findings": found}.items():
            record_property(key, value)
        assert not found
"""


def test_inputs_that_were_made_have_a_table_with_their_sum_and_other_tests_stay(junit, pytester):
    def made(found):
        pytester.makepyfile(test_made=MADE.replace("FOUND", str(found)))
        pytester.runpytest_inprocess(
            "--junitxml=made.xml", "-o", "junit_family=xunit1", "test_made.py"
        )
        return ElementTree.parse(pytester.path / "made.xml").getroot()

    plain, bad, good = junit(), made(2), made(0)
    assert soak.report([(bad, "abc")], "a machine") == ("", 1) and soak.report(
        [(good, "abc")], "a machine"
    ) == ("", 0)
    text = soak.inputs([(plain, "x"), (bad, "abc")])
    assert (
        "| logs | all is well | abc | 1,200 | 100 | 1,100 | 0 | 2 s |" in text
        and "| all |  |  | 1,500 | 200 | 1,300 | 2 | 3 s |" in text
    )
    assert "| all |  |  | 1,500 | 200 | 1,300 | 0 | 3 s |" in soak.inputs(
        [(bad, "abc"), (good, "def")]
    ) and not soak.inputs([(plain, "x")])
    assert (
        soak.renewed("a\n# Inputs that b", "", "# Inputs that c") == "a\n# Inputs that c"
        and soak.renewed("a\n# Inputs that b", "d\n", "") == "d\n# Inputs that b"
    )
