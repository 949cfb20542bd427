"""Codes and pasted logs, of the forms of public threads: the right meaning, or "unknown"."""

import io
import json
import re
import tomllib
from pathlib import Path

import pytest
from together import in_one

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.acl.why import LONGEST, _known
from aclnn_viz.words.messages import in_language, tr

LOGS = tomllib.loads((Path(__file__).parent / "logs.toml").read_text("utf-8"))["log"]


@in_one
@pytest.mark.parametrize("log", LOGS)
def test_a_log_is_answered_with_what_is_known_of_it_and_with_nothing_else(log):
    found, operator = av.why(log["text"]), log.get("operator", "")
    assert {
        one.name.split()[0] if one.name[0].isdigit() else one.name for one in found.meanings
    } == {*log["known"]}
    assert found.operator == operator and (log["known"] or operator or found.unknown)


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
        assert not re.search(
            "[a-z]{3,} [a-z]{2,}", "".join(map(tr, found.conditions))
        ) and "\n  该错误码" in str(found)


def test_every_entry_has_both_languages_and_sources():
    assert all(one["meaning"] and one["chinese"] and one["source"] for one in _known())
    assert all(
        cause["cause"] and cause["chinese"] and "#" in cause["thread"]
        for one in _known()
        for cause in one.get("causes", ())
    )


@pytest.mark.parametrize(
    "text, error",
    [
        ("", ValueError),
        (" \n", ValueError),
        ("x" * (LONGEST + 1), ValueError),
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


def test_in_chinese():
    av.language("zh")
    try:
        assert "空指针" in str(av.why(561103))
    finally:
        av.language("en")
