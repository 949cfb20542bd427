"""Three operators of folders elsewhere, each of two files: a declaration is enough for every part of the kit."""

import os
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path
from shutil import copytree, ignore_patterns
from types import ModuleType

import numpy as np
import pytest
from in_child import in_child
from machine import ROOT, SOAK
from standin.build import build, compile_program

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.cases import default
from aclnn_viz.cases.default import Draw
from aclnn_viz.cases.suites import deep
from aclnn_viz.dtypes import FLOAT32
from aclnn_viz.explorers import default as explorers
from aclnn_viz.operators.parameters import REQUIRED
from aclnn_viz.verification import numeric
from aclnn_viz.words.messages import language

ELSEWHERE = Path(__file__).parent / "elsewhere"
MISTAKES = tomllib.loads((ELSEWHERE / "mistakes.toml").read_text("utf-8"))
NAMES = tuple(MISTAKES)


@pytest.fixture(params=NAMES)
def op(request):
    return av.operator(ELSEWHERE / request.param)


def mistaken_page(op, before, after):
    text = Path(op.page.__file__).read_text()
    head, backward, rest = text.rpartition("\ndef backward")
    edited = (
        text.replace(before, after)
        if before not in rest
        else head + backward + rest.replace(before, after)
    )
    page = ModuleType("page")
    exec(compile(edited, op.page.__file__, "exec"), page.__dict__)
    return page


def mistaken(op, before, after):
    return replace(op, page=mistaken_page(op, before, after)).backward


def test_two_files_have_at_most_110_lines(op):
    files = sorted(Path(op.page.__file__).parent.glob("*.py"))
    files = [path for path in files if path.name != "peer.py"]
    assert [path.name for path in files] == ["declaration.py", "page.py"]
    assert sum(len(path.read_text().splitlines()) for path in files) <= 110
    assert max(len(line) for path in files for line in path.read_text().splitlines()) <= 128


@pytest.mark.sampled(1)
def test_the_right_kernel_passes_and_mistakes_are_named(op):
    depth = "normal" if SOAK else "quick"
    assert av.check(op, op.backward, depth=depth).passed
    for before, after in MISTAKES[op.name]:
        found = av.check(op, mistaken(op, before, after), depth=depth)
        assert not found.passed and found.counterexample is not None, before
        assert found.explanation is not None and "aclnn_viz" not in str(found), before


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sampled(1)
def test_each_is_proved_and_its_mistakes_are_not(name):
    op = av.operator(ELSEWHERE / name)
    result = av.prove(op)
    assert result.holds and len(result.theorems) == 1, result
    for mistake in MISTAKES[name]:
        assert not av.prove(op, page=mistaken_page(op, *mistake)).holds, mistake


def test_the_smallest_counterexample_has_the_least_lengths_that_fit():
    op = av.operator("avg_pool")
    wrong = mistaken(op, "share * xp.astype(inside, self.dtype)", "share")
    case = av.check(op, wrong, depth="quick").counterexample.case
    # a padding and a stride of 1 make two windows of one element
    assert case.inputs["self"].size == 1 and case.inputs["gradOutput"].size <= 2


@pytest.mark.sampled(1)
def test_every_check_of_the_verification_holds(op):
    assert [row for check in numeric.checks([op]) if not (row := check()).passed] == []


def test_the_emulated_device_gives_the_bits_of_the_page(op):
    with av.open_device("host") as device:
        for mode in op.modes:
            inputs = av.case(op, **mode).inputs
            assert all(
                np.array_equal(value, op.backward(**inputs)[name])
                for name, value in device.run(op, **inputs).items()
            )


def test_the_explorer_shows_each_mode_with_lengths_that_fit(op):
    subject = explorers.of(op)
    state = subject.state()
    for name in (field for field in vars(state) if field.startswith("axis_")):
        shown = subject.show(subject.compute(replace(state, **{name: getattr(state, name) + 1})))
        assert len(shown.panels) > 2 and shown.headline
    if op.name == "my_swiglu":
        odd = subject.compute(replace(state, axis_1=7))
        assert odd.inputs["x"].shape == (4, 8) and odd.notices == (
            "The lengths (4, 7) do not fit; these are (4, 8).",
        )
    for mode in op.modes:
        moved = {
            name: value if isinstance(value, bool | int) else repr(value)
            for name, value in mode.items()
        }
        assert subject.compute(replace(state, **moved)).inputs.items() >= mode.items()


