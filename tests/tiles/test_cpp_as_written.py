"""Sources as people write them: their own names, operators and folders that the device's compiler takes."""

import sys

import numpy as np
import pytest
from tables import table

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.tiles.compiler import CompileError
from aclnn_viz.tiles.cpp import cpp
from aclnn_viz.tiles.projects import Project

pytestmark = pytest.mark.needs("g++")
SOURCE = """#include "kernel_utils.h"
template <class T> T total(AscendC::LocalTensor<T> to, AscendC::LocalTensor<T> from, AscendC::LocalTensor<T> work) {
    ReduceSum<T>(to, from, work, 64);
    return to.GetValue(0);
}
using namespace AscendC;
static const __gm__ float FIXED[] = {2, 3};
template <class T> struct IsFinite { static constexpr bool value = true; };  // the library has this name, too
#define ENTRY(NAME, NUMBER) \\
    extern "C" __global__ __aicore__ void NAME##ed(GM_ADDR x, GM_ADDR y, NUMBER which)
ENTRY(nam, int32_t) {
    ASSERT(a_name_that_is_nowhere != 0 && "empty on the device");
    LocalMemAllocator<> ub;
    GlobalTensor<float32_t> from, to, fixed;
    fixed.SetGlobalBuffer((__gm__ float *)FIXED, 2), from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)y);
    auto a = ub.Alloc<float>(64), b = ub.Alloc<float>(64), d = ub.Alloc<float>(64), bits = ub.Alloc<float>(64);
    uint32_t bytes = 256;
    DataCopyPad(a, from, {1, bytes, 0, 0, 0}, {false, 0, 0, 0}), DataCopyPad(b, from[64], {1, 256, 0, 0}, {false, 0, 0, 0});
    DataCopyPad(d, from[64], {1, bytes, 0, 0}, {});
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0), wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    auto mask = bits.ReinterpretCast<uint8_t>();
    auto numbers = d.ReinterpretCast<int16_t>();
    auto one = a.ReinterpretCast<int16_t>(), other = b.ReinterpretCast<int16_t>();
    float16_t small = 1.5f;
    float set = 0;
    switch (which) {
CASES
    }
    pipe_barrier(PIPE_ALL);
    if (set) Duplicate(d, set, 64);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1), wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    DataCopyPad(to, d, {1, 256, 0, 0});
}
"""


def chosen(condition):
    return lambda a, b: np.where(condition(a, b), a, np.float32(7))


def bitwise(function):
    return lambda a, b: function(a.view(np.int16), b.view(np.int16)).view(np.float32)


SELECT = "Select(d, mask, a, 7.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 64)"
CASES = [
    ("d = a + b", np.add),
    ("d = a - b", np.subtract),
    ("d = a * b", np.multiply),
    ("d = a / b", np.divide),
    ("numbers = one | other", bitwise(np.bitwise_or)),
    ("numbers = one & other", bitwise(np.bitwise_and)),
    *(
        (f"mask = a {sign} b; {SELECT}", chosen(condition))
        for sign, condition in zip(
            "< > == <= >= !=".split(),
            (np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal),
        )
    ),
    (
        "float i; WholeReduceMax(d, a, 64, 1, 1, 1, 8); GetReduceMaxMinCount<float>(set, i); "
        "set += *reinterpret_cast<uint32_t *>(&i)",
        lambda a, b: np.full_like(a, a.max() + a.tolist().index(a.max())),
    ),
    *(
        (f"set = {text}", lambda a, b, value=value: np.full_like(a, value))
        for text, value in table("""
            total(d, a, b)                                            | 69
            AlignUp(uint64_t(61), 8)                                  | 64
            AlignUp(uint32_t(64), int64_t(8))                         | 64
            Ceil(uint32_t(9), 4)                                      | 3
            CeilDivision(int64_t(9), uint16_t(4))                     | 3
            min(uint32_t(3), int64_t(2)) + max(3, uint8_t(5))         | 7
            likely(bytes > 0) + unlikely(bytes == 0)                  | 1
            float(small) + ToFloat(bfloat16_t(2.5f))                  | 4
            ScalarCast<float, int32_t, RoundMode::CAST_RINT>(2.5f)    | 2
            ScalarCast<float, int32_t, RoundMode::CAST_ROUND>(2.5f)   | 3
            ScalarCast<float, int32_t, RoundMode::CAST_FLOOR>(-2.5f)  | -3
            ScalarCast<float, int32_t, RoundMode::CAST_CEIL>(-2.5f)   | -2
            IsFinite<float>::value                                    | 1
            GetSysWorkSpacePtr() != nullptr                           | 1
            fixed.GetValue(1)                                         | 3
        """)
        for value in [float(value)]
    ),
]


