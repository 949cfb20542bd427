"""The command line: every command has help, JSON, and a meaningful exit status."""

import json
import re
import subprocess
import sys
from types import ModuleType

import pytest
from machine import ROOT

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.verification import errata


def called(capsys, *arguments):
    """Return a function that runs a command and returns its exit status, output, and complaint."""
    status = cli.main(list(arguments))
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.mark.parametrize(
    "command",
    [
        [name, *more]
        for name, (function, table) in cli.COMMANDS.items()
        for more in ([[one] for one in table] if isinstance(function, ModuleType) else [[]])
    ],
)
def test_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([*command, "--help"])
    assert ended.value.code == 0 and "--json" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["simulate"], ["run"], ["verify", "--fast"]])
def test_what_is_no_command_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2


def test_run_records_a_capsule_that_replays(tmp_path, capsys):
    cases = tmp_path / "cases.json"
    cases.write_text(
        '[{"operator": "hardswish", "shape": [4]}, {"operator": "rms_norm", "dtype": "bfloat16"}]'
    )
    out = tmp_path / "host.capsule"
    status, printed, _ = called(
        capsys, "run", "--cases", str(cases), "--device", "host", "--out", str(out), "--json"
    )
    assert status == 0 and json.loads(printed)["cases"] == 2
    with av.open_device(out) as device:
        assert len(device) == 2
        assert device.run("hardswish", **av.case("hardswish", shape=(4,)).inputs)["out"].shape == (
            4,
        )


def test_run_says_what_it_cannot(tmp_path, capsys, monkeypatch):
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    status, _, complaint = called(
        capsys,
        "run",
        "--cases",
        str(ROOT / "notebooks/capsules/cases.json"),
        "--device",
        "atlas",
        "--out",
        str(tmp_path / "x"),
    )
    assert status == 2 and complaint.startswith("aclnn-viz: ") and str(tmp_path) in complaint
    status, _, complaint = called(
        capsys, "run", "--cases", str(tmp_path / "no.json"), "--device", "host", "--out", "x"
    )
    assert status == 2 and "cases are suite" in complaint


def test_device_without_one(tmp_path, capsys, monkeypatch):
    for name in ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    status, printed, _ = called(capsys, "device")
    assert (
        status == 1
        and printed.startswith("host: the emulator, always there; it runs\n")
        and "\natlas: " in printed
    )
    status, printed, _ = called(capsys, "device", "--json")
    assert status == 1 and json.loads(printed)["devices"] == []


def test_errata_are_listed_and_reproduce(capsys, monkeypatch):
    # other tests try all of them
    some = [one for one in errata.errata() if one.operator == "group_norm_swish"][:3]
    monkeypatch.setattr(errata, "errata", lambda: some)
    status, printed, _ = called(capsys, "errata", "--json")
    content = json.loads(printed)
    assert (
        status == 0
        and content["passed"]
        and len(content["errata"]) == len(some) > 2
        and "1/n" in printed
    )
    status, printed, _ = called(capsys, "errata", "hardswish")  # this operator has none among them
    assert status == 0 and "errata: 0" in printed


def test_a_claim_that_does_not_reproduce_sets_the_status(capsys, monkeypatch):
    monkeypatch.setattr(errata, "errata", lambda: [])
    assert called(capsys, "errata")[0] == 1


RIGHT = """
import aclnn_viz as av
def right(**inputs):
    return av.operator("hardswish").backward(**inputs)
def open_interval(gradOutput, self):
    return (gradOutput * ((self > -3) * (self / 3 + 0.5) * (self < 3) + (self >= 3))).astype(self.dtype)
"""


def test_check_of_a_file_and_of_a_device(tmp_path, capsys):
    file = tmp_path / "kernels.py"
    file.write_text(RIGHT)
    assert called(capsys, "check", "hardswish", f"{file}:right")[0] == 0
    assert called(capsys, "check", "aclnnHardswishBackward", "host")[0] == 0
    status, printed, _ = called(
        capsys, "check", "hardswish", f"{file}:open_interval", "--json", "--depth", "quick"
    )
    assert status == 1 and not json.loads(printed)["passed"]


def test_check_without_python(tmp_path, capsys):
    folder = tmp_path / "cases"
    status, printed, _ = called(capsys, "check", "hardswish", "--write", str(folder))
    text = re.findall(r"000/[\w/.]+", printed)
    assert (
        status == 0
        and text == ["000/in/NAME.bin", "000/out/NAME.bin"]
        and (folder / "000/in/self.bin").exists()
    )
    again = printed.split("aclnn-viz ")[1].split()
    assert again == ["check", "hardswish", "--read", str(folder)]
    assert called(capsys, *again)[0] != 0  # nothing was computed


@pytest.mark.parametrize(
    "arguments,text",
    [
        (["check"], "check needs an operator"),
        (["check", "rms_norm"], "check needs a kernel"),
        (["check", "no_operator", "host"], "no such operator"),
        (["check", "rms_norm", "nowhere"], "no such device"),
        (["check", "rms_norm", "nothing.py:f"], "nothing.py"),
    ],
)
def test_check_says_what_it_cannot(arguments, text, capsys):
    status, _, complaint = called(capsys, *arguments)
    assert status == 2 and text in complaint


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "aclnn_viz.cli", "check"], cwd=ROOT, text=True, capture_output=True
    )
    assert done.returncode == 2 and done.stderr.startswith("aclnn-viz: ")
