"""Findings of fuzzing, each reduced: refused in three parts, or accepted."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from cases.test_lists import ATK
from checking.test_triage import Written, pt
from in_child import in_child
from machine import ROOT
from trying import memory_limited

import aclnn_viz as av
from aclnn_viz.checking import triage
from aclnn_viz.checking.triage import DAMAGED, NOT_JUDGED
from aclnn_viz.cli import main
from aclnn_viz.devices.cpp_programs import build
from aclnn_viz.explorers.state import read_state
from aclnn_viz.operators import operators, registry
from aclnn_viz.operators.declaration_check import check
from aclnn_viz.operators.prototype import parse
from aclnn_viz.operators.skeleton import new_operator
from aclnn_viz.storage.dumps import read_dumps
from aclnn_viz.storage.dumps import tensors as described_in
from aclnn_viz.storage.results import new_file
from aclnn_viz.sweeps.recipes import draw, recipe
from aclnn_viz.sweeps.store import Store
from aclnn_viz.tiles.compiler import refusal
from aclnn_viz.tiles.files import on_files

compiled = pytest.mark.needs("g++")
SILU, LONG = av.operator("silu"), "a" * 300


def listed(folder, **changed):
    (folder / "atk.json").write_text(
        json.dumps(
            [
                ATK[1]
                | {
                    "inputs": [
                        *ATK[1]["inputs"][:3],
                        {"name": "padding_mode", "type": "attr", "dtype": "int"} | changed,
                    ]
                }
            ]
        )
    )
    return av.cases.read(folder / "atk.json")


def given(array) -> None:
    draw(
        recipe(
            {
                "operator": "tanh",
                "shape": [2],
                "gradOutput": {"array": "float32", "shape": [2], "values": array},
            }
        )
    )


def declared(**changed) -> None:
    check(replace(SILU, **changed), ROOT / "aclnn_viz" / "operators" / "silu" / "declaration.py")


def tensors(**changed) -> dict:
    return SILU.tensors | {"self": replace(SILU.tensors["self"], **changed)}


GATE = (
    "aclnnStatus aclnnGateBackwardGetWorkspaceSize(const aclTensor *gradOutput, const aclTensor *self, int64_t mode, "
    "double lambda, aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor)"
)


def new(name, text):
    """Return a folder made from a prototype with a text replaced."""
    return lambda folder: new_operator(name, GATE.replace(*text), folder)


def on_file(name, rtol=1e-3, cores=None):
    """Run a kernel on the file of that name in the folder."""
    return lambda folder: on_files(
        av.tiles.cpp(ROOT / "tests" / "tiles" / "cpp" / "hardswish_grad.cpp")["hardswish_grad"],
        [f"{folder}/{name}"],
        [],
        [],
        rtol,
        cores=cores,
    )


REFUSED = {
    "outputs alone": (
        new("mine", ("const aclTensor", "aclTensor")),
        "a backward operator takes a tensor",
    ),
    "a parameter twice": (
        new("mine", ("*self,", "*gradOutput,")),
        "a prototype names each parameter once",
    ),
    "a parameter named xp": (
        new("mine", ("*self,", "*xp,")),
        "a prototype names each parameter once, and none xp",
    ),
    "a word of Python as a name": (new("import", ("", "")), "an operator needs a name"),
    "a name that no file can have": (
        new(LONG, ("", "")),
        "an operator needs a name of at most 100 letters",
    ),
    "a folder by its dot": (
        lambda folder: new_file(".", True, lambda old: bool(old.read_bytes())).__enter__(),
        "this result is a file",
        FileExistsError,
    ),
    "a dtype with a comma": (
        lambda folder: av.case("silu", dtype="(,)f4"),
        "dtype must be a floating format",
    ),
    "values that are none": (
        lambda folder: given("é"),
        "an array of a recipe has array, shape and values",
    ),
    "values of another shape": (
        lambda folder: given([1]),
        "an array of a recipe has array, shape and values",
    ),
    "the type of an input": (
        lambda folder: listed(folder, type={}),
        "an input has a name and the type tensor",
    ),
    "a range without end": (
        lambda folder: listed(folder, range_values=[0, "inf"]),
        "a whole number is finite",
    ),
    "a parameter without a name": (
        lambda folder: parse("void f(int);"),
        "a parameter of a C function has a type and a name",
    ),
    "a parameter that is a number": (
        lambda folder: parse("void f(int 1x);"),
        "a parameter of a C function has a type and a name",
    ),
    "a link of many brackets": (
        lambda folder: read_state("#moved=" + "[" * 5000),
        "a state is what a link has after its #",
    ),
    "no call of a dump": (
        lambda folder: triage(folder, call=""),
        "call names one call of the dump",
    ),
    "an output beyond memory": (
        lambda folder: av.operator("embedding").backward(
            **av.case("embedding").inputs | {"numWeights": 2**62}
        ),
        "outputs fit",
        MemoryError,
    ),
    "two parameters of a name": (
        lambda folder: declared(prototype=SILU.prototype.replace("*self", "*gradOutput")),
        "names each parameter once",
    ),
    "a set for a dict": (lambda folder: declared(upstream={"gradOutput"}), "upstream is a dict"),
    "a shape that is a number": (
        lambda folder: declared(tensors=tensors(shape=3)),
        "shape is a str",
    ),
    "an axis that is no name": (
        lambda folder: declared(tensors=tensors(shape="#P")),
        "an axis of self is a name",
    ),
    "a name with and without a star": (
        lambda folder: declared(tensors=tensors(shape="P")),
        "a name with a star is several axes",
    ),
    "a page of another shape": (
        lambda folder: replace(
            SILU,
            page=SimpleNamespace(
                AXES=SILU.page.AXES,
                backward=lambda xp, gradOutput, self: {
                    "gradInput": xp.concat((self, self), axis=0)
                },
            ),
        ).backward(**av.case(SILU, shape=(3,)).inputs),
        "a page gives gradInput the shape",
    ),
}
COMPILED = {
    "a pipe as an input": (
        lambda folder: os.mkfifo(folder / "x.npy") or on_file("x.npy")(folder),
        "an array is taken from",
    ),
    "a pipe of bytes": (
        lambda folder: os.mkfifo(folder / "x") or on_file("x:float32:2")(folder),
        "x holds 2 elements of float32",
    ),
    "lengths below 0": (
        on_file("x:float32:2x-1x-2"),
        "a file is given as FILE.npy or FILE:DTYPE:SHAPE",
    ),
    "a tolerance without end": (on_file("x.npy", float("inf")), "a tolerance is a finite number"),
    "a tolerance below 0": (on_file("x.npy", -1.0), "a tolerance is a finite number"),
    "a text as an array": (
        lambda folder: np.save(folder / "x.npy", np.array(["a"])) or on_file("x.npy")(folder),
        "a file holds one of float32, ",
    ),
    "a number of a kernel that no int can hold": (
        lambda folder: on_files(
            av.tiles.cpp(ROOT / "tests" / "tiles" / "cpp" / "hardswish_grad.cpp")["hardswish_grad"],
            [],
            [],
            ["n=" + "9" * 5000],
            1e-3,
        ),
        "n is a whole number",
        TypeError,
    ),
}


@pytest.mark.parametrize(
    "name", [*REFUSED, *(pytest.param(name, marks=compiled) for name in COMPILED)]
)
def test_it_is_refused_in_three_parts(name, tmp_path):
    call, part, *kind = (REFUSED | COMPILED)[name]
    written = Written(tmp_path / "dump")
    written.silu(0)
    written.done()
    with pytest.raises((*kind, ValueError)[0], match=f"{part}.*: got .*; "):
        call(tmp_path)


def test_a_place_that_no_file_can_have_is_no_operator():
    with pytest.raises(ValueError, match=".*: got .*; "):
        av.operator(f"/{LONG}")
    assert not registry.holds_operator(LONG)


def test_a_small_file_needs_little_memory(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(3, np.float32))
    assert in_child(lambda: memory_limited() or av.load(tmp_path / "x.npy").sum()) == 3


def test_a_store_whose_error_is_no_text_is_called_altered(tmp_path):
    with Store(path := tmp_path / "s.sqlite") as store:
        store.run("1", "{}")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE runs", b"CREATE \x8cABLE runs"))
    with pytest.raises(
        ValueError, match="a store is an SQLite file of this kit, whole and unaltered: got .*; "
    ):
        Store(path, reading=True)


def test_an_extreme_of_any_size_is_compared(tmp_path):
    (written := Written(tmp_path / "dump")).silu(0)
    described = (
        written.data["Functional.silu.0.forward"]["output"][0]
        if written.data["Functional.silu.0.forward"]["output"]
        else written.data["Functional.silu.0.backward"]["output"][0]
    )
    described["Max"] = 10**40
    (dump,) = read_dumps(written.done())
    with pytest.raises(ValueError, match="has the Max that dump.json says, 1000.*: got .*; "):
        dump.tensor(described)


def test_a_folder_that_was_refused_is_no_operator_and_is_read_again_when_mended(tmp_path):
    folder = tmp_path / "my_once"
    folder.mkdir()
    for name in ("page.py", "declaration.py"):
        (folder / name).write_text(
            (ROOT / "tests" / "elsewhere" / "my_silu" / name)
            .read_text()
            .replace("my_silu", "my_once")
        )
    right = (folder / "declaration.py").read_text()
    (folder / "declaration.py").write_text(right.replace('like="self"', 'like="gradient"'))
    with pytest.raises(ValueError, match="like names one of"):
        av.operator(folder)
    assert "my_once" not in [one.name for one in operators()]
    (folder / "declaration.py").write_text(right)
    assert av.operator(folder).like == "self"


def test_a_pipe_is_no_source(tmp_path, capsys):
    os.mkfifo(pipe := tmp_path / "pipe.cpp")
    for call in (lambda: av.tiles.cpp(pipe), lambda: build([pipe])):
        with pytest.raises(
            ValueError,
            match="the text file can be read: got pipe.cpp, which is no regular file; name another",
        ):
            call()
    (tmp_path / "large").write_bytes(bytes(1 + (1 << 20)))
    for name, said in (
        (pipe, "got pipe.cpp, which is no regular file; "),
        (tmp_path / "large", "got large with 1048577 bytes, "),
        ("a\0b", "a place is a path: got "),
        ("\ud800", "a place is a path: got "),
    ):
        assert main(["new", "--prototype", str(name)]) == 2 and said in capsys.readouterr().err


@compiled
def test_no_core_is_no_number_of_cores(tmp_path):
    np.save(tmp_path / "x.npy", np.ones(64, np.float32))
    with pytest.raises(ValueError, match="cores .*: got 0; "):
        on_file("x.npy", cores=0)(tmp_path)


def test_parameters_that_are_words_of_python_are_renamed_all(tmp_path):
    made = new_operator("mine", GATE.replace("mode", "class"), tmp_path)
    assert "c_names={'class_': 'class', 'lambda_': 'lambda'}" in (
        made / "declaration.py"
    ).read_text("utf-8")
    compile((made / "declaration.py").read_text("utf-8"), "declaration.py", "exec")


def test_a_tensor_of_too_many_axes_is_damaged(tmp_path):
    (written := Written(tmp_path / "dump")).silu(0)
    run = written.done()
    for path in (run / "step0" / "rank0" / "dump_tensor_data").glob("*backward.output*"):
        pt(path, np.ones(1, np.float32), shape=(1,) * 70, strides=(1,) * 70)
    assert [one.verdict for one in triage(run).calls] == [DAMAGED]


def test_statistics_of_any_size_are_read(tmp_path):
    (written := Written(tmp_path / "dump")).silu(0)
    for entry in written.data.values():
        for described in described_in(entry):
            described.update(Max=10**400, data_name=None)
    assert [one.verdict for one in triage(written.done()).calls] == [NOT_JUDGED]


def test_what_steers_a_terminal_is_escaped_in_the_lines_of_a_compiler():
    said = refusal("x.cpp:1:2: error: #error \x1b[2J\n\there", Path("x.cpp"))
    assert "\x1b" not in said and said.endswith("#error \\x1b[2J\n        here")


def test_an_order_of_landing_that_is_no_number_is_refused_in_words(tmp_path, capsys):
    (tmp_path / "p.cpp").write_text("int main() { return 0; }")
    for text in ("²", "9" * 5000):
        assert main(["cpp", "run", str(tmp_path / "p.cpp"), "--schedule", text]) == 2
        assert re.search(": got .*; ", capsys.readouterr().err)
