"""Operator projects: the host tiling function's choices reach the kernel, and missing parts are named."""

import json
import shutil
import struct
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tables import table

from aclnn_viz import cli
from aclnn_viz.checking.scope import DEPTHS
from aclnn_viz.tiles.compiler import CompileError
from aclnn_viz.tiles.platforms import Platform
from aclnn_viz.tiles.projects import Project

pytestmark = pytest.mark.needs("g++")
FOLDER = Path(__file__).parent / "cpp" / "HardswishGrad"


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(FOLDER.parent, tmp_path / "cpp")

    def edited(name, before, after):
        file = tmp_path / "cpp" / FOLDER.name / name
        text = file.read_text("utf-8")
        assert before in text
        file.write_text(text.replace(before, after), "utf-8")
        return tmp_path / "cpp" / FOLDER.name

    return edited


def slope(x):
    return np.where(x < -3, 0, np.where(x > 3, 1, x / 3 + 0.5)).astype(np.float32)


def test_a_project_tiles_and_runs_a_call():
    project = Project(FOLDER)
    assert [
        one.name for one in (*project.inputs, *project.outputs, *project.attributes)
    ] == "grad_output self out factor mode axes".split()
    dy, x = np.random.default_rng(0).normal(0, 3, (2, 7, 50)).astype(np.float32)
    run = project.launch(dy, x, schedule="late", cores=4)
    assert run.hazards == () and run.cores == 4
    np.testing.assert_allclose(run.outputs["out"], dy * slope(x), rtol=1e-5, atol=1e-6)
    # flag, 3 bytes, length, factor, 4 bytes, axes: each field at a multiple of its size
    for values, held in (
        ({}, (0, 350, 1.5, 4, 5, 0)),
        ({"factor": 2, "mode": "a b", "axes": [7]}, (1, 350, 2.0, 7, 0, 0)),
    ):
        tiling, shapes = project.tiled(
            Platform.of("Ascend910B2", 2),
            [dy, x],
            [(None, x.dtype)],
            [values.get(one.name) for one in project.attributes],
        )
        assert struct.unpack("<B3xIf4x3q", tiling.data) == held and shapes == [(7, 50)]
        assert (tiling.blockDim, tiling.workspace, tiling.key) == (2, 256, 7)


WIDE = {
    "op_host/wide.cc": """#include "register/op_def_registry.h"
#include "runtime_util.h"
#include "wide_tiling.h"
namespace optiling {
static ge::graphStatus Tile(gert::TilingContext *context) {
    auto *node = context->GetComputeNodeInfo();
    WideTilingData tiling;
    tiling.set_count(WideCount(context));
    tiling.set_inputs(node->GetInputsNum()), tiling.set_outputs(node->GetOutputsNum());
    tiling.set_format(ge::GetPrimaryFormat(ge::FORMAT_ND | 7 << 8));
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    context->SetBlockDim(1);
    return ge::GRAPH_SUCCESS;
}
}
namespace ge {
static size_t Constant(const Operator &op, const Tensor &tensor) {  // of a graph: it compiles
    AscendString name;
    return op.GetName(name) == GRAPH_SUCCESS && tensor.GetData() ? tensor.GetSize() : 0;
}
}
namespace ops {
class Wide : public OpDef {
public:
    explicit Wide(const char *name) : OpDef(name) {
        this->Input("x").ParamType(REQUIRED).DataType({ge::DT_COMPLEX64, ge::DT_DOUBLE}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Input("step").ParamType(REQUIRED).DataType({ge::DT_INT64, ge::DT_INT64}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("y").ParamType(REQUIRED).DataType({ge::DT_COMPLEX64, ge::DT_DOUBLE}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->Output("sizes").ParamType(REQUIRED).DataType({ge::DT_INT32, ge::DT_INT32}).Format({ge::FORMAT_ND, ge::FORMAT_ND});
        this->AICore().SetTiling(optiling::Tile);
    }
};
OP_ADD(Wide);
IMPL_OP_INFERSHAPE(Wide).InferShape(InferShape4Elewise);
}
""",
    "op_host/wide_tiling.h": """#include "wide_common.h"
namespace optiling {
REGISTER_TILING_DATA_CLASS(Wide, WideTilingData)
}
""",
    "common/wide_common.cc": """#include "wide_common.h"
namespace optiling {
int64_t WideCount(gert::TilingContext *context) { return context->GetInputShape(0)->GetStorageShape().GetShapeSize(); }
}
""",
    "common/wide_common.h": """#ifndef WIDE_COMMON
#define WIDE_COMMON
#include "register/tilingdata_base.h"
namespace optiling {
int64_t WideCount(gert::TilingContext *context);
BEGIN_TILING_DATA_DEF(WideTilingData)
TILING_DATA_FIELD_DEF(int64_t, count);
TILING_DATA_FIELD_DEF(int32_t, inputs);
TILING_DATA_FIELD_DEF(int32_t, outputs);
TILING_DATA_FIELD_DEF(int32_t, format);
END_TILING_DATA_DEF;
}
#endif
""",
    "op_kernel/wide.cpp": """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void wide(GM_ADDR x, GM_ADDR step, GM_ADDR y, GM_ADDR sizes, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    ASSERT(data.count > 0)
    static_assert(sizeof(DTYPE_X) == 8);
    if (g_coreType == AIC) return;
    GlobalTensor<float> from, to;
    GlobalTensor<int32_t> counts;
    GlobalTensor<int64_t> steps;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)y);
    counts.SetGlobalBuffer((__gm__ int32_t *)sizes), steps.SetGlobalBuffer((__gm__ int64_t *)step);
    LocalMemAllocator<> ub;
    auto a = ub.Alloc<float>(64);
    auto b = ub.Alloc<int32_t>(8);
    DataCopy(a, from, data.count * 2), PipeBarrier<PIPE_ALL>();
    int64_t by = steps.GetValue(0);
    ArithProgression<int32_t>(b, by, 3, int64_t(8));
    PipeBarrier<PIPE_ALL>();
    b.SetValue(5, data.inputs), b.SetValue(6, data.outputs), b.SetValue(7, data.format);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, data.count * 2), DataCopy(counts, b, 8);
}
""",
}


