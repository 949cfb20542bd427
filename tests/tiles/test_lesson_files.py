"""The C++ files of the lessons: each is wrong as it is, and right after a learner's mend."""

import json
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from judged import SCHEDULES, unexplained
from judged import judged as in_order
from machine import ROOT

import aclnn_viz as av
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.explorers.tiles_run import picture

pytestmark = pytest.mark.needs("g++")
FILES = ROOT / "notebooks" / "cpp"
EDITS = tomllib.loads(Path(__file__).with_name("lesson_files.toml").read_text("utf-8"))
MENDED, ATTENTION, TRIES = EDITS["mended"], EDITS["attention"], EDITS["tries"]


def tiling(platform, dy, x, rstd, gamma):
    if gamma.size > 4096:
        raise NotImplementedError("rows of at most 4096")
    return av.tiles.Tiling(min(4, max(rstd.size, 1)), rows=rstd.size, columns=gamma.size)


def same(platform, gradOutput, output):
    if gradOutput.shape != output.shape:
        raise NotImplementedError("one shape for both")
    return av.tiles.Tiling(4, n=output.size)


def judged(file, op):
    source = av.tiles.cpp(file)
    program = source[source.names[0]].program(
        op, {"rms_norm": tiling, "sigmoid": same}.get(op), cores=4
    )
    case = av.case(op, shape=(6, 101))
    hazards = [one.kind for one in av.tiles.launch(program, schedule="late", **case.inputs).hazards]
    return hazards, av.check(
        op, program, dtypes=("float32",), depth="quick", allow_unsupported=True
    )


def mended(name, edit, folder):
    """Return a copy of a file with its single wrong text replaced."""
    text = (FILES / f"{name}.cpp").read_text("utf-8")
    assert text.count(edit["before"]) == 1
    text = text.replace(edit["before"], edit["after"])
    (copy := folder / f"{name}.cpp").write_text(text, "utf-8")
    return copy


@pytest.mark.parametrize("name", MENDED)
@pytest.mark.sampled(1)
def test_a_file_is_wrong_and_right_when_it_is_mended(name, tmp_path):
    edit = MENDED[name]
    hazards, result = judged(FILES / f"{name}.cpp", edit["op"])
    assert hazards[:1] == [edit["hazard"]] * bool(edit["hazard"])
    assert hazards or not result.passed
    hazards, result = judged(mended(name, edit, tmp_path), edit["op"])
    assert result.passed and hazards == []


def attention(file):
    """Return a kernel of the lesson on attention, as the lesson calls it."""

    def tiling(platform, query, value, sparseMode, scaleValue, **rest):
        (batch, heads, rows, size), (_, kept, columns, narrow) = query.shape, value.shape
        return av.tiles.Tiling(
            4,
            heads=batch * kept,
            group=heads // kept,
            rows=rows,
            columns=columns,
            size=size,
            narrow=narrow,
            sparseMode=sparseMode,
            scaleValue=scaleValue,
        )

    plan = Plan("attention in blocks", order=SEQUENTIAL, division_ulps=1.5)  # a product by 1 / sum
    return replace(
        av.tiles.cpp(file)["attention_grad"].program("flash_attention_score", tiling),
        plan=plan,
        deterministic=False,
    )


def drawn(how):
    none = dict.fromkeys(("pseShiftOptional", "dropMaskOptional"))
    mask = {} if "sparseMode" in how else {"attenMaskOptional": None}
    return av.case("flash_attention_score", **none | mask | how)


@pytest.mark.parametrize(
    "how",
    [
        *TRIES.values(),
        *(
            {
                "shape": shape,
                "keyIn_shape": keys,
                "value_shape": (*keys[:3], narrow),
                "sparseMode": mode,
                "scaleValue": 0.25,
            }
            for mode in (2, 3)
            for shape, keys, narrow in (
                ((2, 4, 19, 5), (2, 2, 11, 5), 3),
                ((1, 2, 9, 70), (1, 1, 20, 70), 70),
                ((1, 1, 17, 8), (1, 1, 16, 8), 8),
            )
        ),
    ],
    ids=str,
)
@pytest.mark.soak
def test_attention_in_blocks_is_right_in_every_order(how):
    for schedule in SCHEDULES:
        in_order(attention(FILES / "attention.cpp"), drawn(how), schedule=schedule)


@pytest.mark.parametrize("name", ATTENTION)
@pytest.mark.sampled(1)
def test_one_experiment_shows_what_is_wrong_with_a_kernel_of_attention(name, tmp_path):
    def wrong(file):
        program, found = attention(file), {label: drawn(how) for label, how in TRIES.items()}
        runs = {
            label: av.tiles.launch(program, schedule="late", traced=False, **case.inputs)
            for label, case in found.items()
        }
        assert not any(run.hazards for run in runs.values())
        return [
            label for label, run in runs.items() if unexplained(program, found[label], run.outputs)
        ]

    shown = ATTENTION[name]["shown"]
    assert wrong(FILES / f"{name}.cpp") == ([*TRIES] if shown == "all" else [shown])
    shutil.copy(FILES / "attention.h", tmp_path)
    assert wrong(mended(name, ATTENTION[name], tmp_path)) == []


def test_the_lessons_take_all_of_their_files():
    for lesson, names in (
        ("16_your_cpp_kernel", (*MENDED, "whole")),
        ("18_attention", ("attention", *ATTENTION)),
    ):
        cells = "\n".join(
            "".join(cell["source"])
            for cell in json.loads((ROOT / f"notebooks/{lesson}.ipynb").read_text("utf-8"))["cells"]
        )
        assert all(
            f"{name}.cpp" in cells or name.removeprefix("broken_") in cells for name in names
        )
    assert {path.stem for path in FILES.glob("*.cpp")} == {
        *MENDED,
        "whole",
        "attention",
        *ATTENTION,
    }


def test_the_picture_of_a_run_shows_the_first_hazard_at_its_line():
    source = av.tiles.cpp(FILES / "broken_wait.cpp")
    case = av.case("sigmoid", shape=(6, 101))
    run = av.tiles.launch(source["sigmoid_grad"].program("sigmoid", cores=4), **case.inputs)
    seen = picture(run)
    source = seen.panels[1]
    (at,) = (y for y, line in source.y.ticks if line == str(run.hazards[0].line))
    (text,) = (mark.text for mark in source.marks if hasattr(mark, "text") and mark.y == at)
    assert text.startswith("✗ Muls(slope, y") and str(run.hazards[0]) in str(seen)
    untraced = av.tiles.launch(
        av.tiles.programs("hardswish")[0], traced=False, **av.case("hardswish", shape=(9,)).inputs
    )
    with pytest.raises(ValueError, match="a picture of a run needs its trace"):
        picture(untraced)
