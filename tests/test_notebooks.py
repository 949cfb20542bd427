"""Each lesson has its required parts, and a sample of them runs from top to bottom without an error or a
warning.

`make site` runs all of them: tests/site/check_lessons.py.
"""

import contextlib
import io
import re
import tomllib

import nbclient
import nbformat
import pytest
from in_child import stand_in
from machine import ROOT, SOAK
from tables import table

from aclnn_viz.accuracy import disagreements
from aclnn_viz.words.messages import LANGUAGES, tr
from notebooks.gallery import outputs

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
HELD = tomllib.loads((ROOT / "tests" / "lessons.toml").read_text("utf-8"))
LESSONS, CHECKS = HELD["explorers"], HELD["checks"]
ZOOMED = "06_group_norm_swish 10_from_formula_to_tiles 20_softmax_and_its_losses"
SHOWN = [*LESSONS.items(), *((lesson, "zoom") for lesson in ZOOMED.split())]
OPERATORS = [name for name in LESSONS if "02" <= name[:2] <= "06"]
HAS_ALL = {  # required code of a lesson on an operator
    "its derivation": ".derive()",
    "steps of it": "how[",
    "proofs with mutants": "derivations.evidence(",
    "the truth": "op.truth(",
    "a device": "open_device(",
    "errata": "recompute(",
    "the conventions": "conventions.recompute(",
    "a picture of the error": "error_plot(",
}


@pytest.fixture(autouse=True)
def no_progress_of_mine(tmp_path, monkeypatch):
    """Keep the puzzles' runs out of the tester's progress."""
    monkeypatch.setenv("ACLNN_VIZ_DATA", str(tmp_path))


def named(name):
    return outputs.read(ROOT / "notebooks" / f"{name}.ipynb")


def needed(path):
    """Return the tools that the cells of a lesson need; Chinese lessons need Chinese figures."""
    cells, chinese = path.read_text(encoding="utf-8"), outputs.language_of(path) == "zh"
    return ["g++"] * ("tiles.cpp(" in cells) + ["chinese font"] * (chinese and "image/png" in cells)


def texts(notebook, kind):
    return [cell.source for cell in notebook.cells if cell.cell_type == kind]


def printed(notebook, stream="stderr"):
    """Return the cells' output to a stream."""
    found = [
        output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs
    ]
    return [output.text for output in found if output.get("name") == stream]


def explorers(notebook):
    """Return for each explorer (name, whether a guess precedes it, whether moves follow it)."""
    found = []
    for before, cell, after in zip(notebook.cells, notebook.cells[1:], notebook.cells[2:]):
        if shown := re.search(r'av\.explore\("(\w+)"', cell.source):
            found.append(
                (shown[1], "Guess" in before.source, "- " in after.source and "?" in after.source)
            )
    return found


def unknown_to_explorer(notebook, name):
    """Return names in the moves after an explorer that are no control, option or output of it."""
    from aclnn_viz.explorers import subject_of

    subject = subject_of(name)
    known = {*subject.operator(subject.state()).outputs, tr("Reset")}
    for control in subject.controls():
        known |= {
            control["label"],
            *(str(word) for option in control.get("options", ()) for word in option),
        }
    at = next(k for k, cell in enumerate(notebook.cells) if f'av.explore("{name}"' in cell.source)
    moves = notebook.cells[at + 1].source
    if name == "zoom":  # a term is clicked where the picture names it
        program = re.findall(r'program="(\w+)"', notebook.cells[at].source)
        state = subject.state(**({"program": program[0]} if program else {}))
        known |= {term.name for term in subject.compute(state).zoomed.terms}
    named = re.findall(r"`([^`]+)`", moves) + re.findall(
        r"(?<!\*)\*([^*\n]+)\*(?!\*)", re.sub(r"`[^`]+`", "", moves)
    )
    return [word for word in named if word not in known]


def check_at_the_end(lesson, before, after):
    """Return the output of a lesson's final check after a learner's change."""
    cells = named(lesson).cells
    at = next(k for k, cell in enumerate(cells) if "## Check yourself" in cell.source)
    start = next(cell for cell in cells if cell.cell_type == "code")
    defined = [
        cell
        for cell in cells[:at]
        if cell.cell_type == "code"
        and all(line[:4] in ("def ", "    ", "") for line in cell.source.splitlines())
    ]
    code = "\n".join(
        cell.source for cell in (start, *defined, *cells[at:]) if cell.cell_type == "code"
    )
    assert before in code
    out, names = io.StringIO(), {"disagreements": disagreements}
    with contextlib.chdir(ROOT / "notebooks"), contextlib.redirect_stdout(out):
        exec(
            code.replace(before, after).replace("av.check(op, mine)", "print(av.check(op, mine))"),
            names,
        )
    return out.getvalue()


