"""The C++ files of the lessons: each is wrong as it lies there, and right when it is mended as a learner would."""

import json
from dataclasses import replace

import pytest
from judged import SCHEDULES, judged as in_order, unexplained

import aclnn_viz as av
from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.explorers.tiles_run import picture
from machine import ROOT

pytestmark = pytest.mark.needs("g++")
FILES = ROOT / "notebooks" / "cpp"
BARRIER = "PipeBarrier<PIPE_V>();\n"
CLEAR = (
    "sumQue.EnQue(sum);\n sum = sumQue.DeQue<float>();\n if (GetBlockIdx() == 0) DataCopyPad(dgammaGm, sum, row);\n"
    f"sumQue.FreeTensor(sum);\n SyncAll();\n sum = sumQue.AllocTensor<float>();\n Duplicate(sum, 0.0f, n);\n {BARRIER}"
)
CUT = "".join(
    f"CompareScalar(mask, wide, {at}f, CMPMODE::{how}, lanes);\n {BARRIER}"
    f"Select(slope, mask, slope, {other}f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);\n {BARRIER}"
    for at, how, other in ((-3.0, "GE", 0.0), (3.0, "LE", 1.0))
)
# the operator; a line of the file, and what takes its place; the hazard that names it, None where numbers do
MENDED = {
    "sigmoid": (
        "sigmoid",
        "Duplicate(slope, 1.0f, count);",
        "Muls(slope, x, -1.0f, count);\n"
        + BARRIER
        + "Adds(slope, slope, 1.0f, count);\n"
        + BARRIER
        + "Mul(slope, slope, x, count);",
        None,
    ),
    "hardswish": (
        "hardswish",
        "Adds(slope, slope, 0.5f, count);",
        "Adds(slope, slope, 0.5f, count);\n" + BARRIER + CUT,
        None,
    ),
    "rms_norm": (
        "rms_norm",
        "Muls(out, scaled, rstd, n);",
        "Muls(product, xhat, average, n);\n"
        + BARRIER
        + "Sub(out, scaled, product, n);\n"
        + BARRIER
        + "Muls(out, out, rstd, n);",
        None,
    ),
    "broken_tail": (
        "sigmoid",
        "DataCopy(outGm[start], out, count);",
        "DataCopyPad(outGm[start], out, DataCopyExtParams{1, uint32_t(count * sizeof(float)), 0, 0, 0});",
        "shortened copy",
    ),
    "broken_wait": (
        "sigmoid",
        "SetFlag<HardEvent::MTE2_V>(0);",
        "SetFlag<HardEvent::MTE2_V>(0), WaitFlag<HardEvent::MTE2_V>(0);",
        "missing wait",
    ),
    "broken_stale": (
        "rms_norm",
        "        PipeBarrier<PIPE_V>();\n        LocalTensor<float> gamma = gammaQue.Alloc",
        CLEAR + "LocalTensor<float> gamma = gammaQue.Alloc",
        "dirty atomics",
    ),
    "broken_weight": (
        "rms_norm",
        "Sub(out, dy, product, n);",
        "Sub(out, scaled, product, n);",
        None,
    ),
    "broken_sum": (
        "rms_norm",
        "float average = total / n;",
        "float average = total / n; total = 0;",
        None,
    ),
}
# what is wrong in each kernel of attention, and what stands there once it is mended; the one experiment that shows it
ATTENTION = {
    "broken_corner": (
        "row + 1 - j",
        "row + (mode == 2 ? 0 : int32_t(columns) - int32_t(rows)) + 1 - j",
        "more keys than queries",
    ),
    "broken_group": (
        "                Zero(dk0);\n                Zero(dv0);\n",
        "if (g == head * group) Zero(dk0), Zero(dv0);\n",
        "heads share keys",
    ),
    "broken_scale": ("q[at], slope, size", "q[at], scale * slope, size", "a scale"),
    "broken_block": ("1 / sum.GetValue(0)", "1 / totalGm.GetValue(place * 8)", "more than a block"),
    "broken_half": ("Cast(a, narrowed, RoundMode::CAST_NONE, count);", "", "all"),
}
PLAIN = {"shape": (1, 1, 5, 4), "keyIn_shape": (1, 1, 7, 4), "attenMaskOptional": None}
TRIES = {
    "one block": PLAIN,
    "more than a block": PLAIN | {"shape": (1, 1, 9, 4), "keyIn_shape": (1, 1, 20, 4)},
    "causal": {"shape": (1, 1, 7, 4), "keyIn_shape": (1, 1, 7, 4), "sparseMode": 3},
    "more keys than queries": {"shape": (1, 1, 5, 4), "keyIn_shape": (1, 1, 8, 4), "sparseMode": 3},
    "a scale": PLAIN | {"scaleValue": 0.5},
    "heads share keys": PLAIN | {"shape": (1, 2, 5, 4)},
}


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


@pytest.mark.parametrize("name", MENDED)
@pytest.mark.sampled(1)
def test_a_file_is_wrong_and_right_when_it_is_mended(name, tmp_path):
    op, before, after, kind = MENDED[name]
    hazards, result = judged(FILES / f"{name}.cpp", op)
    assert hazards[:1] == [kind] * (kind is not None) and (hazards or not result.passed)
    text = (FILES / f"{name}.cpp").read_text("utf-8")
    assert text.count(before) == 1
    (mended := tmp_path / f"{name}.cpp").write_text(text.replace(before, after), "utf-8")
    hazards, result = judged(mended, op)
    assert result.passed and hazards == []


def attention(file):
    """A kernel of the lesson on attention, as it takes it."""

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
    return av.case("flash_attention_score", pseShiftOptional=None, dropMaskOptional=None, **how)


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

    before, after, shown = ATTENTION[name]
    text = (FILES / f"{name}.cpp").read_text("utf-8")
    assert text.count(before) == 1 and wrong(FILES / f"{name}.cpp") == (
        [*TRIES] if shown == "all" else [shown]
    )
    (mended := tmp_path / f"{name}.cpp").write_text(text.replace(before, after), "utf-8")
    (tmp_path / "attention.h").write_text((FILES / "attention.h").read_text("utf-8"), "utf-8")
    assert wrong(mended) == []


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
    lines = [(mark.text, mark.y) for mark in seen.panels[0].marks if hasattr(mark, "text")]
    at = next(y for text, y in lines if text.startswith("Muls(slope, y"))
    assert (
        ("✗ V", at) in lines
        and (at, str(run.hazards[0].line)) in seen.panels[0].y.ticks
        and str(run.hazards[0]) in str(seen)
    )
    untraced = av.tiles.launch(
        av.tiles.programs("hardswish")[0], traced=False, **av.case("hardswish", shape=(9,)).inputs
    )
    with pytest.raises(ValueError, match="a picture of a run needs its trace"):
        picture(untraced)
