"""Recording on a bare machine: Python, NumPy and ml_dtypes are enough, and a killed process loses one case at most."""

import json
import shutil
import subprocess
import sys

import pytest
from machine import ROOT, SOAK

import aclnn_viz as av

BARE = """
import sys
class Bare:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root in {"sympy", "mpmath", "matplotlib", "ipywidgets", "anywidget", "tqdm", "jupyterlab", "pytest"}:
            raise ImportError(f"{name} is not on this machine")
sys.meta_path.insert(0, Bare())
"""
RECORD = (
    BARE
    + f"""
from aclnn_viz import cli
from aclnn_viz.cases import lists
whole = lists.load
lists.load = lambda name: [*{{(case.operator, k if {SOAK} else 0): case for k, case in enumerate(whole(name))}}.values()]  # else one of each operator
sys.exit(cli.main(["run", "--device", "host", "--out", sys.argv[1], "--json"]))
"""
)
CASES = "[(op, case(op).inputs) for op in operators()[:12]]"  # recorded there and here
DYING = (
    BARE
    + f"""
import os, sys
from aclnn_viz.cases import case
from aclnn_viz.operators import operators
from aclnn_viz.devices import open_device, record
device, left = open_device("host"), [8]
run = device.run
def dying(op, /, **inputs):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), 9)
    return run(op, **inputs)
device.run = dying
record(device, {CASES}, sys.argv[1])
"""
)


def child(code, path):
    return subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )


def test_the_block_is_tight(tmp_path):
    assert "sympy is not on this machine" in child(BARE + "import sympy", tmp_path).stderr


def test_nothing_but_numpy_and_ml_dtypes_is_needed(tmp_path):
    done = child(RECORD, tmp_path / "bare.capsule")
    assert done.returncode == 0, done.stderr
    with av.open_device(tmp_path / "bare.capsule") as capsule:
        assert len(capsule) == json.loads(done.stdout)["cases"] >= len(av.operators())


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What is left of a recording that was killed in its eighth case."""
    path = tmp_path_factory.mktemp("killed") / "x.capsule"
    assert child(DYING, path).returncode == -9 and not path.exists()
    return path.with_name("x.capsule.part")


@pytest.fixture
def path(killed, tmp_path):
    """Where a copy of it goes on."""
    shutil.copytree(killed, tmp_path / killed.name)
    return tmp_path / "x.capsule"


def test_a_killed_recording_goes_on(path):
    finished = list(path.with_name("x.capsule.part").glob("*/case.json"))
    assert len(finished) == 7
    first = {file: file.stat().st_mtime_ns for file in finished}
    kept = {}

    def watch(items):
        for item in items:
            yield item
        kept.update({file: file.stat().st_mtime_ns for file in finished})

    from aclnn_viz.devices import record

    recorded = eval(CASES, {"case": av.case, "operators": av.operators})
    with av.open_device("host") as device:
        record(device, recorded, path, watch)
    assert kept == first  # what was finished was not run again
    with av.open_device(path) as capsule:
        for op, inputs in recorded:
            assert capsule.run(op, **inputs).keys() <= set(op.outputs)


@pytest.mark.parametrize("spoiled", ["", "{", '{"operator": "hardswish"}'])
def test_a_case_file_that_was_cut_off_counts_as_unfinished(path, spoiled):
    from aclnn_viz.devices import record

    case = av.case("hardswish")
    victim = next(path.with_name("x.capsule.part").glob("*/case.json"))
    # what a crash leaves is never the finished name
    (victim.parent / "case.json.aclnn-viz-unfinished").write_text(spoiled)
    with av.open_device("host") as device:
        record(device, [(case.operator, case.inputs)], path)
    with av.open_device(path) as capsule:
        assert len(capsule) == 1
