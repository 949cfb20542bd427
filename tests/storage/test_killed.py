"""Commands killed at random moments: the next run resumes or cleans, and what it leaves is whole."""

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from machine import ROOT, SOAK

import aclnn_viz as av

TIMES = 50 if SOAK else 2
PROGRAM = """
import sys
from aclnn_viz import checking, cli, devices
from aclnn_viz.cases import listing
print("ready", flush=True)
sys.exit(cli.main(sys.argv[1:]))
"""


def run(*arguments, kill_after=None):
    """Run a command; kill it so many seconds after it is ready. Its status, and the seconds that it took."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as child:
        child.stdout.readline()
        start = time.perf_counter()
        if kill_after is not None:
            try:
                child.wait(kill_after)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
        child.communicate(timeout=120)
        return child.returncode, time.perf_counter() - start


def sound_capsule(path):
    with av.open_device(path) as capsule:
        for op, inputs in capsule.cases():
            capsule.run(op, **inputs)
        return len(capsule) == 12


def sound_dump(path):
    from aclnn_viz.cases.files import read_cases
    return len(list(read_cases(path)[2])) >= 15


PROTOTYPE = "aclnnStatus aclnnMyBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self, " \
    "aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);"


def sound_skeleton(path):
    return {"declaration.py", "derivation.py", "page.py", "reference.py"} <= set(os.listdir(path))


def test_a_killed_skeleton_is_whole_or_not_there(tmp_path):
    (tmp_path / "p.h").write_text(PROTOTYPE)
    place, draw, killed = tmp_path / "place", random.Random("new"), 0
    place.mkdir()
    command = ("new", "x", "--prototype", tmp_path / "p.h", "--to", place)
    _, length = run(*command)
    for _ in range(TIMES):
        if (place / "x").exists():
            assert sound_skeleton(place / "x")
            shutil.rmtree(place / "x")
        status, _ = run(*command, kill_after=draw.random() * length)
        killed += status == -signal.SIGKILL
    if not (place / "x").exists():
        assert run(*command)[0] == 0
    assert sound_skeleton(place / "x") and os.listdir(place) == ["x"] and killed


@pytest.mark.soak
def test_a_killed_report_is_whole_or_not_there(tmp_path):
    command, draw = ("verify", "hardswish", "--numeric", "--report", tmp_path / "r", "--force"), random.Random("report")
    status, length = run(*command)
    assert status == 0
    wanted = sorted(os.listdir(tmp_path / "r"))
    for _ in range(10):
        run(*command, kill_after=draw.random() * length)
        assert json.loads((tmp_path / "r" / "accuracy.json").read_text())
    assert run(*command)[0] == 0 and sorted(os.listdir(tmp_path / "r")) == wanted


@pytest.mark.parametrize("command", [("device",), ("describe", "hardswish"), ("operators",), ("errata",),
                                     ("verify", "hardswish", "--symbolic"), ("check", "hardswish", "host")])
def test_what_only_reads_leaves_nothing_when_it_is_killed(tmp_path, command, monkeypatch):
    monkeypatch.setitem(os.environ, "TMPDIR", str(tmp_path))
    before, draw = set(os.listdir(ROOT)), random.Random(str(command))
    for _ in range(TIMES if SOAK else 1):
        run(*command, kill_after=0.4 * draw.random())
        assert left_in(tmp_path) == [] and set(os.listdir(ROOT)) == before


def left_in(folder, patience=5.0):
    """The processes that still run with TMPDIR at a folder, and the files there, after they had time to end."""
    end = time.monotonic() + patience
    while True:
        mark, running = f"TMPDIR={folder}".encode(), []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if int(place.name) != os.getpid() and mark in (place / "environ").read_bytes().split(b"\0") and (
                        place / "cmdline").read_bytes():
                    running.append(place.name)
        if not running or time.monotonic() > end:
            return running + os.listdir(folder)
        time.sleep(0.05)


def test_what_is_left_is_noticed(tmp_path):
    with subprocess.Popen(["sleep", "30"], env={"TMPDIR": str(tmp_path)}) as child:
        while not Path(f"/proc/{child.pid}/cmdline").read_bytes():  # not begun
            time.sleep(0.01)
        assert left_in(tmp_path, 0.1) == [str(child.pid)]
        child.kill()


@pytest.mark.parametrize("what", ["run", "check"])
def test_a_kill_loses_nothing_and_leaves_nothing(tmp_path, what):
    listed = [{"operator": "hardswish", "shape": [n + 1, 3], "dtype": dtype}
              for n in range(6) for dtype in ("float32", "bfloat16")]
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps(listed))
    place = tmp_path / "place"
    place.mkdir()
    (place / "thesis.txt").write_text("mine")
    out = place / "x"
    command = {"run": ("run", "--device", "host", "--cases", cases, "--out", out, "--force"),
               "check": ("check", "hardswish", "--write", out, "--force")}[what]
    sound = {"run": sound_capsule, "check": sound_dump}[what]
    status, length = run(*command)
    assert status == 0 and sound(out)
    draw, killed = random.Random(what), 0
    for _ in range(TIMES):
        status, _ = run(*command, kill_after=draw.random() * length * 1.1)
        killed += status == -signal.SIGKILL
        assert (place / "thesis.txt").read_text() == "mine"
        if out.exists():
            assert sound(out)
        if draw.random() < 0.3:  # else one kill follows another
            assert run(*command)[0] == 0 and sound(out) and sorted(os.listdir(place)) == ["thesis.txt", "x"]
    assert run(*command)[0] == 0 and sound(out) and sorted(os.listdir(place)) == ["thesis.txt", "x"]
    assert killed
