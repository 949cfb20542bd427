"""C++ that must fail, as one set: each file gives a clear error, the right status, and leaves nothing; the same process then runs a right kernel.

All of it in one command: ACLNN_VIZ_SOAK=1 python -m pytest -p no:xdist tests/devices/test_files_that_must_fail.py
"""

import os
import re
import shutil
import tempfile
import tomllib
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import psutil
import pytest
from machine import ROOT

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.tiles.cpp import CppKernel, cpp

pytestmark = pytest.mark.needs("g++")
SOURCES = ROOT / "tests" / "tiles" / "cpp"
ADD = (SOURCES / "add_custom.cpp").read_text("utf-8")
WHOLE = (ROOT / "notebooks" / "cpp" / "whole.cpp").read_text("utf-8")
START = "".join(
    f"#include <{name}>\n"
    for name in "csetjmp csignal cstdlib cassert stdexcept thread unistd.h sys/wait.h".split()
)
MAIN = START + '#include "acl/acl.h"\n#include "aclnn/acl_meta.h"\nint main() {\n%s\n}\n'
COMPILES = r"must compile: got the compiler's errors below; mend the first\n"
ENDED = r"program ended, core \d, line \d+: .*{}.*; correct the pointer or the loop"


def kernel(after, before="    op.Process();"):
    """Return a right kernel with one text replaced by another."""
    assert ADD.count(before) == 1
    return START + ADD.replace(before, after)


#: Cases that are no text: files of bytes, and paths that are no file.
FILES = tomllib.loads((Path(__file__).parent / "files_that_must_fail.toml").read_text("utf-8")) | {
    "the same entry twice": {"text": ADD + ADD[ADD.index('extern "C"') :], "said": "redefinition"},
    "a binary file": {"bytes": bytes(range(256)) * 8},
    "a program for a source": {"bytes": Path(os.path.realpath("/bin/sh")).read_bytes()},
    "UTF-16": {"bytes": ADD.encode("utf-16")},
    "a folder for a file": {
        "place": Path.mkdir,
        "said": "one folder with op_host and op_kernel: got 0 in bad.cpp; name",
    },
    "a link to nothing": {
        "place": lambda file: file.symlink_to("nothing"),
        "said": ": got .*nothing.*; ",
    },
    "a wrong kernel in a program": {
        "alone": WHOLE.replace("        in.EnQue(both);\n", ""),
        "status": 1,
        "said": r"queue empty, core 0, line \d+: .*; ",
    },
}


def said(case: dict) -> str | None:
    """Return the command's expected words, None for any."""
    if "compiles" in case:
        return COMPILES + case["compiles"]
    if "ended" in case:
        return ENDED.format(case["ended"])
    return case.get("said", ": got .*; " if "bytes" in case else None)


def text(case: dict) -> str | None:
    """Return the file's content, None if there is none."""
    if "kernel" in case:
        return kernel(case["kernel"], **{k: case[k] for k in ("before",) if k in case})
    if "added" in case:
        return f"{START}{ADD}{case['added']}\n"
    return MAIN % case["program"] if "program" in case else case.get("alone", case.get("text"))


def processes():
    cache = str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "aclnn-viz"))
    return [
        one
        for one in psutil.process_iter(["exe", "status"])
        if (one.info["exe"] or "").startswith(cache) and one.info["status"] != "zombie"
    ]


def test_there_are_enough():
    assert len(FILES) >= 84


@pytest.mark.parametrize("what", FILES)
@pytest.mark.sampled(1)
def test_what_must_fail_says_so_and_leaves_nothing(what, tmp_path, monkeypatch, capsys):
    case = FILES[what]
    folder, scratch = tmp_path / "work", tmp_path / "scratch"
    folder.mkdir(), scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(CppKernel, "seconds", 1)
    file = folder / case.get("name", "HardswishGrad" if "project" in case else "bad.cpp")
    x, y = np.random.default_rng(0).standard_normal((2, 2048), np.float32)
    for name, array in (("x", x), ("y", y), ("z", x + y)):
        np.save(tmp_path / f"{name}.npy", array)
    if "project" in case:
        shutil.copytree(SOURCES, folder, dirs_exist_ok=True)
        part, before, after = case["project"]
        whole = (file / part).read_text("utf-8")
        assert before in whole
        (file / part).write_text(whole.replace(before, after), "utf-8")
    elif "place" in case:
        case["place"](file)
    elif "bytes" in case or text(case) is not None:
        file.write_bytes(case["bytes"] if "bytes" in case else text(case).encode())
    files, begun = sorted(tmp_path.rglob("*")), monotonic()
    if case.keys() & {"program", "alone"}:
        words = ["run", str(file), "--seconds", "1"]
    else:
        words = [
            "check",
            str(file),
            "--golden",
            str(tmp_path / "z.npy"),
            "--cores",
            "2",
            *(word for name in "xy" for word in ("--input", str(tmp_path / f"{name}.npy"))),
            *([] if "project" in case else ["--set", "total=2048"]),
            *case.get("more", ()),
        ]
    assert cli.main(["cpp", *words]) == case.get("status", 2)
    shown = capsys.readouterr()
    expected = said(case)
    assert expected is None or re.search(expected, shown.out + shown.err, re.DOTALL), shown
    # the machine may be loaded
    assert monotonic() - begun < 60 and sorted(tmp_path.rglob("*")) == files
    while processes() and monotonic() - begun < 70:
        sleep(0.2)
    assert not processes()
    monkeypatch.setattr(CppKernel, "seconds", 60)
    run = av.tiles.run(
        cpp(SOURCES / "add_custom.cpp")["add_custom"], x, y, z := np.zeros_like(x), x.size, cores=2
    )
    assert run.hazards == () and np.array_equal(z, x + y)