def test_inputs_of_eight_bytes_and_more_names_of_hosts(tmp_path):
    for name, text in WIDE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    project = Project(tmp_path)
    for x in (np.arange(16) * (1 - 2j), np.arange(16) / 7):
        x = x.astype(np.complex64) if x.dtype == complex else x
        run = project.launch(x, np.array([4]), shapes=[x.shape, (8,)])
        assert run.hazards == () and np.array_equal(run.outputs["y"], x)
        # from 4 in steps of 3, then the numbers of inputs, outputs and of the format
        assert [*run.outputs["sizes"]] == [4, 7, 10, 13, 16, 2, 2, 2]


def test_what_a_call_lacks_is_said():
    project, x = Project(FOLDER), np.ones(8, np.float32)
    for given, named, kind, words in (
        ((x,), {}, TypeError, "takes grad_output, self, factor, mode, axes: got 1 inputs"),
        ((x, x), {"what": 1}, TypeError, "and what"),
        ((x, x.astype(np.float16)), {}, ValueError, "a combination of formats"),
        ((x, x), {"axes": 3}, TypeError, "axes is of kind I"),
        ((x, x), {"factor": -1}, ValueError, "the tiling function, which returned"),
    ):
        with pytest.raises(kind, match=words):
            project.launch(*given, **named)


KINDS = {kind.__name__: kind for kind in (CompileError, NotImplementedError, ValueError)}
BROKEN = table(r"""
op_host   | CompileError        | has no member named 'Outputs'|has no member named ‘Outputs’ | this->Output                          | this->Outputs
op_host   | ValueError          | defines an operator .OP_ADD.: none                          | OP_ADD(HardswishGrad);                |
op_host   | NotImplementedError | the matrix unit's tiling                                    | HardswishGradTilingData tiling;       | HardswishGradTilingData tiling; TCubeTiling cube;
op_host   | NotImplementedError | HCCL                                                        | // namespace optiling                 | \nMc2Tiling all;
op_host   | ValueError          | runs to its end: got status -11                             | context->SetTilingKey(7);             | *(volatile int *)8 = 1;
op_host   | ValueError          | runs to its end: got status 3                               | context->SetTilingKey(7);             | exit(3);
op_host   | ValueError          | no answer: it may never end                                 | context->SetTilingKey(7);             | for (;;) {}
op_kernel | ValueError          |                                                             | void hardswish_grad(                  | void another(
op_kernel | CompileError        | no member named .length                                     | data.totalLength                      | data.length
op_host   | CompileError        | template keys are not offered                               | #include "register/op_def_registry.h" | #include "ascendc/host_api/tiling/template_argument.h"
""")


