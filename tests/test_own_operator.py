"""An operator in an outside folder: made as a skeleton, filled in, and then equal to any other."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from in_child import in_child
from machine import ROOT, SOAK

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.operators import registry
from aclnn_viz.operators.skeleton import gaps, new_operator

FILLED = Path(__file__).parent / "elsewhere" / "my_silu"
PROTOTYPE = """
/** phase 1; the vendor's headers look like this */
ACLNN_API aclnnStatus aclnnSiluBackwardGetWorkspaceSize(
    const aclTensor* gradOutput, const aclTensor* self, aclTensor* gradInput,
    uint64_t* workspaceSize, aclOpExecutor** executor);
ACLNN_API aclnnStatus aclnnSiluBackward(void* workspace, uint64_t workspaceSize, aclOpExecutor* executor,
                                        aclrtStream stream);
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the skeleton in a folder, and its tests' output before it is filled in."""
    place = tmp_path_factory.mktemp("made")
    (place / "silu.h").write_text(PROTOTYPE)
    assert (
        cli.main(["new", "my_silu", "--prototype", str(place / "silu.h"), "--to", str(place)]) == 0
    )
    return place / "my_silu", gaps(place / "my_silu"), own_tests(place / "my_silu")


@pytest.fixture(scope="module")
def folder(made):
    for path in FILLED.glob("*.py"):
        shutil.copy(path, made[0])
    return made[0]


def own_tests(folder):
    """Without the soak but for the verification: that of such folders is tried beside `elsewhere/`, too."""
    left = [] if SOAK else ["-k", "not verifies"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *left],
        cwd=folder,
        text=True,
        capture_output=True,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


def test_a_skeleton_fails_in_one_list_that_names_every_gap(made):
    _, left, run = made
    assert run.returncode == 1 and "1 failed" in run.stdout and " error" not in run.stdout
    assert len(left) > 15 and all(one in run.stdout for one in left)


def test_a_skeleton_is_no_operator_yet(tmp_path):
    path = new_operator("half_done", PROTOTYPE.replace("Silu", "Half"), tmp_path)
    with pytest.raises(
        ValueError, match=r"must be filled in: got \d+ gaps in page.py.*; run pytest there"
    ):
        av.operator(path)


@pytest.mark.parametrize(
    "name,text,message",
    [
        (
            "rms_norm",
            PROTOTYPE,
            "an operator needs a name of at most 100 letters that Python takes and no operator has: got 'rms_norm'; choose",
        ),
        ("my-op", PROTOTYPE, "got 'my-op'"),
        ("my_op", "int f(void);", "declares one function aclnn...GetWorkspaceSize: got none; pass"),
        ("my_op", PROTOTYPE + PROTOTYPE, "got aclnnSiluBackwardGetWorkspaceSize, aclnnSilu"),
    ],
)
def test_what_makes_no_skeleton_is_refused(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message.replace("...", r"\.\.\.")):
        new_operator(name, text, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments,message",
    [
        ([], "one of the arguments --prototype --forward is required"),
        (["--forward", "a", "--prototype", "b"], "not allowed with argument"),
    ],
)
def test_new_takes_one_source(arguments, message, capsys):
    with pytest.raises(SystemExit):
        cli.main(["new", *arguments])
    assert message in capsys.readouterr().err


def test_a_prototype_names_it_with_and_without_a_semicolon(tmp_path):
    for text in (PROTOTYPE, PROTOTYPE.replace(";", ""), PROTOTYPE.replace("Size(", "Size\n(")):
        folder = new_operator("", text.replace("Silu", "Gate"), tmp_path)
        assert (folder / "declaration.py").is_file()
        shutil.rmtree(folder)
    assert folder.name == "gate"


def test_a_skeleton_never_replaces_a_folder(tmp_path):
    (tmp_path / "my_op").mkdir()
    with pytest.raises(ValueError, match="must not exist"):
        new_operator("my_op", PROTOTYPE, tmp_path)


def test_filled_in_it_passes_its_own_tests(folder):
    run = own_tests(folder)
    assert run.returncode == 0, run.stdout


def test_check_explore_verify_and_device_take_the_folder(folder):
    def all_of_it():
        op = av.operator(folder)
        assert av.operator("my_silu") is op and op in av.operators()
        case = av.case(op, dtype="bfloat16", shape=(3, 5))
        with av.open_device("host") as device:
            assert np.array_equal(
                device.run(op, **case.inputs)["gradInput"], op.backward(**case.inputs)["gradInput"]
            )
        assert av.check(op, op.backward).passed
        wrong = av.check(op, lambda gradOutput, self: gradOutput / (1 + np.exp(-self)))
        assert not wrong.passed and wrong.counterexample is not None
        explorer = av.explore(op)
        assert explorer is not None
        return cli.main(["check", str(folder), f"{folder / 'page.py'}:forward"])

    assert in_child(all_of_it) == 1  # forward is no kernel of the operator, and gets that answer


EXPLORER = """
from dataclasses import replace

from aclnn_viz import operator
from aclnn_viz.explorers import default


def subject():
    usual = default.of(operator("my_silu"))
    return replace(usual, panels=lambda data: usual.panels(data)[:1], headline=lambda data: ["mine"],
                   around=lambda data: (["in words"], []))
"""


def test_an_explorer_of_its_own_takes_the_place_of_the_default(folder, tmp_path):
    place = Path(shutil.copytree(folder, tmp_path / "my_silu"))
    (place / "explorer.py").write_text(EXPLORER)

    def opened():
        explorer = av.explore(av.operator(place))
        return (
            explorer.problem,
            len(explorer.picture["panels"]),
            explorer.words["headline"],
            explorer.words["text"].splitlines()[0],
        )

    assert in_child(opened) == ({}, 1, ["mine"], "in words")


def test_a_folder_that_lacks_a_file_is_refused(tmp_path):
    (tmp_path / "page.py").write_text("")
    with pytest.raises(ValueError, match=r"holds page.py, declaration.py: got .* with page"):
        registry.open_folder(tmp_path)


def test_a_name_that_is_taken_is_refused(tmp_path):
    shutil.copytree(FILLED, tmp_path / "rms_norm")
    with pytest.raises(
        ValueError, match="needs a name of its own: got 'rms_norm', which is taken; rename"
    ):
        registry.open_folder(tmp_path / "rms_norm")


def test_operators_and_their_files_are_listed(capsys):
    assert cli.main(["operators"]) == 0
    text = capsys.readouterr().out
    assert all(op.name in text for op in av.operators()) and "default" in text
    assert (ROOT / "tests" / "reference").is_dir() and registry.missing() == []
