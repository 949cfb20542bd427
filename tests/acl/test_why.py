"""Codes and pasted logs in the forms of public threads: the right meaning, or "unknown"."""

import io
import json
import re
import tomllib
from pathlib import Path

import pytest
from together import in_one

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.acl.why import LEVELS, VARIES, _known
from aclnn_viz.words.messages import in_language, tr

LOGS, THREADS = (
    tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))["log"]
    for name in ("logs.toml", "threads.toml")
)


def names(found):
    return [one.name.split()[0] if one.name[0].isdigit() else one.name for one in found.meanings]


@in_one
@pytest.mark.parametrize("log", LOGS)
def test_a_log_is_answered_with_what_is_known_of_it_and_with_nothing_else(log):
    found, operator = av.why(log["text"]), log.get("operator", "")
    assert {*names(found)} == {*log["known"]}
    assert found.operator == operator and (log["known"] or operator or found.unknown)


@in_one
@pytest.mark.parametrize("log", THREADS)
def test_what_failed_first_comes_first_in_the_log_of_a_thread(log):
    found = av.why(log["text"])
    first, *follows = names(found) or [None]
    assert (first, found.operator) == (log.get("first"), log.get("operator", ""))
    assert {*log.get("follows", ())} <= {*follows} and (first is None or str(found))


def test_warnings_are_told_as_such_and_hide_no_error():
    warned = "[W a.ts:1] Warning: CAUTION: The operator 'x' will fall back to run on the CPU."
    assert "warnings alone" in str(av.why(warned)) and not av.why(warned).unknown
    for warning in warned, "WARNING: MindSpore version 2 and CANN version 8 do not match":
        found = str(av.why(f"{warning}\nRuntimeError: nobody knows this"))
        assert "warnings alone" not in found and found.index("nobody") < found.index("often says")
    assert names(av.why("RuntimeError: out of memory, try LEVEL=DEBUG")) == ["out of memory"]
    assert names(av.why("DEBUG out of memory")) == []
    last = str(av.why("AttributeError: module 'a' has no attribute 'b'\nRuntimeError: no plugin"))
    assert last.index("attribute 'b'") < last.index("do not fit:") < last.index("no plugin")


def test_lines_in_any_order_and_form_say_the_same():
    log = next(log for log in THREADS if log["first"] == "ASCEND_RT_VISIBLE_DEVICES")
    lines = log["text"].splitlines()
    for changed in (
        "\n".join(reversed(lines)),
        "\r\n".join(f"\x1b[31m{line}\x1b[0m" for line in lines),
        "\\n".join(lines),
        "noise \0\ufffd\n" * 1000 + log["text"] + "\n[ERROR] trunc",
    ):
        assert names(av.why(changed))[0] == log["first"]
    late, early = "2026-01-02-03:04:05.1 EJ0003: taken", "2026-01-02-03:04:04.9 EJ0002: down"
    assert (
        names(av.why(f"{late}\n{early}"))
        == names(av.why(f"{early}\n{late}"))
        == ["EJ0002", "EJ0003"]
    )


def test_versions_libraries_places_and_what_nobody_says_are_named():
    found = av.why(
        "code 561103\ntorch_npu  2.7.1.post2\nCANN: 8.1.RC1\nvllm_ascend 0.9.1rc1\nvllm 0.9.2"
    )
    assert "torch_npu 2.7.1.post2 belongs to CANN 8.5.0" in str(found) and len(found.notes) == 2
    assert av.why("code 561103\ntorch_npu 2.7.1.post2\nCANN: 8.5.0\ntorch 2.7.1").notes == ()
    missing = str(av.why("aclnnGridSampler2DBackward not in libopapi.so"))
    assert "libopapi_cv.so of CANN 9" in missing
    assert "the code says no more" in str(av.why("EZ9999: Inner Error!\nfailed: 507015"))
    assert names(av.why("Warning: it must not be 1, out of memory\nfailed: 507015"))[0] == "507015"
    advised = "[ERROR] x failed, please check whether the device is out of memory"
    guessed = "[ERROR] x failed, possible reasons: 1. out of memory"
    assert "out of memory" not in names(av.why(f"{advised}\n{guessed}"))
    stated = av.why("call x failed, error code 7\nError: the size must be\n 4, 3 was given")
    assert stated.unknown == ("Error: the size must be 4, 3 was given",)
    assert "107001" in str(av.why("Failed to open device, retCode=0x7020013"))
    read = str(av.why(f"{advised}\nretcode 0x7bc83\nE1 ibv_cmd_create_cq failed, ret 12"))
    assert "507011" in read and "first error of the log: [ERROR] x failed" in read
    head = "(E pid=1) ERROR 09-26 15:11:03 [core.py:790] "
    assert "f(w)" not in str(av.why(f"{head}    x = f(w)\n{head}Worker failed with error ''"))
    general = str(av.why("2026-01-02-03:04:05 x failed\n2026-01-02-03:04:06 Error: y is invalid"))
    assert general.index("x failed") < general.index("often says") < general.index("refuses")
    assert "last error of the log: E1 ibv_cmd_create_cq" in read
    assert av.why("[WARN] open: rc=3\nError: x").unknown[0] == "[WARN] open: rc=3"
    assert av.why("I0731 10:00:00.1 x failed\nError: y").unknown == ("Error: y",)
    assert "plog" not in str(av.why("make: *** [all] Error 2"))
    beyond = "error code = 0x800000"
    assert "cpp check" in str(av.why(beyond)) and "cpp check" not in str(av.why(f"vllm {beyond}"))
    frame = 'File "/py/site-packages/a/b.py", line 3, in f\n'
    assert "raised in: a/b.py, line 3;" in str(av.why(f"{frame}TypeError: None"))
    assert "raised in" not in str(av.why(f"{frame}No module named 'torch_npu._C'"))
    overflow = "error: ub overflow, requires 9 bits while 1 bits available!"
    assert "cpp check" in str(av.why(overflow)) and "cpp check" not in str(
        av.why(f"triton {overflow}")
    )
    certain = str(av.why(f"{overflow}\nloc(x): error: failed to legalize"))
    assert "compiler of kernels" in certain and "smallest kernel" not in certain
    assert "smallest kernel" in str(av.why("loc(x): error: failed to legalize"))
    default = "Default: twelve things\nError: y is 3"
    assert av.why(default).unknown[0] == "Error: y is 3"
    assert "a/b.py" not in str(av.why(f"{frame}RuntimeError: out of memory"))


