"""The C++ files of the lesson: each is wrong as it lies there, and right when it is mended as a learner would."""

import json

import pytest

import aclnn_viz as av
from aclnn_viz.explorers.tiles_run import picture
from machine import ROOT

pytestmark = pytest.mark.needs("g++")
FILES = ROOT / "notebooks" / "cpp"
BARRIER = "PipeBarrier<PIPE_V>();\n"
CLEAR = ("sumQue.EnQue(sum);\n sum = sumQue.DeQue<float>();\n if (GetBlockIdx() == 0) DataCopyPad(dgammaGm, sum, row);\n"
         f"sumQue.FreeTensor(sum);\n SyncAll();\n sum = sumQue.AllocTensor<float>();\n Duplicate(sum, 0.0f, n);\n {BARRIER}")
CUT = "".join(f"CompareScalar(mask, wide, {at}f, CMPMODE::{how}, lanes);\n {BARRIER}"
              f"Select(slope, mask, slope, {other}f, SELMODE::VSEL_TENSOR_SCALAR_MODE, count);\n {BARRIER}"
              for at, how, other in ((-3.0, "GE", 0.0), (3.0, "LE", 1.0)))
MENDED = {  # the operator; a line of the file, and what takes its place; the hazard that names it, None where numbers do
    "sigmoid": ("sigmoid", "Duplicate(slope, 1.0f, count);", "Muls(slope, x, -1.0f, count);\n" + BARRIER +
                "Adds(slope, slope, 1.0f, count);\n" + BARRIER + "Mul(slope, slope, x, count);", None),
    "hardswish": ("hardswish", "Adds(slope, slope, 0.5f, count);", "Adds(slope, slope, 0.5f, count);\n" + BARRIER + CUT, None),
    "rms_norm": ("rms_norm", "Muls(out, scaled, rstd, n);", "Muls(product, xhat, average, n);\n" + BARRIER +
                 "Sub(out, scaled, product, n);\n" + BARRIER + "Muls(out, out, rstd, n);", None),
    "broken_tail": ("sigmoid", "DataCopy(outGm[start], out, count);",
                    "DataCopyPad(outGm[start], out, DataCopyExtParams{1, uint32_t(count * sizeof(float)), 0, 0, 0});", "shortened copy"),
    "broken_wait": ("sigmoid", "SetFlag<HardEvent::MTE2_V>(0);", "SetFlag<HardEvent::MTE2_V>(0), WaitFlag<HardEvent::MTE2_V>(0);",
                    "missing wait"),
    "broken_stale": ("rms_norm", "        PipeBarrier<PIPE_V>();\n        LocalTensor<float> gamma = gammaQue.Alloc",
                     CLEAR + "LocalTensor<float> gamma = gammaQue.Alloc", "dirty atomics"),
    "broken_weight": ("rms_norm", "Sub(out, dy, product, n);", "Sub(out, scaled, product, n);", None),
    "broken_sum": ("rms_norm", "float average = total / n;", "float average = total / n; total = 0;", None),
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
    program = source[source.names[0]].program(op, {"rms_norm": tiling, "sigmoid": same}.get(op), cores=4)
    case = av.case(op, shape=(6, 101))
    hazards = [one.kind for one in av.tiles.launch(program, schedule="late", **case.inputs).hazards]
    return hazards, av.check(op, program, dtypes=("float32",), depth="quick", allow_unsupported=True)


@pytest.mark.parametrize("name", MENDED)
@pytest.mark.sampled(2)
def test_a_file_is_wrong_and_right_when_it_is_mended(name, tmp_path):
    op, before, after, kind = MENDED[name]
    hazards, result = judged(FILES / f"{name}.cpp", op)
    assert hazards[:1] == [kind] * (kind is not None) and (hazards or not result.passed)
    text = (FILES / f"{name}.cpp").read_text("utf-8")
    assert text.count(before) == 1
    (mended := tmp_path / f"{name}.cpp").write_text(text.replace(before, after), "utf-8")
    hazards, result = judged(mended, op)
    assert result.passed and hazards == []


def test_the_lesson_takes_all_of_its_files():
    cells = "\n".join("".join(cell["source"]) for cell in json.loads((ROOT / "notebooks/16_your_cpp_kernel.ipynb").read_text("utf-8"))["cells"])
    assert {path.name for path in FILES.glob("*.cpp")} == {f"{name}.cpp" for name in (*MENDED, "whole")}
    assert all(f"cpp/{name}.cpp" in cells for name in (*MENDED, "whole"))


def test_the_picture_of_a_run_shows_the_first_hazard_at_its_line():
    source = av.tiles.cpp(FILES / "broken_wait.cpp")
    case = av.case("sigmoid", shape=(6, 101))
    run = av.tiles.launch(source["sigmoid_grad"].program("sigmoid", cores=4), **case.inputs)
    seen = picture(run)
    lines = [(mark.text, mark.y) for mark in seen.panels[0].marks if hasattr(mark, "text")]
    at = next(y for text, y in lines if text.startswith("Muls(slope, y"))
    assert ("✗ V", at) in lines and (str(run.hazards[0].line), at) in lines and str(run.hazards[0]) in str(seen)
    untraced = av.tiles.launch(av.tiles.programs("hardswish")[0], traced=False, **av.case("hardswish", shape=(9,)).inputs)
    with pytest.raises(ValueError, match="a picture of a run needs its trace"):
        picture(untraced)