def test_names_and_operators_do_what_they_do_on_the_device(tmp_path):
    cases = "\n".join(f"    case {k}: {{ {text}; break; }}" for k, (text, _) in enumerate(CASES))
    (file := tmp_path / "named.cpp").write_text(SOURCE.replace("CASES", cases), "utf-8")
    kernel = cpp(file)["named"]
    x = np.arange(1, 129, dtype=np.float32) % 23 - 9.5
    x[64:80] = x[:16]  # some are equal
    for which, (text, right) in enumerate(CASES):
        y = np.zeros(64, np.float32)
        run = av.tiles.run(kernel, x, y, which)
        assert run.hazards == (), text
        np.testing.assert_array_equal(y, right(x[:64], x[64:]), text)
    assert not np.array_equal(y, x[:64])  # a case without effect would leave this


def test_a_call_of_an_operator_is_at_its_line(tmp_path):
    text = SOURCE.replace("CASES", "case 0: d = a +\n b; d =\n a - d; break;")
    (file := tmp_path / "named.cpp").write_text(
        text.replace("pipe_barrier(PIPE_ALL);", ""), "utf-8"
    )
    strict = av.tiles.run(
        cpp(file)["named"], np.ones(128, np.float32), np.ones(64, np.float32), 0, sync="strict"
    )
    line = text[: text.index("a - d")].count("\n") + 1
    assert text.split("\n")[cpp(file)["named"].__code__.co_firstlineno - 1][:5] == "ENTRY"
    assert {one.line for one in strict.hazards} == {line}


WEIGHED = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void add_one(GM_ADDR x, GM_ADDR y, int32_t read, int32_t write, int32_t use) {
    TPipe pipe;
    TQueBind<TPosition::GM, TPosition::VECIN, 1> in;
    TQueBind<TPosition::VECOUT, TPosition::GM, 1> out;
    TBuf<> never;
    pipe.InitBuffer(in, 1, 16384), pipe.InitBuffer(out, 1, 16384);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)y);
    auto taken = in.AllocTensor<float>(), made = out.AllocTensor<float>(), unmade = never.Get<float>();
    if (use > 1) pipe.InitBuffer(never, use);
    DataCopy(taken, from, read);
    in.EnQue(taken), taken = in.DeQue<float>();
    Adds(made, taken, 1.0f, read);
    if (use == 1) Adds(unmade, taken, 1.0f, 8);
    out.EnQue(made), made = out.DeQue<float>();
    DataCopyPad(to, made, {1, uint32_t(write * 4), 0, 0});
    in.FreeTensor(taken), out.FreeTensor(made);
}
"""
WARNED = ["queue position", "buffer without bytes"]
# Of 50 elements, 200 bytes: an allocation ends at 256, its rounding up to 32 bytes and 32 more.
WEIGHTS = table("""
read | write | use | what the host says | hazards              | more warnings
56   | 50    | 0   |                    |                      | read past the end
64   | 50    | 0   |                    |                      | read past the end
72   | 50    | 0   |                    | beyond global memory |
56   | 56    | 0   |                    | beyond global memory | read past the end
80   | 80    | 0   | padding=128        |                      |
96   | 50    | 0   | padding=128        | beyond global memory |
56   | 50    | 1   |                    | not initialised      | read past the end
56   | 50    | 200000 |                 | unified buffer full  |
56   | 50    | 200000 | unchecked=1     | unified buffer full  | read past the end
""")[1:]


@pytest.fixture(scope="module")
def weighed(tmp_path_factory):
    (file := tmp_path_factory.mktemp("weighed") / "weighed.cpp").write_text(WEIGHED, "utf-8")
    return cpp(file)


@pytest.mark.parametrize("read, write, use, host, hazard, more", WEIGHTS)
def test_what_a_device_does_not_mind_is_a_warning_and_the_numbers_are_seen(
    read, write, use, host, hazard, more, weighed
):
    kernel = weighed["add_one"]
    for setting in host.split():
        setattr(kernel, setting.partition("=")[0], int(setting.partition("=")[2]))
    x, y = np.arange(50, dtype=np.float32), np.zeros(50, np.float32)
    run = av.tiles.run(kernel, x, y, *map(int, (read, write, use)))
    assert [one.kind for one in run.hazards] == [hazard] * bool(hazard)
    assert {one.kind for one in run.warnings} == {*WARNED, *([more] if more else [])}
    if not hazard or write == "56" or "un" in host:  # the machine stops where a device would
        np.testing.assert_array_equal(y, x + 1)


HOSTS = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void hosted(GM_ADDR x, GM_ADDR y, int32_t waits) {
    LocalMemAllocator<> ub;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)y);
    auto tile = ub.Alloc<float>(8);
    for (int i = 0; i < waits; ++i) from.GetValue(0);
    DataCopy(tile, from, 8);
    pipe_barrier(PIPE_ALL);
    SetAtomicAdd<float>();
    DataCopy(to, tile, 8);
    SetAtomicNone();
    DataCopy(from, tile, 8);
}
"""


