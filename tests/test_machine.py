"""A missing tool skips with one line, and in CI a skip is a failure."""

import pytest
from machine import ROOT, TOOLS, forbidden_skip, missing
from together import in_one

pytest_plugins = ["pytester"]
HERE = not missing("torch")


# Two test modules of every kind, run in a child beside the suite's own conftest.py and what it imports.
MODULE = """
import pytest

@pytest.fixture
def library():
    raise RuntimeError("built although there is no compiler")

@pytest.mark.needs("g++")
def test_needs_a_compiler(library): pass

def test_skips_itself(): pytest.skip("not today")

@pytest.mark.xfail
def test_is_expected_to_fail(): assert False

@pytest.mark.soak
def test_full_size(): pass

@pytest.mark.needs("torch")
def test_needs_another_engine(): pass

def test_sample(): pass
"""
SKIPPED_MODULE = "import pytest\npytest.skip('no module today', allow_module_level=True)"


@pytest.fixture
def suite(pytester, monkeypatch):
    """Return a function that runs the two modules without tools, with these variables."""
    for name in ("children.py", "conftest.py", "machine.py"):
        pytester.path.joinpath(name).write_text((ROOT / "tests" / name).read_text())
    pytester.makeini(
        "[pytest]\nmarkers =\n  needs(*tools): x\n  soak: x\n"
        "addopts = --continue-on-collection-errors"
    )
    pytester.makepyfile(test_kinds=MODULE, test_skipped=SKIPPED_MODULE)

    def run(**variables):
        for name in ("CI", "ACLNN_VIZ_SOAK", "ACLNN_VIZ_PEERS", "PATH"):
            monkeypatch.setenv(name, variables.get(name, ""))
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        return pytester.runpytest_subprocess()

    return run


def test_a_missing_tool_skips_before_fixtures_and_says_what_to_install(suite):
    done = suite()
    done.assert_outcomes(passed=1, skipped=3, xfailed=1, deselected=2)
    done.stdout.fnmatch_lines(
        ["1 skipped: needs g++: install a C++ compiler (Debian: *)", "1 skip*"]
    )
    assert done.ret == 0


def test_skips_are_said_in_five_lines(suite, pytester):
    pytester.makepyfile(
        test_many="import pytest\n@pytest.mark.parametrize('k', range(9))\n"
        "def test(k): pytest.skip(f'reason {min(k, 6)}')"
    )
    lines = [line for line in suite().outlines if line[0:1].isdigit()]
    assert len(lines) == 5 and lines[0] == "3 skipped: reason 6"
    assert lines[4] == "; ".join(f"1 skipped: reason {k}" for k in range(6))


def test_in_ci_every_skip_is_a_failure_and_nothing_else_is(suite):
    done = suite(CI="true")
    # Skips in setup or on import count as errors.
    done.assert_outcomes(passed=1, failed=1, errors=2, xfailed=1, deselected=2)
    done.stdout.fnmatch_lines_random(
        [
            f"skipped although CI=true: {reason}*"
            for reason in ("needs g++", "not today", "no module today")
        ]
    )
    assert done.ret == 1


def test_full_size_sweeps_run_when_asked_for(suite):
    assert (
        suite(ACLNN_VIZ_SOAK="1").parseoutcomes().items()
        >= {"passed": 2 + HERE, "skipped": 4 - HERE, "xfailed": 1}.items()
    )


@pytest.mark.parametrize("ci", ["", "true"])
def test_what_needs_another_engine_runs_when_asked_for_and_nothing_else_does(suite, ci):
    found = suite(ACLNN_VIZ_PEERS="1", CI=ci).parseoutcomes()
    assert (
        found["deselected"] == 5 and found["passed" if HERE else "errors" if ci else "skipped"] == 1
    )


@pytest.mark.parametrize("tool", TOOLS)
def test_every_reason_is_one_line(tool, monkeypatch):
    monkeypatch.setitem(TOOLS, tool, (lambda: False, TOOLS[tool][1]))
    assert missing(tool).startswith(f"needs {tool}: ") and "\n" not in missing(tool)


def test_ci_allows_only_the_skips_of_the_list():
    assert not forbidden_skip("Skipped: needs cann: install it", ci=True)
    assert not forbidden_skip("no network", ci=False)
    assert forbidden_skip("Skipped: needs torch: make peers", ci=True) and forbidden_skip(
        "no cann", ci=True
    )


def test_cases_in_one_are_all_tried_and_those_that_fail_are_named():
    @in_one
    @pytest.mark.parametrize("x", [1, pytest.param(2, id="two")])
    @pytest.mark.parametrize(("y", "z"), [(3, 4), (5, 6)])
    def test(x, y, z):
        seen.append((x, y, z))
        assert x + y != 4
        with pytest.raises(ZeroDivisionError):
            1 / (6 - z)

    seen = []
    with pytest.raises(BaseExceptionGroup) as failed:
        test()
    assert sorted(seen) == [(1, 3, 4), (1, 5, 6), (2, 3, 4), (2, 5, 6)]
    assert [one.__notes__ for one in failed.value.exceptions] == [
        [f"the case: {{'y': 3, 'z': 4, 'x': {x}}}"] for x in (1, 2)
    ]