@in_one
@pytest.mark.parametrize("entry", _known().values())
def test_an_entry_is_whole_and_what_it_finds_holds_a_sign(entry):
    assert entry["meaning"] and entry["chinese"] and entry["source"]
    for cause in entry.get("causes", ()):
        assert cause["cause"] and cause["chinese"] and "#" in cause["thread"]
    assert ("try" in entry) == ("rat" in entry) and entry.get("level", "call") in LEVELS
    for line in "\n".join(log["text"] for log in LOGS + THREADS).splitlines():
        if re.search(entry.get("pattern", "(?!)"), line):
            assert any(sign in line for sign in entry["signs"]), line
    assert not VARIES.fullmatch(entry["name"])  # codes do not count as numbers that vary
    text = f"error code: {entry['name']}"
    assert "pattern" in entry or names(av.why(text)) == [entry["name"]]


def test_a_command_shows_its_code(capsys):
    for entry in _known().values():
        if "HostAcl" in entry.get("command", ""):
            exec(entry["command"].split("'")[1], {})
            assert entry["name"] in capsys.readouterr().out


def call(**changed):
    tensors = (
        dict(dy="float16 [4, 16]", x="float16 [4, 16]", rstd="float32 [4, 1]", gamma="float16 [16]")
        | changed
    )
    return "call aclnnRmsNormGrad failed, error code is 161002\n" + "\n".join(
        f"{name}: {one}" for name, one in tensors.items()
    )


@pytest.mark.parametrize(
    "changed, answer",
    [
        ({}, "9.1.0: 0 phase 1 takes the call"),
        (
            {"gamma": "bfloat16 [16]"},
            "161002 aclnnRmsNormGradGetWorkspaceSize: the data types are no supported combination",
        ),
        (
            {"dy": "DT_FLOAT16 [4, 15]"},
            "561002 aclnnRmsNormGradGetWorkspaceSize: dy must have the shape of x",
        ),
        ({"x": "shape: [4, 16], dtype: torch.float16"}, "9.1.0: 0 phase 1 takes the call"),
    ],
)
def test_a_call_whose_tensors_are_named_is_repeated(changed, answer):
    found = av.why(call(**changed))
    assert answer in found.repeated and "Atlas A2" in found.repeated and "emulated" in str(found)


def test_the_product_and_version_of_the_log_count_before_those_that_are_given():
    assert (
        "Atlas inference series, CANN 8.1"
        in av.why(call() + "\nsoc Ascend310P3, CANN 8.1", soc="Ascend910B2").repeated
    )
    assert "Atlas inference series" in av.why(call(), soc="Ascend310P3").repeated


@pytest.mark.parametrize("unknown", [{"soc": "Ascend1"}, {"cann": "nosuch"}])
def test_an_unknown_product_or_version_is_refused_also_where_no_call_is_repeated(unknown):
    with pytest.raises(ValueError, match="got"):
        av.why(561103, **unknown)


def test_a_call_of_which_a_tensor_is_missing_is_not_repeated_and_the_conditions_of_the_code_are_named():
    found = av.why(call().replace("rstd", "r"))
    assert (
        found.repeated == "" and "the data types are no supported combination" in found.conditions
    )
    with in_language("zh"):
        assert not re.search("[a-z]{3,} [a-z]{2,}", "".join(map(tr, found.conditions)))
        assert "\n  该错误码" in str(found) and "空指针" in str(av.why(561103))


@pytest.mark.parametrize(
    "text, error",
    [
        ("", ValueError),
        (" \n", ValueError),
        (True, TypeError),
        (b"1", TypeError),
    ],
)
def test_what_is_no_log_is_refused(text, error):
    with pytest.raises(error, match=": got "):
        av.why(text)


def test_what_steers_a_terminal_is_not_printed():
    assert "\x1b" not in str(av.why("\x1b[2J unknown"))


def test_the_command_takes_a_code_a_file_or_the_standard_input(tmp_path, capsys, monkeypatch):
    (tmp_path / "log").write_text(call())
    assert (
        cli.main(["why", str(tmp_path / "log")]) == 0 and "RmsNormGrad" in capsys.readouterr().out
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("error code is 561103"))
    assert cli.main(["why", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["meanings"][0]["causes"]
    assert cli.main(["why", "nothing of CANN"]) == 1


@pytest.mark.parametrize(
    "tail, answer",
    [
        ("[" + "9" * 5000 + "]", ""),
        ("[2] self [2] float32 min " + "9" * 5000, "0 phase 1 takes the call"),
    ],
)
def test_a_number_that_is_too_long_for_one_is_passed_over(tail, answer):
    assert (
        answer
        in av.why(f"aclnnHardtanhBackward gradOutput float32 [2] self float32 {tail}").repeated
    )
