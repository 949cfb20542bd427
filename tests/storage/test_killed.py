"""Commands killed at random moments: the next run resumes or cleans, and what it leaves is whole."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from machine import ROOT, SOAK

import aclnn_viz as av

TIMES = 50 if SOAK else 3
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
