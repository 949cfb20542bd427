"""An operator's own files are optional: without them defaults apply. Coverage in a copy without them."""

import json
import shutil
import subprocess
import sys

import pytest
from machine import ROOT, SOAK, taught

from aclnn_viz.operators import registry

ALWAYS = (*registry.REQUIRED, "derivation", "reference")
OPTIONAL = tuple(kind for kind in registry.KINDS if kind not in ALWAYS)
PROGRAM = """
import contextlib, io, json, sys
from dataclasses import replace
import aclnn_viz as av
from aclnn_viz.accuracy import envelope, explain
from aclnn_viz.checking import check
from aclnn_viz.puzzles import detectives, puzzles
from aclnn_viz.cli import main
from aclnn_viz.explorers import subject_of
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.products import A2, CANN
from aclnn_viz.verification import contract, errata, numeric

found = {}
with av.open_device("host") as device:
    soak, taught = sys.argv[1] == "soak", [op for op in av.operators() if op.chapter]
    for at, op in enumerate(taught if soak else taught[:2]):
        even, odd = (soak or at % 2 == one for one in (0, 1))  # what is dear, for one of two
        case, subject = av.case(op), subject_of(op.name)
        truth, out = op.truth(**case.inputs), device.run(op, **case.inputs)
        bounds = envelope(op, device.soc, **case.inputs)
        within = all(explain(out[name], truth[name], bounds[name]).not_explained == 0 for name in out)
        factors = [fault for fault in faults(op.name) if fault.edit and fault.edit.kind == "factor"]
        some = factors[:5 * odd]  # one may change nothing
        checked = (check(op, replace(op, page=one.edit.page).backward, depth="quick", time_limit=60.0)
                   for one in some)
        wrong = next((one for one in checked if not one.passed), None)
        verified = (numeric.device_check(op, A2, CANN), contract.status_check(op), *[numeric.truth_check(op)] * odd)
        shown = subject.show(subject.compute(subject.state()))
        works = {
            "right kernel passes": not even or check(op, op.backward).passed, "edited kernel fails": wrong or not some,
            "regions are reported": not wrong or wrong.regions, "mechanical faults": len(faults(op.name)) >= 15,
            "verification holds": all(check().passed for check in verified),
            "device is within its bounds": within, "explorer has panels and words": len(shown.panels) > 2 and shown.headline,
            "C++ is exported": "GetWorkspaceSize(" in av.cpp_sample(op, case)}
        found[op.name] = [what for what, holds in works.items() if not holds]
with contextlib.redirect_stdout(io.StringIO()):
    codes = [main([command]) for command in ("operators", "errata", "conventions")]
counts = [len(puzzles()), len(detectives()), sum(e.operator in found for e in errata.errata())]
print(json.dumps([found, codes, counts]))
"""


@pytest.fixture(
    scope="module",
    params=["all of them", *(pytest.param(kind, marks=pytest.mark.soak) for kind in OPTIONAL)],
)
def bare(request, tmp_path_factory):
    """Return the output of a copy of the kit without the optional files of every operator, all or of one kind."""
    copy = tmp_path_factory.mktemp("copy")
    for package in ("aclnn_viz", "derivations", "notebooks"):
        # with bytecode, which is ignored without its source
        shutil.copytree(ROOT / package, copy / package)
    for name in registry.names():
        for kind in OPTIONAL if request.param == "all of them" else [request.param]:
            while path := registry.file(kind, name, copy):
                path.unlink()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "soak" if SOAK else ""],
        cwd=copy,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(copy), "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_operator_still_works(bare):
    found, *_ = bare
    assert sorted(found) == sorted(op.name for op in (taught() if SOAK else taught()[:2]))
    assert {name: lacks for name, lacks in found.items() if lacks} == {}


def test_tables_are_still_printed(bare):
    assert bare[1] == [0, 0, 0]


def test_nothing_of_the_deleted_files_is_left(bare, request):
    if request.node.callspec.params["bare"] == "all of them":
        assert bare[2] == [0, 0, 0]
