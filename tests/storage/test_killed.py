"""Commands killed at random moments: the next run resumes or cleans, and leaves complete results."""

import contextlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from machine import ROOT, SOAK

import aclnn_viz as av

TIMES = 50 if SOAK else 1
# Load the kit once, and run each command in a child, which is killed from outside.
PROGRAM = """
import json, os, sys, sympy
from aclnn_viz import checking, cli, devices
from aclnn_viz.cases import lists
from aclnn_viz.operators import skeleton
from aclnn_viz.verification import numeric, symbolic
{before}
silent = os.open(os.devnull, os.O_RDWR)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        for stream in range(3):
            os.dup2(silent, stream)
        os._exit(cli.main(json.loads(line)))
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Runner:
    """Runs commands, and kills them."""

    def __init__(self, folder, before=""):
        self.folder = folder  # for temporary files
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM.format(before=before)],
            cwd=ROOT,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | {"TMPDIR": str(folder)},
        )

    def __call__(self, *arguments, kill_after=None):
        """Run a command; kill it after `kill_after` seconds. Return its status, and its seconds."""
        self.process.stdin.write(json.dumps([*map(str, arguments)]).encode() + b"\n")
        child = int(self.process.stdout.readline())
        start = time.perf_counter()
        if not select.select([self.process.stdout], [], [], kill_after)[0]:
            os.kill(child, signal.SIGKILL)
        return int(self.process.stdout.readline()), time.perf_counter() - start

    def killed(self, *arguments, seed, times=TIMES):
        """Kill a command at random moments, and yield after each; at least one kill hits."""
        status, length = self(*arguments)
        assert status == 0, arguments
        yield
        draw, killed = random.Random(seed), 0
        while times or not killed:
            times -= times > 0
            killed += self(*arguments, kill_after=draw.random() * length)[0] == -signal.SIGKILL
            yield

    def end(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    made = Runner(
        tmp_path_factory.mktemp("temporary"),
        "numeric.checks = lambda ops: []",
    )
    yield made
    made.end()


def sound_capsule(path):
    with av.open_device(path) as capsule:
        for op, inputs in capsule.cases():
            capsule.run(op, **inputs)
        return len(capsule) == 12


def sound_dump(path):
    from aclnn_viz.cases.files import read_cases

    return len(list(read_cases(path)[2])) >= 15


def sound_skeleton(path):
    return {"declaration.py", "page.py"} <= set(os.listdir(path))


def sound_lessons(path):
    found = {
        one.relative_to(path).as_posix(): one.read_bytes()
        for one in path.rglob("*")
        if one.is_file()
    }
    return len(found) > 20 and all(
        content == (ROOT / "notebooks" / name).read_bytes()
        for name, content in found.items()
        if name.endswith(".ipynb")
    )


PROTOTYPE = (
    "aclnnStatus aclnnMyBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self, "
    "aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);"
)
# the command with the place where it writes; whether that is whole; whether a kill may leave a part of it
WRITING = {
    "run": (
        lambda at: (
            "run",
            "--device",
            "host",
            "--cases",
            at / "cases.json",
            "--out",
            at / "place/x",
            "--force",
        ),
        sound_capsule,
    ),
    "check": (lambda at: ("check", "hardswish", "--write", at / "place/x", "--force"), sound_dump),
    "new": (
        lambda at: ("new", "x", "--prototype", at / "p.h", "--to", at / "place"),
        sound_skeleton,
    ),
    "lab": (lambda at: ("lab", at / "place/x", "--copy"), sound_lessons),
}


@pytest.mark.parametrize("what", WRITING)
@pytest.mark.sampled(3)
def test_a_kill_loses_nothing_and_leaves_nothing(run, tmp_path, what, record_property):
    record_property("kills", TIMES)
    listed = [
        {"operator": "hardswish", "shape": [n + 1, 3], "dtype": dtype}
        for n in range(6)
        for dtype in ("float32", "bfloat16")
    ]
    (tmp_path / "cases.json").write_text(json.dumps(listed))
    (tmp_path / "p.h").write_text(PROTOTYPE)
    place = tmp_path / "place"
    place.mkdir()
    (place / "thesis.txt").write_text("mine")
    make, sound = WRITING[what]
    command, out = make(tmp_path), place / "x"
    grows = what == "lab"  # its files are complete one by one
    again = random.Random(what)
    for _ in run.killed(*command, seed=what):
        assert (place / "thesis.txt").read_text() == "mine"
        assert not out.exists() or grows or sound(out)
        # an existing result would be kept, and nothing written
        if what in ("new", "lab") and out.exists():
            assert what == "lab" or sound(out)
            shutil.rmtree(out)
        elif again.random() < 0.3:  # otherwise one kill follows another
            assert (
                run(*command)[0] == 0
                and sound(out)
                and sorted(os.listdir(place)) == ["thesis.txt", out.name]
            )
    assert (
        run(*command)[0] == 0
        and sound(out)
        and sorted(os.listdir(place)) == ["thesis.txt", out.name]
    )


@pytest.mark.soak
def test_lessons_that_a_kill_left_are_whole_and_the_next_copy_brings_the_rest(run, tmp_path):
    for _ in run.killed("lab", tmp_path / "x", "--copy", seed="rest"):
        for left in (tmp_path / "x").glob("*.ipynb"):
            assert left.read_bytes() == (ROOT / "notebooks" / left.name).read_bytes()
        assert run("lab", tmp_path / "x", "--copy")[0] == 0 and sound_lessons(tmp_path / "x")
        assert not list((tmp_path / "x").rglob(".*"))
        shutil.rmtree(tmp_path / "x")


READING = [
    ("device", "--json"),
    ("describe", "hardswish"),
    ("operators",),
    ("errata", "hardswish"),
    ("conventions", "hardswish"),
    ("verify", "hardswish", "--symbolic"),
    ("check", "hardswish", "host", "--depth", "quick"),
]


def test_what_only_reads_leaves_nothing_when_it_is_killed(run, record_property):
    """A kill as it comes: in `make test` one of each."""
    record_property("kills", TIMES * len(READING))
    before, draw = set(os.listdir(ROOT)), random.Random("reads")
    for _ in range(TIMES if SOAK else 1):
        for command in READING:
            run(*command, kill_after=draw.random() * 0.5)
            assert (
                left_in(run.folder, but=run.process.pid) == [] and set(os.listdir(ROOT)) == before
            )


def left_in(folder, patience=20.0, but=None):
    """Return the processes that still run with TMPDIR at a folder, and the files there, after time to end."""
    end = time.monotonic() + patience
    while True:
        mark, running = f"TMPDIR={folder}".encode(), []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (
                    int(place.name) not in (os.getpid(), but)
                    and mark in (place / "environ").read_bytes().split(b"\0")
                    and (place / "cmdline").read_bytes()
                ):
                    running.append(place.name)
        if not running or time.monotonic() > end:
            return running + os.listdir(folder)
        time.sleep(0.05)


def test_what_is_left_is_noticed(tmp_path):
    with subprocess.Popen(["sleep", "30"], env={"TMPDIR": str(tmp_path)}) as child:
        while not Path(f"/proc/{child.pid}/cmdline").read_bytes():  # not started
            time.sleep(0.01)
        assert left_in(tmp_path, 0.1) == [str(child.pid)]
        child.kill()