def lacks(notebook):
    """Return the missing parts of a lesson on an operator."""
    code, words = "\n".join(texts(notebook, "code")), texts(notebook, "markdown")
    found = [what for what, sign in HAS_ALL.items() if sign not in code]
    found += [] if sum("uess" in text for text in words) >= 5 else ["questions before answers"]
    return found + (
        []
        if any(text.startswith("## Check yourself") for text in words[-2:])
        else ["a check at the end"]
    )


@pytest.fixture(scope="module")
def kernel():
    """Yield one kernel for all lessons, because imports take most of a short lesson's time."""
    with outputs.kernel() as client:
        yield client


# A Chinese lesson runs right after its English one, in the same kernel and without drawing: its pictures are those of the
# English one with other words, and their descriptions have these words. Drawing takes half of a lesson's time.
DRAWN = ("02_hardswish", "07_numeric_error")
IN_CHINESE = ("02_hardswish",)
DEAR = ("16_your_cpp_kernel",)  # its files have tests of their own
EDITIONS = [
    pytest.param(each, marks=pytest.mark.needs(*needed(each)))
    for path in NOTEBOOKS
    for each in outputs.editions(path).values()
    if SOAK or path.stem not in DEAR and (each == path or path.stem in IN_CHINESE)
]


def edition(path):
    return str(path.relative_to(ROOT / "notebooks").with_suffix(""))


@pytest.mark.parametrize("path", EDITIONS, ids=edition)
@pytest.mark.sampled(4)
# warnings of the notebook machinery; cells warn on stderr
@pytest.mark.filterwarnings("default")
def test_runs_from_top_to_bottom_and_prints_what_is_committed(path, kernel):
    assert_prints_what_is_committed(path, kernel)


def assert_prints_what_is_committed(path, kernel):
    drawn = outputs.language_of(path) == "en" and (SOAK or path.stem in DRAWN)
    fresh = outputs.executed(outputs.read(path), kernel, outputs.language_of(path), drawn)
    assert printed(fresh) == []
    found = list(outputs.stale(outputs.read(path), fresh, drawn))
    name = path.relative_to(ROOT / "notebooks").as_posix()
    assert found == [], f"make lessons ONLY={name[: -len(path.name) + 2]}, and read what changed"


@pytest.mark.filterwarnings("default")
def test_pictures_are_left_out_only_when_asked_and_then_their_words_are_there(kernel):
    code = "import matplotlib.pyplot as plt\n_ = plt.figure().subplots().set(title='as it is')"
    found = [
        outputs.executed(
            nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]),
            kernel,
            pictures=wanted,
        )
        for wanted in (False, True)
    ]
    left, drawn = (book.cells[0].outputs[0].data for book in found)
    assert (left["text/plain"], left["image/png"]) == (drawn["text/plain"], "") and len(
        drawn["image/png"]
    ) > 1000
    assert [*outputs.stale(found[1], found[0], pictures=False)] == []


@pytest.mark.filterwarnings("default")
def test_an_error_and_a_warning_are_noticed(kernel):
    def notebook(code):
        return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])

    with pytest.raises(nbclient.exceptions.CellExecutionError):
        outputs.executed(notebook("1 / 0"), kernel)
    assert (
        "careful"
        in printed(outputs.executed(notebook("import warnings; warnings.warn('careful')"), kernel))[
            0
        ]
    )


@pytest.mark.filterwarnings("default")
def test_a_lesson_knows_no_names_of_the_one_before(kernel):
    for code in ("left = 1", "left"):
        with (
            pytest.raises(nbclient.exceptions.CellExecutionError)
            if code == "left"
            else contextlib.nullcontext()
        ):
            outputs.executed(
                nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)]), kernel
            )


def test_lessons_are_small_enough_to_be_cloned():
    for language in LANGUAGES:
        assert sum(path.stat().st_size for path in outputs.lessons(language)) < 4_000_000