def test_the_program_in_cpp_names_every_attribute(op):
    text = av.cpp_sample(op, av.case(op))
    assert f"{op.aclnn_name}GetWorkspaceSize(" in text and all(
        p.name in text for p in op.parameters
    )


@pytest.mark.sampled(2)
def test_a_sweep_runs_it(op, tmp_path):
    def swept():
        return av.sweep(
            [{"operator": op.name, **mode} for mode in av.operator(ELSEWHERE / op.name).modes],
            store=tmp_path / "runs.sqlite",
        ).passed

    assert in_child(swept)


def test_no_case_of_a_deep_check_is_drawn_with_a_length_that_does_not_fit(op):
    assert [default.fitted(op, options) for options in default.suite(op)] == list(default.suite(op))
    for step in list(deep(op, op.modes, ("float32",)))[:40]:
        assert step.recipe(op).case(0)


def test_a_line_of_the_page_is_shown_once_in_every_language():
    def lines():
        op = av.operator(ELSEWHERE / "my_softmax")
        language("zh")
        return str(av.check(op, mistaken(op, *MISTAKES["my_softmax"][1])).explanation)

    assert in_child(lines).count("gradOutput + xp.sum") == 1


@pytest.mark.needs("g++")
def test_their_programs_in_cpp_compile_and_run_against_the_stand_in(tmp_path):
    def compiled():
        (tmp_path / "root").mkdir()
        found, ops = {}, [av.operator(ELSEWHERE / name) for name in NAMES]
        root = build(tmp_path / "root", "9.x")
        for op in ops:
            (source := tmp_path / f"{op.name}.cpp").write_text(
                av.cpp_sample(op, case := av.case(op))
            )
            done = subprocess.run(
                [compile_program(source, root, tmp_path / op.name)], capture_output=True, text=True
            )
            found[op.name] = (
                done.returncode,
                done.stdout.count(f"{op.main}[") == op.backward(**case.inputs)[op.main].size,
            )
        return found

    assert in_child(compiled) == dict.fromkeys(NAMES, (0, True))


def test_a_case_says_which_attribute_has_no_value():
    op = av.operator("avg_pool")
    op = replace(
        op,
        attributes=op.attributes
        | {"countIncludePad": replace(op.attributes["countIncludePad"], default=REQUIRED)},
    )
    with pytest.raises(
        ValueError,
        match="avg_pool needs countIncludePad: got no value and no default; pass it, or declare a default",
    ):
        default.draw(op, Draw(FLOAT32, 0, {}), (2, 2, 5, 4))


def test_the_commands_that_the_docs_name_for_a_folder_work(tmp_path):
    commands = [
        line.partition("#")[0].split()
        for line in (ROOT / "docs" / "adding_an_operator.md").read_text("utf-8").splitlines()
        if "./my_op" in line and line.startswith("aclnn-viz")
    ]
    assert len(commands) == 5
    # earlier tests try its parts
    commands = [one for one in commands if SOAK or "verify" not in one]
    copytree(ELSEWHERE / "my_softmax", tmp_path / "my_op", ignore=ignore_patterns("__pycache__"))
    declaration = tmp_path / "my_op" / "declaration.py"
    declaration.write_text(
        declaration.read_text("utf-8").replace('"my_softmax"', '"my_op"'), "utf-8"
    )
    (tmp_path / "my_kernel.py").write_text(
        "def backward(gradOutput, output, dim):\n"
        "    dy, y = gradOutput.astype('float64'), output.astype('float64')\n"
        "    return {'gradInput': (y * (dy - (dy * y).sum(dim, keepdims=True))).astype(output.dtype)}\n",
        "utf-8",
    )

    def ran():
        os.chdir(tmp_path)
        os.cpu_count = lambda: 1  # processes that prove: each imports all modules
        return [cli.main(rest) for _, *rest in commands]

    assert in_child(ran) == [0] * len(commands)
