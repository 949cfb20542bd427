"""Every notebook runs from top to bottom without an error or a warning, and each lesson holds what a lesson holds."""

import contextlib
import io
import os
import re

import nbclient
import nbformat
import pytest

from aclnn_viz.accuracy import disagreements
from machine import ROOT
from standin.fixtures import roots  # noqa: F401, a fixture

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LESSONS = {
    "01_two_phase_api": "two_phase", "02_hardswish": "hardswish", "03_rms_norm": "rms_norm",
    "04_grid_sampler_2d": "grid_sampler_2d", "05_cross_entropy_loss": "cross_entropy_loss",
    "06_group_norm_swish": "group_norm_swish", "07_numeric_error": "numeric_error",
}
OPERATORS = [name for name in LESSONS if "2" <= name[1] <= "6"]
HAS_ALL = {  # what stands in the code of a lesson on an operator
    "the forward pass": "op.forward(", "its derivation": ".derive()", "the proofs": "theorem.prove().holds",
    "their mutants": "mutant.prove()", "the truth": "op.truth(", "a device": "open_device(", "errata": "recompute(",
    "a bound or a picture of the error": "error_plot(",
}
CHECKS = {  # what a learner changes in the check at the end, and what it says then and not before
    "00_start_here": ("(dxhat * xhat).sum(", "(dxhat * xhat).mean(", r"right on \d+ cases"),
    "01_two_phase_api": ("answer = None", 'answer = "Ascend910B2"', "910B2 .* as you said"),
    "02_hardswish": ("return closed", "return np.where(abs(x) == 3, x == 3, closed)", "2 of 63488 differ: right"),
    "03_rms_norm": ("return inputs", 'return inputs | {"dy": inputs["dy"] * np.eye(len(inputs["dy"]), dtype=bool)[-1:].T}',
                    r"\(64, 16\) passes"),
    "04_grid_sampler_2d": ("low, high = 0.0, 1.0", "low, high = 0.03, 0.07", "gradient: right"),
    "05_cross_entropy_loss": ('"random weights": None', '"random weights": True', "random weights .* as you said"),
    "06_group_norm_swish": ('"as printed": None', '"as printed": True', "as printed .* as you said"),
    "07_numeric_error": ("wrong, error = 5, 2e-4", "wrong, error = 50, 0.2", "found"),
    "10_from_formula_to_tiles": ("answer = None, None", "answer = 2088, 2075", "as you said"),
    "11_what_goes_wrong": ("  # and then?", "; que.FreeTensor(tile)", "silent: mended"),
}


@pytest.fixture(autouse=True)
def no_progress_of_mine(tmp_path, monkeypatch):
    """A run of the puzzles is no attempt of whoever runs the tests."""
    monkeypatch.setenv("ACLNN_VIZ_DATA", str(tmp_path))


def read(path):
    return nbformat.read(path, as_version=4)


def named(name):
    return read(ROOT / "notebooks" / f"{name}.ipynb")


def texts(notebook, kind):
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def run(notebook, stream="stderr", **environment):
    """Execute a notebook and return what its cells wrote to a stream."""
    where = {"metadata": {"path": str(ROOT / "notebooks")}}
    nbclient.NotebookClient(notebook, timeout=120, resources=where).execute(env=os.environ | environment)
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    return [output.text for output in outputs if output.get("name") == stream]


def explorers(notebook):
    """Of each explorer (name, whether a guess is asked for just before, whether moves are suggested just after)."""
    found = []
    for before, cell, after in zip(notebook.cells, notebook.cells[1:], notebook.cells[2:]):
        if shown := re.search(r'av\.explore\("(\w+)"', cell.source):
            found.append((shown[1], "Guess" in before.source, "- " in after.source and "?" in after.source))
    return found


def unknown_to_explorer(notebook, name):
    """What the moves after an explorer name that is no control, no option and no output of it."""
    from aclnn_viz.explorers import subject_of
    from aclnn_viz.explorers.state import controls
    subject = subject_of(name)
    known = {*subject.operator(subject.state()).outputs}
    for control in controls(subject.state):
        known |= {control["label"], *(str(word) for option in control.get("options", ()) for word in option)}
    at = next(k for k, cell in enumerate(notebook.cells) if "av.explore(" in cell.source)
    moves = notebook.cells[at + 1].source
    named = re.findall(r"`([^`]+)`", moves) + re.findall(r"(?<!\*)\*([^*\n]+)\*(?!\*)", re.sub(r"`[^`]+`", "", moves))
    return [word for word in named if word not in known]


def check_at_the_end(lesson, before="", after=""):
    """What the check at the end of a lesson prints, once a learner has changed it."""
    cells = named(lesson).cells
    at = next(k for k, cell in enumerate(cells) if "## Check yourself" in cell.source)
    start = next(cell for cell in cells if cell.cell_type == "code")
    code = "\n".join(cell.source for cell in (start, *cells[at:]) if cell.cell_type == "code")
    assert before in code
    out, names = io.StringIO(), {"disagreements": disagreements}
    with contextlib.redirect_stdout(out):
        exec(code.replace(before, after).replace("av.check(op, mine)", "print(av.check(op, mine))"), names)
    return out.getvalue()