@pytest.mark.parametrize("folder, kind, words, before, after", BROKEN)
@pytest.mark.sampled(1)
def test_a_project_that_cannot_run_says_why(folder, kind, words, before, after, copy, monkeypatch):
    if "for (;;)" in after:
        monkeypatch.setattr("aclnn_viz.tiles.projects.SECONDS", 5)
    x = np.ones(64, np.float32)
    folder = copy(f"{folder}/hardswish_grad.cpp", before, after)
    if not words:  # a file with the operator's name may name its entry freely
        assert Project(folder).launch(x, x).hazards == ()
    else:
        with pytest.raises(KINDS[kind], match=words):
            Project(folder).launch(x, x)
    with pytest.raises(ValueError, match="one folder with op_host and op_kernel: got 0"):
        Project(folder / "op_host")


@pytest.mark.parametrize(
    "name, before, after, status, words",
    [
        (None, "", "", 0, ""),
        (
            "op_kernel/hardswish_grad.cpp",
            "data.totalLength",
            "data.totalLength - 1",
            1,
            "never written",
        ),
        ("op_kernel/hardswish_grad.cpp", "(7)", "(8)", 1, "never written"),
    ],
)
@pytest.mark.sampled(1)
def test_the_command_judges_a_project_as_an_operator(
    name, before, after, status, words, copy, capsys, monkeypatch
):
    # a machine may be busy
    monkeypatch.setitem(DEPTHS, "quick", replace(DEPTHS["quick"], seconds=600.0))
    folder = FOLDER if name is None else copy(name, before, after)
    assert (
        cli.main(
            ["cpp", "check", str(folder), *"--op hardswish --dtypes float32 --depth quick".split()]
        )
        == status
    )
    assert words in capsys.readouterr().out


def test_the_command_judges_a_file_and_a_project_on_files(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    dy, x = rng.normal(0, 3, (2, 4, 40)).astype(np.float32)
    right = dy * slope(x)
    wrong = right.copy()
    wrong[2, 3] += 1
    dy.tofile(tmp_path / "dy.bin")
    for name, array in (("x", x), ("right", right), ("wrong", wrong)):
        np.save(tmp_path / f"{name}.npy", array)

    def status(place, golden, *more):
        given = f"--input dy.bin:float32:4x40 --input x.npy --golden {golden}.npy"
        return cli.main(["cpp", "check", str(place), *given.split(), *more])

    source = FOLDER.parent / "hardswish_grad.cpp"
    for place, more in ((FOLDER, ()), (source, ("--set", "n=160", "--cores", "3"))):
        assert status(place, "right", *more) == 0 and "all 160 elements" in capsys.readouterr().out
        assert status(place, "wrong", *more, "--json") == 1
        said = json.loads(capsys.readouterr().out)
        assert (
            said["outputs"][0]["wrong"] == 1
            and said["outputs"][0]["first"] == [2, 3]
            and not said["hazards"]
        )
    for more, words in (
        (("--op", "hardswish"), "pass one of the two"),
        (("--set", "n=160", "--set", "m=1"), "1 more than it takes"),
        (("--depth", "deep"), "--depth can be given with --op: got it with --golden; leave it out"),
    ):
        assert status(source, "right", *more) == 2 and words in capsys.readouterr().err
    assert (
        cli.main(["cpp", "check", str(source), "--golden", f"{tmp_path}/dy.bin:float32:4x41"]) == 2
    )
    assert "dy.bin holds 4x41 elements" in capsys.readouterr().err


def test_options_that_do_not_count_with_an_operator_are_refused(capsys):
    assert (
        cli.main(
            ["cpp", "check", str(FOLDER), "--op", "hardswish", "--schedule", "late", "--cores", "2"]
        )
        == 2
    )
    assert (
        "--cores and --schedule can be given with --golden: got it with --op; leave it out"
        in capsys.readouterr().err
    )


def test_a_check_of_the_command_that_was_stopped_does_not_pass(monkeypatch):
    monkeypatch.setattr(
        "aclnn_viz.checking.check", lambda *_, **__: SimpleNamespace(passed=True, stopped=True)
    )
    assert cli.main(["cpp", "check", str(FOLDER), "--op", "hardswish"]) == 1