def test_what_the_host_does_can_be_said(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hosted.cpp").write_text(HOSTS, "utf-8")
    x = np.arange(8, dtype=np.float32)
    np.save("x.npy", x)

    def said(*more, waits=0):
        words = ["hosted.cpp", "--input", "x.npy", "--golden", "x.npy", "--set", f"waits={waits}"]
        status = cli.main(["cpp", "check", *words, *more])
        return status, capsys.readouterr()

    status, text = said()
    assert status == 1 and "dirty atomics" in text.out
    status, text = said("--zeroed")
    assert status == 0 and text.out.count("all 8 elements") == 1
    assert said("--padding", "-1")[0] == 2
    # more waits than a finite loop has; 60 s do not matter
    monkeypatch.setattr(sys.modules[cpp.__module__], "STEPS", 100)
    assert said("--zeroed", waits=90)[0] == 0
    status, text = said("--zeroed", waits=200)
    assert status == 1 and "waits 100 times: it may never end" in text.out


UNKNOWN = table("""
Subtract(d, a, b, 64)                    | uses names that the kit offers or it defines: got Subtract; write it with others
AscendC::NoSuch(d, a)                    | got NoSuch
#include "hidden/far.h"                  | hidden/far.h, which is neither beside it nor above it; pass its folder as -I
Matmul<float> mm                         | the matrix unit is not offered; judge the results of the device
""")


@pytest.mark.parametrize("text, said", UNKNOWN)
@pytest.mark.sampled(1)
def test_what_is_not_offered_is_named_with_what_to_do(text, said, tmp_path):
    text = text + "\n" if text[0] == "#" else f"case 0: {text}; break;"
    (file := tmp_path / "named.cpp").write_text(SOURCE.replace("CASES", text), "utf-8")
    with pytest.raises(CompileError) as error:
        cpp(file)
    assert said in str(error.value).split("\n")[0]


HOST = """#include "register/op_def_registry.h"
#include "error/own.h"
#include "{name}_tiling.h"
constexpr uint32_t PARTS = {cores};
namespace optiling {{
static ge::graphStatus Tiling(gert::TilingContext *context) {{
    {op}Data tiling;
    tiling.set_n(context->GetInputShape(0)->GetStorageShape().GetShapeSize() * OWN * TIMES);
    context->SetBlockDim(PARTS);
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    return ge::GRAPH_SUCCESS;
}}
static ge::graphStatus Shape(gert::InferShapeContext *context) {{
    *context->GetOutputShape(0) = *context->GetInputShape(0);
    return ge::GRAPH_SUCCESS;
}}
}}
namespace ops {{
class {op} : public OpDef {{
public:
    explicit {op}(const char *name) : OpDef(name) {{
        this->Input("x").ParamType(REQUIRED).DataType({{ge::DT_FLOAT}}).Format({{ge::FORMAT_ND}});
        this->Output("y").ParamType(REQUIRED).DataType({{ge::DT_FLOAT}}).Format({{ge::FORMAT_ND}});
        this->SetInferShape(optiling::Shape);
        this->AICore().SetTiling(optiling::Tiling);
    }}
}};
OP_ADD({op});
}}
"""
STRUCT = """#pragma once
#include "register/tilingdata_base.h"
namespace optiling {{
BEGIN_TILING_DATA_DEF({op}Data)
TILING_DATA_FIELD_DEF(uint32_t, n);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS({op}, {op}Data)
}}
"""
KERNEL = """#include "kernel_operator.h"
#include "{name}_impl.h"
#include "shared.h"
extern "C" __global__ __aicore__ void {name}(GM_ADDR x, GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {{
    GET_TILING_DATA(data, tiling);
    AscendC::GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float *)y);
    if (AscendC::GetBlockIdx() == 0) for (int i = 0; i < 8; ++i) to.SetValue(i, data.n + SHIFT);
}}
"""


@pytest.fixture
def repository(tmp_path):
    """Return two operators in one folder, far below their repository's headers; a struct beside the kernels, one far from
    them; a file of layer 0.
    """
    project = tmp_path / "repo" / "src" / "ops" / "two"
    files = {"src/common/inc/error/own.h": "#pragma once\n#define OWN 10\n", "LICENSE": ""}
    for op, name, cores in (("OneOf", "one_of", 2), ("OtherOf", "other_of", 3)):
        folder = "src/ops/two/op_kernel" if name == "one_of" else "src/common/a/b/op_tiling"
        files[f"src/ops/two/op_host/{name}.cpp"] = HOST.format(op=op, name=name, cores=cores)
        files[f"{folder}/{name}_tiling.h"] = STRUCT.format(op=op)
        files[f"src/ops/two/op_kernel/{name}.cpp"] = KERNEL.format(name=name)
        files[f"src/ops/two/op_kernel/{name}_impl.h"] = (
            f'#include "{name}_tiling.h"\n' if name == "one_of" else ""
        )
    for part, text in (("op_host", "#error of the host"), ("op_kernel", "#pragma once")):
        files[f"src/common/{part}/shared.h"] = text
    files["src/ops/two/op_host/one_of_l0.cpp"] = '#include "opdev/op_log.h"\nnothing that compiles'
    for name, text in files.items():
        (file := tmp_path / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return project


def test_two_operators_in_one_folder_with_headers_far_above(repository):
    more = {"defines": {"TIMES": "3", "SHIFT": "0.5"}}
    for op, cores in (("OneOf", 2), ("OtherOf", 3)):
        project = Project(repository, op, **more)
        assert project.left_out == ("one_of_l0.cpp",)
        run = project.launch(np.zeros(8, np.float32))
        assert run.cores == cores
        np.testing.assert_array_equal(run.outputs["y"], np.full(8, 8 * 10 * 3 + 0.5, np.float32))
    with pytest.raises(ValueError, match="OneOf, OtherOf: got None; name one"):
        Project(repository, **more)
    inc = repository.parents[2] / "src" / "common" / "inc"
    inc.rename(repository.parents[2].parent / "elsewhere")  # outside of the repository
    with pytest.raises(CompileError, match=r"error/own\.h, which is neither"):
        Project(repository, "OneOf", **more)
    with pytest.raises(CompileError, match="TIMES"):  # which is the first that lacks now
        Project(repository, "OneOf", include=[repository.parents[3] / "elsewhere"])