def changed(notebook, old, new):
    """Return a copy of a notebook with a text, or the first picture, of its outputs replaced."""
    copy = nbformat.reads(nbformat.writes(notebook), as_version=4)
    for cell in copy.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if old is None and "image/png" in data:
                data["image/png"] = new(data["image/png"])
                return copy
            for held, name in ((output, "text"), (data, "text/plain"), (data, "text/html")):
                if old is not None and old in held.get(name, ""):
                    held[name] = held[name].replace(old, new, 1)
                    return copy
    raise AssertionError(f"no output holds {old}")


@pytest.mark.parametrize(
    ("lesson", "old", "new"),
    table("""
02_hardswish         | 2001 explained    | 2000 explained
02_hardswish         | 0.004167          | 0.004267
zh/02_hardswish      | 折点处没有导数            | 拐点处没有导数
03_rms_norm          | against N         | against row
03_rms_norm          | 7e-04             | 5e-04
08_on_atlas          | host (prediction) | atlas:0
13_judge_your_kernel | right on          | wrong on
"""),
)
def test_a_stale_word_and_a_stale_number_are_noticed(lesson, old, new):
    committed = named(lesson)
    assert len(list(outputs.stale(changed(committed, old, new), committed))) == 1


def test_a_stale_picture_and_a_missing_output_are_noticed():
    committed, other = named("03_rms_norm"), iter(named("04_grid_sampler_2d").cells)
    png = next(
        o.data["image/png"]
        for c in other
        for o in c.get("outputs", [])
        if "image/png" in o.get("data", {})
    )
    assert len(list(outputs.stale(changed(committed, None, lambda held: png), committed))) == 1
    bare = named("03_rms_norm")
    bare.cells[1].outputs = []
    assert list(outputs.stale(bare, committed)) == [
        "cell 1: 0 outputs are committed, today there are 1"
    ]


def test_what_no_two_runs_share_is_no_difference():
    for one, other in (
        ("<f at 0x7f0d3af8>, 12.5 ms", "<f at 0x55d3af8aa0>, 3 s"),
        ("用时3 s内", "用时0.1 s内"),
        ("in /tmp/a_1/x.bin", "in /tmp/b/c/x.bin"),
        ("2026-11-22T07:04:08+00:00", "2027-01-02T17:04:08+00:00"),
        ("3.1e-08", "3.2e-08"),
        ("1.8e+308, 0.50001", "1.8e+308, 0.50002"),
    ):
        assert outputs.differing(*map(outputs.settled, (one, other))) is None
    for one, other in (
        ("3 of 5", "4 of 5"),
        ("3.1e-08", "4.1e-08"),
        ("0.5000", "0.5020"),
        ("a\nb", "a"),
        ("-1.5", "1.5"),
    ):
        assert outputs.differing(one, other) is not None


def test_the_start_page_comes_first_and_leads_to_every_lesson():
    assert NOTEBOOKS[0].name == "00_start_here.ipynb"
    linked = re.findall(r"\((\w+\.ipynb)\)", "\n".join(texts(named("00_start_here"), "markdown")))
    # the links before them are other entrances
    assert linked[2:] == [path.name for path in NOTEBOOKS[1:]]
    assert [name[:2] for name in linked[:2]] == ["13", "14"]
    assert (
        explorers(named("00_start_here")) == [("rms_norm", True, False)]
        and "av.explore" in texts(named("00_start_here"), "code")[0]
    )


def guessed(notebook):
    """Yield the code cells that answer a previous guess, and the text after them."""
    cells = notebook.cells
    for at, cell in enumerate(cells[:-1]):
        if (
            cell.cell_type == "markdown"
            and re.search(r"\b[Gg]uess", cell.source)
            and cells[at + 1].cell_type == "code"
        ):
            behind = next(
                (k for k in range(at + 1, len(cells)) if cells[k].cell_type == "markdown"), None
            )
            if behind:
                yield (
                    [
                        one
                        for one in cells[at + 1 : behind]
                        if one.outputs
                        and not any("still" in out.get("metadata", {}) for out in one.outputs)
                    ],
                    cells[behind],
                )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_answers_a_guess_is_folded(path):
    shown = [cell for cell in outputs.read(path).cells]
    asked = next(
        (k for k, cell in enumerate(shown) if "## Check yourself" in cell.source), len(shown)
    )
    assert all(
        cell.metadata.get("jupyter", {}).get("outputs_hidden")
        for cell in shown[asked:]
        if cell.get("outputs")
    )
    for code, answer in guessed(outputs.read(path)):
        assert all(one.metadata.get("jupyter", {}).get("outputs_hidden") for one in code), (
            answer.source[:60]
        )
        assert answer.source.startswith(
            ("<details><summary>Answer</summary>\n\n", "#")
        ) or answer.source.startswith("Moves worth making"), (answer.id, answer.source[:60])


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_shows_its_explorers_after_a_question_and_suggests_moves(lesson):
    assert explorers(named(lesson)) == [
        (name, True, True) for other, name in SHOWN if other == lesson
    ]