def lacks(notebook):
    """What a lesson on an operator does not hold."""
    code, words = "\n".join(texts(notebook, "code")), texts(notebook, "markdown")
    found = [what for what, sign in HAS_ALL.items() if sign not in code]
    found += [] if sum("uess" in text for text in words) >= 5 else ["questions before answers"]
    return found + ([] if any(text.startswith("## Check yourself") for text in words[-2:]) else ["a check at the end"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")  # of the machinery that runs notebooks; what their cells warn is on stderr
def test_runs_from_top_to_bottom(path):
    assert run(read(path)) == []


@pytest.mark.filterwarnings("default")
def test_an_error_and_a_warning_are_noticed():
    def notebook(code):
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])

    with pytest.raises(nbclient.exceptions.CellExecutionError):
        run(notebook("1 / 0"))
    assert "careful" in run(notebook("import warnings; warnings.warn('careful')"))[0]


def test_the_start_page_comes_first_and_leads_to_every_lesson():
    assert NOTEBOOKS[0].name == "00_start_here.ipynb"
    linked = re.findall(r"\((\w+\.ipynb)\)", "\n".join(texts(read(NOTEBOOKS[0]), "markdown")))
    assert linked == [path.name for path in NOTEBOOKS[1:]]


@pytest.mark.parametrize(("lesson", "name"), LESSONS.items())
def test_a_lesson_shows_its_explorer_after_a_question_and_suggests_moves(lesson, name):
    assert explorers(named(lesson)) == [(name, True, True)]


@pytest.mark.parametrize(("lesson", "name"), LESSONS.items())
def test_the_moves_name_controls_and_options_that_exist(lesson, name):
    assert unknown_to_explorer(named(lesson), name) == []


@pytest.mark.parametrize("lesson", CHECKS)
def test_the_check_at_the_end_tells_a_right_answer_from_none(lesson):
    before, after, says = CHECKS[lesson]
    assert not re.search(says, check_at_the_end(lesson)) and re.search(says, check_at_the_end(lesson, before, after))


@pytest.mark.parametrize("lesson", OPERATORS)
def test_a_lesson_on_an_operator_is_whole(lesson):
    assert lacks(named(lesson)) == []


def test_the_lesson_on_devices_opens_all_three_and_says_what_is_absent():
    code = "\n".join(texts(named("08_on_atlas"), "code"))
    assert all(sign in code for sign in ('open_device("host")', "open_device(CAPSULE)", 'open_device("atlas")'))
    assert "except av.DeviceUnavailable" in code and "error_runs(" in code


def test_the_answer_about_mistakes_that_no_status_tells_of_is_true():
    """Lesson 01: of seventeen mistakes six return 0 from every call, and four of them print the right numbers."""
    from aclnn_viz.explorers.two_phase_data import MISTAKES, State, compute
    found = [compute(State(mistake=mistake)) for mistake in MISTAKES if mistake != "none"]
    silent = [data for data in found if data.failing is None]
    assert (len(found), len(silent), sum(all(data.right.values()) for data in silent)) == (17, 6, 4)
    words = "\n".join(texts(named("01_two_phase_api"), "markdown"))
    assert "of its seventeen mistakes" in words and "Six of them, and four of the six even print" in words


@pytest.mark.needs("g++")
@pytest.mark.filterwarnings("default")
def test_the_lesson_on_devices_takes_an_atlas_when_there_is_one(roots):  # noqa: F811
    """The stand-in for CANN takes the place of the libraries; every table has one more column."""
    root = roots("9.x")
    printed = run(named("08_on_atlas"), "stdout", ASCEND_HOME_PATH=str(root), LD_LIBRARY_PATH=str(root / "lib64"))
    assert "No Atlas" not in printed[0] and "atlas:0 (stand-in)" in printed[0]
    assert any(re.search(r"^ +host +capsule +atlas$", text, re.MULTILINE) for text in printed)


def test_a_lesson_that_lacks_something_is_noticed():
    lesson = named("02_hardswish")
    cut = "mutant.prove()", "Check yourself"
    kept = [cell for cell in lesson.cells if not any(text in cell.source for text in cut)]
    assert lacks(nbformat.v4.new_notebook(cells=kept)) == ["the proofs", "their mutants", "a check at the end"]
    shown = [nbformat.v4.new_code_cell(text) for text in ("1", 'av.explore("hardswish")', "2")]
    assert explorers(nbformat.v4.new_notebook(cells=shown)) == [("hardswish", False, False)]
    shown[2] = nbformat.v4.new_markdown_cell("- `precision`, then *as chosen*, `speed` and *fast*")
    assert unknown_to_explorer(nbformat.v4.new_notebook(cells=shown), "hardswish") == ["speed", "fast"]
