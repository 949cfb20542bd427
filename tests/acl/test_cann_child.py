"""Work in a child cannot hide a crash, a failure or misuse, in `in_child` or in the conformance suite."""

import os
import re
import signal
import subprocess
import sys

import pytest
from in_child import Crashed, in_child
from machine import ROOT

TESTS = """
import os

def test_passes(acl):
    assert acl.aclInit(None) == 0 and acl.aclFinalize() == 0

def test_fails(acl):
    assert acl.aclInit(None) == 1

def test_crashes(acl):
    assert not acl.__class__.__name__ == "CannAcl" or os.abort()

def test_misuses(program):
    program.acl.aclrtFree(0x1234)

def test_leaks(acl):
    acl.aclInit(None), acl.aclrtSetDevice(0), acl.aclrtMalloc(8, 0), acl.aclFinalize()
"""


def raise_(error):
    raise error


@pytest.mark.parametrize(
    ("work", "error", "text"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGSEGV), Crashed, "died of SIGSEGV"),
        (os.abort, Crashed, "died of SIGABRT"),
        (lambda: os._exit(3), Crashed, "gave no answer and ended with 3"),
        (lambda: raise_(ValueError("of the child")), AssertionError, "ValueError: of the child"),
        (lambda: sys.exit(0), AssertionError, "SystemExit: 0"),
    ],
)
def test_what_ends_a_child_is_an_error(work, error, text):
    with pytest.raises(error, match=text):
        in_child(work)


def test_an_answer_and_an_environment_cross_over():
    assert in_child(lambda: {"pid": os.getpid() != parent, "x": os.environ["X"]}, {"X": 1}) == {
        "pid": True,
        "x": "1",
    }


parent = os.getpid()


@pytest.mark.needs("g++")
def test_the_suite_reports_what_happens_in_its_children(tmp_path):
    (tmp_path / "test_children.py").write_text(TESTS)
    folders = [ROOT, ROOT / "tests", ROOT / "tests/acl"]
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-v",
            "-p",
            "acl.conftest",
            "-p",
            "no:cacheprovider",
            tmp_path,
        ],
        cwd=tmp_path,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join(map(str, folders)), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    outcomes = dict(re.findall(r"::test_(\w+\[.*?\]) (PASSED|FAILED|ERROR)", done.stdout))
    summary = set(
        re.findall(r"^(?:FAILED|ERROR) \S+::test_(\w+\[.*?\])", done.stdout, re.MULTILINE)
    )
    everywhere = ("host", "stand-in 8.x", "stand-in 9.x")
    assert {name for name, outcome in outcomes.items() if outcome == "PASSED"} >= {
        f"passes[{k}]" for k in everywhere
    }
    assert summary == {"fails[host]", "misuses[host]", "leaks[host]"} | {
        f"{name}[{k}]" for name in ("fails", "crashes", "misuses", "leaks") for k in everywhere[1:]
    }, done.stdout
    assert done.stdout.count("died of SIGABRT") >= 2