@pytest.mark.parametrize(("lesson", "name"), SHOWN)
def test_the_moves_name_controls_and_options_that_exist(lesson, name):
    assert unknown_to_explorer(named(lesson), name) == []


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(name, marks=pytest.mark.needs(*needed(ROOT / "notebooks" / f"{name}.ipynb")))
        for name in CHECKS
    ],
)
@pytest.mark.sampled(7)
# NumPy's warning for the suites' rows of length 0
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:invalid value encountered in:RuntimeWarning")
def test_the_check_at_the_end_tells_a_right_answer_from_none(lesson):
    """Another test compares the committed output without an answer."""
    before, after, says = CHECKS[lesson]
    cells = named(lesson).cells
    at = next(k for k, cell in enumerate(cells) if "## Check yourself" in cell.source)
    found = [output for cell in cells[at:] for output in cell.get("outputs", ())]
    given = [
        text for one in found if (text := one.get("text") or one.get("data", {}).get("text/html"))
    ]
    assert given and not any(re.search(says, text) for text in given)
    assert re.search(says, check_at_the_end(lesson, before, after))


@pytest.mark.parametrize("lesson", OPERATORS)
def test_a_lesson_on_an_operator_is_whole(lesson):
    assert lacks(named(lesson)) == []


def test_the_lesson_on_devices_opens_all_three_and_says_what_is_absent():
    code = "\n".join(texts(named("08_on_atlas"), "code"))
    assert all(
        sign in code
        for sign in ('open_device("host")', "open_device(CAPSULE)", 'open_device("atlas")')
    )
    assert "except av.DeviceUnavailable" in code and "error_runs(" in code


def test_the_answer_about_mistakes_that_no_status_tells_of_is_true():
    """Lesson 01: of seventeen mistakes six return 0 from every call, and four of them print the right numbers."""
    from aclnn_viz.explorers.fields import TABLES
    from aclnn_viz.explorers.two_phase_data import State, ran

    found = [
        ran(State(mistake=name))
        for name, _ in TABLES["two_phase"]["mistake"]["options"]
        if name != "none"
    ]
    silent = [data for data in found if data.failing is None]
    assert (len(found), len(silent), sum(all(data.right.values()) for data in silent)) == (17, 6, 4)
    words = "\n".join(texts(named("01_two_phase_api"), "markdown"))
    assert "offers seventeen mistakes" in words and "With six. Four of the six even print" in words


@pytest.mark.soak
@pytest.mark.needs("g++")
@pytest.mark.filterwarnings("default")
def test_the_lesson_on_devices_takes_an_atlas_when_there_is_one():
    """The stand-in for CANN takes the place of the libraries; every table has one more column."""
    root = stand_in("9.x")
    with outputs.kernel(ASCEND_HOME_PATH=str(root), LD_LIBRARY_PATH=str(root / "lib64")) as other:
        found = printed(outputs.executed(named("08_on_atlas"), other), "stdout")
    assert not any("CANN's libraries" in text for text in found)
    assert any(re.search(r"^ +host +capsule +atlas$", text, re.MULTILINE) for text in found)


def test_a_lesson_that_lacks_something_is_noticed():
    lesson = named("02_hardswish")
    cut = "derivations.evidence(", "Check yourself"
    kept = [cell for cell in lesson.cells if not any(text in cell.source for text in cut)]
    assert lacks(nbformat.v4.new_notebook(cells=kept)) == [
        "proofs with mutants",
        "the conventions",
        "a check at the end",
    ]
    shown = [nbformat.v4.new_code_cell(text) for text in ("1", 'av.explore("hardswish")', "2")]
    assert explorers(nbformat.v4.new_notebook(cells=shown)) == [("hardswish", False, False)]
    shown[2] = nbformat.v4.new_markdown_cell("- `dtype`, then *bfloat16*, `speed` and *fast*")
    assert unknown_to_explorer(nbformat.v4.new_notebook(cells=shown), "hardswish") == [
        "speed",
        "fast",
    ]
