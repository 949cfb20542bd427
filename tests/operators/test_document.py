"""The vendor's documents, here one in their form, become folders."""

import re

import pytest
from gate_document import DOCUMENT

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.operators.document import read
from aclnn_viz.operators.skeleton import gaps, new_operator


def test_a_document_is_read():
    found = read(DOCUMENT)
    assert (found.aclnn_name, found.header, found.library) == (
        "aclnnGateBackward",
        "aclnn_gate.h",
        "ops-cv",
    )
    assert found.formats == {
        "A2": ("float32", "float16", "bfloat16"),
        "INFERENCE": ("float32", "float16"),
        "ASCEND_950": ("float32", "float16", "bfloat16"),
    }
    assert found.codes == (
        ("161002", "ACLNN_ERR_PARAM_INVALID", "mode不在范围内。"),
        ("161002", "ACLNN_ERR_PARAM_INVALID", "shape不一致。"),
    )
    assert (
        found.rows["mode"].values == {0: "none", 1: "mean"} and found.rows["maskOptional"].optional
    )
    assert (
        found.rows["gradInput"].output
        and found.rows["gradInput"].alike == "self"
        and "main()" in found.sample
    )


@pytest.mark.parametrize(
    "text,message",
    [
        ("", "declares one function aclnn...GetWorkspaceSize: got an empty file; pass"),
        (
            DOCUMENT + DOCUMENT.replace("Gate", "Door"),
            "one function aclnn...GetWorkspaceSize: got aclnnDoorBackward, aclnnGateBackward; pass",
        ),
        (
            re.sub("<td>.*?</td>", "", DOCUMENT),
            "the document of aclnnGateBackward has a table of its parameters: got none; pass --prototype",
        ),
    ],
)
def test_what_is_no_document_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "gate.md").write_text(DOCUMENT, encoding="utf-8")
    assert cli.main(["new", "--doc", str(tmp_path / "gate.md"), "--to", str(tmp_path)]) == 0
    return tmp_path / "gate"


def test_a_prototype_is_read_with_white_space_before_its_parameters(tmp_path):
    assert (
        new_operator(
            "", DOCUMENT.replace("GetWorkspaceSize(\n", "GetWorkspaceSize\n(\n"), tmp_path
        ).name
        == "gate"
    )


def test_its_folder_has_gaps_in_the_page_alone(folder):
    assert sorted(path.name for path in folder.iterdir()) == [
        "declaration.py",
        "page.py",
        "sample.cpp",
        "test_gate.py",
    ]
    assert {line.partition(":")[0] for line in gaps(folder)} == {"page.py"}


def test_its_declaration_opens_once_the_page_is_filled_in(folder, tmp_path):
    page = folder / "page.py"
    page.write_text(page.read_text().replace("GAP", "-"))
    op = av.operator(folder.rename(tmp_path / "gated"))
    assert (
        op.tensors["gradInput"].shape
        == op.tensors["self"].shape
        == op.tensors["gradOutput"].shape
        == "*R"
    )
    assert op.tensors["maskOptional"].dtype == "uint8" and op.tensors["maskOptional"].optional
    assert op.attributes["mode"].values == {0: "none", 1: "mean"} and op.c_names == {
        "lambda_": "lambda"
    }
    assert (
        "161002 ACLNN_ERR_PARAM_INVALID: mode"
        in (tmp_path / "gated" / "declaration.py").read_text()
    )


@pytest.mark.parametrize(
    "arguments,message",
    [
        (["new"], "one of the arguments --prototype --doc --forward is required"),
        (["new", "--doc", "a", "--prototype", "b"], "not allowed with argument"),
        (["new", "--doc", "a", "--to", "b", "--in-repo"], "not allowed with"),
    ],
)
def test_new_takes_one_source_and_one_place(arguments, message, capsys):
    with pytest.raises(SystemExit):
        cli.main(arguments)
    assert message in capsys.readouterr().err


def test_prototypes_are_read_with_and_without_a_semicolon(tmp_path):
    text = "aclnnStatus aclnnAGetWorkspaceSize(const aclTensor *x, aclTensor *y, uint64_t *workspaceSize, aclOpExecutor **executor)"
    for number, end in enumerate((";", "", "\n\naclnnStatus aclnnA(void *workspace)")):
        (tmp_path / "a.h").write_text(text + end)
        assert (
            cli.main(
                ["new", f"a{number}", "--prototype", str(tmp_path / "a.h"), "--to", str(tmp_path)]
            )
            == 0
        )


def test_among_the_kits_own_it_has_no_tests_beside(tmp_path):
    assert sorted(
        path.name for path in new_operator("", DOCUMENT, tmp_path, in_repo=True).iterdir()
    ) == ["declaration.py", "page.py", "sample.cpp"]
