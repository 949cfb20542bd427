"""A kernel in a separate process: its other actions are reported, and nothing of it reaches the judge."""

import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest
from checking.cheats import CHEATS, HONEST, RIGHT

from aclnn_viz.checking import scope
from aclnn_viz.checking.scope import Scope, few
from aclnn_viz.checking.sealed_check import check_sealed
from aclnn_viz.cli import main

ASKED = {"dtypes": ["float32"], "depth": "quick", "seconds": 60.0, "memory": 512 << 20}


def written(tmp_path, lines):
    """Return the file of a kernel that knows the content of the published suite."""
    cases = [one.case for one in Scope.of("rms_norm", dtypes=["float32"]).cases(0)]
    known = {
        "SEEN": {case.inputs["dy"].ravel()[:1].tobytes() for case in cases},
        "SHAPES": {case.inputs["dy"].shape for case in cases},
        "LENGTH": len(few(Scope.of("rms_norm", dtypes=["float32"]).cases(0))) + 3,
    }
    file = tmp_path / "mine.py"
    file.write_text(
        RIGHT + lines + "".join(f"\n{name} = {value!r}" for name, value in known.items())
    )
    return f"{file}:kernel"


def untouched():
    """Return the things here that a kernel could have changed."""
    return os.getpid(), np.allclose, np.allclose(1.0, 2.0), sorted(os.environ), os.getcwd()


@pytest.mark.parametrize("name", CHEATS)
@pytest.mark.sampled(1)
def test_what_a_cheat_does_is_said(name, tmp_path, monkeypatch):
    lines, said = CHEATS[name]
    if "time limit" in said:
        monkeypatch.setitem(scope.DEPTHS, "quick", replace(scope.DEPTHS["quick"], seconds=1.5))
    asked, before = ASKED | {"seconds": 1.5} if "1.5 s" in said else ASKED, untouched()
    result = check_sealed("rms_norm", written(tmp_path, lines), **asked)
    assert not result.passed and re.search(said, " / ".join(result.happened)), str(result)
    assert result.verdict.startswith("rms_norm: NOT ACCEPTED") and untouched() == before
    assert {one.name for one in tmp_path.iterdir()} == {"mine.py"}


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.sampled(1)
def test_what_is_right_passes_with_a_note(name, tmp_path):
    lines, said = HONEST[name]
    result = check_sealed("rms_norm", written(tmp_path, lines), **ASKED)
    assert result.passed and not result.happened and re.search(said, " / ".join(result.notes)), str(
        result
    )
    assert len(result.notes) == bool(said)


@pytest.mark.needs("torch")
def test_a_kernel_may_use_pytorch(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\n\n\ndef kernel(gradOutput, output):\n    return torch.ops.aten.tanh_backward(torch.from_dlpack(gradOutput.copy()), torch.from_dlpack(output.copy()))\n"
    )
    result = check_sealed("tanh", f"{tmp_path}/mine.py:kernel", dtypes=["float32"], depth="quick")
    assert result.passed, str(result)


def test_a_seed_is_drawn_and_said(tmp_path):
    name = written(tmp_path, HONEST["plain"][0])
    first, second = (check_sealed("rms_norm", name, **ASKED).result.seed for _ in range(2))
    assert first != second


@pytest.mark.parametrize(
    ("kernel", "options", "part"),
    [
        ("mine.cpp:kernel", {}, "a kernel in a process of its own is FILE.py:FUNCTION"),
        (3, {}, "a kernel is named as"),
        ("math:sqrt", {}, "a kernel in a process of its own is"),
        ("mine.py:kernel", {"seconds": 0}, "seconds is a number above 0"),
        ("mine.py:kernel", {"memory": 5}, "memory is a number above"),
        ("mine.py:kernel", {"dtypes": ["int3"]}, "int3"),
        ("nowhere.py:kernel", {}, "nowhere.py"),
    ],
)
def test_what_cannot_be_judged_is_refused(kernel, options, part, tmp_path, monkeypatch):
    written(tmp_path, "kernel = right")
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ValueError, OSError), match=part):
        check_sealed("rms_norm", kernel, **options)


def test_the_command_says_it_in_text_and_json(tmp_path, capsys):
    right, wrong = (
        written(tmp_path / name, lines)
        for name, lines in (("a", "kernel = right"), ("b", CHEATS["forks"][0]))
        if not (tmp_path / name).mkdir()
    )
    asked = "--sealed --dtypes float32 --depth quick".split()
    assert main(["check", "rms_norm", right, *asked]) == 0
    assert "right, in a process of its own" in capsys.readouterr().out
    assert main(["check", "rms_norm", wrong, *asked, "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert (
        not content["passed"]
        and "starts a process" in content["happened"][0]
        and content["check"]["cases"] == 0
    )


def test_an_input_may_be_called_self_and_a_seed_given(tmp_path):
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n\n\ndef kernel(gradOutput, self):\n    return gradOutput * np.where("
        "self < -3, 0, np.where(self > 3, 1, self / 3 + np.float32(0.5)))"
    )
    found = check_sealed("hardswish", f"{tmp_path}/mine.py:kernel", 5, **ASKED)
    assert found.passed and found.result.seed == 5
