"""The command `check`: options for all ways, and meaningless combinations."""

import json

import pytest
from checking.test_exchange import run_outside

import aclnn_viz as av
from aclnn_viz.checking import write_suite
from aclnn_viz.cli import main


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--write", "here", "--depth", "deep"],
            "--depth can be given with --sealed or a kernel: got it with --write; leave it out",
        ),
        (
            ["--read", "here", "--cases", "list.json", "--depth", "quick"],
            "--depth and --cases can be given with a kernel: got it with --read; leave it out",
        ),
        (
            ["host", "--force"],
            "--force can be given with --write: got it with a kernel; leave it out",
        ),
        (
            ["--read", "here", "--write", "there"],
            "one thing at a time: got --write and --read; leave out all but one",
        ),
        (
            ["host", "--write", "here"],
            "one thing at a time: got --write and a kernel; leave out all but one",
        ),
        (
            ["host", "--where", "reduction=mean", "--where", "reduction=sum"],
            "reduction is set once: got 'reduction=sum' as well",
        ),
    ],
)
def test_what_means_nothing_together_is_refused(arguments, words, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["check", "cross_entropy_loss", *arguments]) == 2
    assert words in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_shape_of_one_axis_is_a_number():
    assert main(["check", "hardswish", "host", "--shape", "5", "--depth", "quick"]) == 0


def test_outputs_that_lie_in_a_folder_are_judged_without_an_operator(tmp_path, capsys):
    run_outside(write_suite("hardswish", tmp_path / "cases"), av.operator("hardswish").backward)
    assert (
        main(["check", str(tmp_path / "cases")]) == 0
        and "hardswish: right on" in capsys.readouterr().out
    )
    assert main(["check", str(tmp_path)]) == 2 and "cases.json" in capsys.readouterr().err


def test_what_a_kernel_prints_is_no_part_of_the_json(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "import aclnn_viz as av\nprint('loaded')\ndef run(**inputs):\n    print('called')\n"
        "    return av.operator('hardswish').backward(**inputs)\n"
    )
    assert (
        main(["check", "hardswish", f"{tmp_path}/mine.py:run", "--depth", "quick", "--json"]) == 0
    )
    text = capsys.readouterr()
    assert json.loads(text.out)["passed"] and "loaded" in text.err and "called" in text.err
