"""What an operator has of its own is optional: without it defaults stand in. Tried in a copy from which it is deleted."""

import json
import shutil
import subprocess
import sys

import pytest

from aclnn_viz import rooms
from machine import ROOT

OPTIONAL = tuple(kind for kind in rooms.PACKAGES if kind not in rooms.REQUIRED)
PROGRAM = """
import json, sys
from dataclasses import replace
import aclnn_viz as av
from aclnn_viz import rooms
from aclnn_viz.checking import check
from aclnn_viz.checking.puzzles import detectives, puzzles
from aclnn_viz.faults import faults
from aclnn_viz.faults.edits import edits
found = {}
for op in av.operators():
    some = [fault for fault in faults(op.name) if fault.edit and fault.edit.kind == "factor"][:5]  # one may change nothing
    checked = [check(op, replace(op, page=one.edit.page).backward) for one in some]
    wrong = next((one for one in checked if not one.passed), checked[0])
    found[op.name] = [check(op, op.backward).passed, wrong.passed, bool(wrong.regions), len(faults(op.name))]
print(json.dumps([found, len(puzzles()), len(detectives())]))
"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """What a copy of the kit says from which the optional files of every operator are gone."""
    copy = tmp_path_factory.mktemp("copy")
    for package in ("aclnn_viz", "derivations"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in rooms.names():
        for kind in OPTIONAL:
            if path := rooms.file(kind, name):
                (copy / path.relative_to(ROOT)).unlink()
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=copy, capture_output=True, text=True, check=False,
                          env={"PYTHONPATH": str(copy), "PATH": ""})
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_check_still_passes_right_kernels_and_fails_edited_ones(bare):
    assert {name: [right, not wrong, told] for name, (right, wrong, told, _) in bare[0].items()} == dict.fromkeys(
        rooms.names(), [True, True, True])


def test_faults_are_then_mechanical(bare):
    assert all(count >= 15 for *_, count in bare[0].values())


def test_there_are_then_no_puzzles(bare):
    assert bare[1:] == [0, 0]
