"""Ascend C sources on the tile machine: right ones without a hazard, wrong ones at their line, and nothing that hangs."""

import ctypes
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from tables import table

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.checking import scope
from aclnn_viz.tiles.calls import CHOICES, FORMATS, FUNCTIONS, PARAMETERS
from aclnn_viz.tiles.compiler import compiler, kept, ready, translate
from aclnn_viz.tiles.cpp import FLAGS, INCLUDE, cpp

pytestmark = pytest.mark.needs("g++")
SOURCES = Path(__file__).parent / "cpp"
ADD, HARDSWISH = (SOURCES / f"{name}.cpp" for name in ("add_custom", "hardswish_grad"))
HEADER = "".join(one.read_text("utf-8") for one in sorted((INCLUDE / "ascendc").glob("*.h")))


def edited(tmp_path, before, after, file=ADD):
    text = file.read_text("utf-8")
    assert text.count(before) == 1
    (copy := tmp_path / file.name).write_text(text.replace(before, after), "utf-8")
    return copy


def added(file, **how):
    kernel = cpp(file)["add_custom"]
    x, y = np.random.default_rng(0).standard_normal((2, 2048), np.float32)
    z = np.zeros_like(x)
    kernel.seconds = how.pop("seconds", 60)
    return av.tiles.run(kernel, x, y, z, x.size, cores=how.pop("cores", 4), **how), np.array_equal(
        z, x + y
    )


@pytest.mark.parametrize("schedule", ["eager", "late", *range(3)])
@pytest.mark.sampled(1)
def test_a_right_kernel_is_right_in_every_order_without_a_hazard(schedule):
    run, right = added(ADD, schedule=schedule)
    assert right and run.hazards == () and run.cores == 4


TEXTS = tomllib.loads((SOURCES / "texts.toml").read_text("utf-8"))
WRONG = TEXTS["wrong"]


@pytest.mark.parametrize("edit", WRONG, ids=lambda edit: edit["kind"])
@pytest.mark.sampled(1)
def test_a_wrong_kernel_is_named_at_its_line(edit, tmp_path):
    file = edited(tmp_path, edit["before"], edit["after"])
    found = next(hazard for hazard in added(file)[0].hazards if hazard.kind == edit["kind"])
    line = file.read_text("utf-8").splitlines()[found.line - 1]
    assert found.file == str(file) and edit["at"] in line


@pytest.mark.parametrize("before, after, said", TEXTS["refused"])
@pytest.mark.sampled(1)
def test_what_does_not_compile_says_so_in_the_compilers_words(before, after, said, tmp_path):
    with pytest.raises(ValueError, match=said):
        cpp(edited(tmp_path, before, after))


@pytest.mark.parametrize("text, said", TEXTS["objects"])
@pytest.mark.sampled(1)
def test_objects_outside_of_functions_that_crash_exit_or_never_end(
    text, said, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys.modules["aclnn_viz.tiles.cpp"], "STARTS", 1.0)
    (file := tmp_path / "add.cpp").write_text(
        "#include <cstdlib>\n" + ADD.read_text("utf-8") + text + "\n", "utf-8"
    )
    with pytest.raises(ValueError, match=said):
        cpp(file)["add_custom"]


def test_a_compiler_that_never_ends_leaves_no_process(tmp_path, monkeypatch):
    monkeypatch.setattr("aclnn_viz.tiles.compiler.SECONDS", 1)
    monkeypatch.setenv("COMPILED_FOR", str(tmp_path))
    endless = """
template <int N, int K> struct Tree { enum { size = Tree<N - 1, 2 * K>::size + Tree<N - 1, 2 * K + 1>::size }; };
template <int K> struct Tree<0, K> { enum { size = 1 }; };
int size = Tree<30, 1>::size;
"""
    (file := tmp_path / "add.cpp").write_text(ADD.read_text("utf-8") + endless, "utf-8")
    with pytest.raises(ValueError, match="no end within 1 s"):
        cpp(file)
    assert not [
        each
        for each in psutil.process_iter(["environ"])
        if (each.info["environ"] or {}).get("COMPILED_FOR") == str(tmp_path)
    ]


@pytest.mark.parametrize("name, defines, said", TEXTS["names"])
@pytest.mark.sampled(1)
def test_names_with_quotes_and_slashes(name, defines, said, tmp_path):
    (file := tmp_path / name).write_text(ADD.read_text("utf-8"), "utf-8")
    if not said:
        assert cpp(file, defines).names == ("add_custom",)
    else:
        with pytest.raises(ValueError, match=said):
            cpp(file, defines)
    assert [*tmp_path.iterdir()] == [file]


def test_a_source_is_compiled_once_and_again_when_what_it_includes_changes(tmp_path, monkeypatch):
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "size.h").write_text("constexpr int SIZE = 1;\n", "utf-8")
    file = edited(
        tmp_path,
        "constexpr int32_t BUFFER_NUM = 2;",
        '#include "size.h"\nconstexpr int32_t BUFFER_NUM = SIZE + MORE;',
    )
    first = cpp(file, {"MORE": "1"}, [tmp_path / "inc"]).binary
    made = first.stat().st_mtime_ns
    assert (
        cpp(file, {"MORE": "1"}, [tmp_path / "inc"]).binary == first
        and first.stat().st_mtime_ns == made
    )
    assert cpp(file, {"MORE": "2"}, [tmp_path / "inc"]).binary != first
    (tmp_path / "inc" / "size.h").write_text("constexpr int SIZE = 3;\n", "utf-8")
    assert cpp(file, {"MORE": "1"}, [tmp_path / "inc"]).binary != first
    for system in ("win32", "darwin"):
        with monkeypatch.context() as other:
            other.setattr("sys.platform", system)
            with pytest.raises(ValueError, match=f"C.. runs on Linux: got {system}; use WSL"):
                cpp(ADD)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        ValueError, match=r"C\+\+ needs a compiler: got neither g\+\+ nor clang\+\+"
    ):
        cpp(ADD)


def test_our_header_is_translated_once_and_again_where_a_macro_changes_it():
    command = compiler(), *FLAGS, f"-I{INCLUDE}"

    def seen(*macros):
        options = ready(INCLUDE / "start.h", *command)
        return translate(
            [command[0], *options, *command[1:], *macros, "-E", "-x", "c++", "-"],
            '#include "start.h"\n',
            ADD,
        )

    other = seen("-DNO_NAME_OF_OURS=1")
    assert "#pragma GCC pch_preprocess" in other and "struct Entry" not in other
    assert "#pragma GCC pch_preprocess" not in seen("-DGM_ADDR=char *") and "struct Entry" in seen(
        "-DGM_ADDR=char *"
    )


def test_what_is_compiled_is_kept_where_the_cache_cannot_be_written(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    made = []
    assert {kept("key", "name", made.append).is_dir() for _ in range(2)} == {True}
    assert len(made) == 1


def test_a_program_in_the_cache_that_is_damaged_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (source := cpp(ADD)).binary.write_bytes(b"")
    with pytest.raises(
        ValueError, match=f"is whole: got .*Exec format error.*; delete {source.binary.parent}"
    ):
        source["add_custom"]


@pytest.mark.parametrize("code", range(len(FORMATS)))
@pytest.mark.sampled(5)
def test_each_format_keeps_its_bits(code):
    dtype = FORMATS[code]
    rng, whole = np.random.default_rng(1), dtype.kind in "iu"
    ends = [np.iinfo(dtype).min, np.iinfo(dtype).max] if whole else [0.0, -0.0, np.inf, 1.5]
    x = np.append(
        np.array(ends, dtype),
        (rng.standard_normal(9) * (1 if not whole else 40 if dtype.kind == "i" else 0)).astype(
            dtype
        ),
    )
    y = np.ones_like(x)
    run = av.tiles.run(cpp(SOURCES / "formats.cpp")["copied"], x, y, x.size, code)
    assert run.hazards == () and y.tobytes() == x.tobytes()


class Sizes(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint32), ("factor", ctypes.c_float))


def test_arguments_of_every_kind_and_what_is_printed(capsys):
    kernel = cpp(SOURCES / "formats.cpp")["scaled"]
    assert [name for name, _ in kernel.parameters] == "x y tiling same more twice".split()
    x, y = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    av.tiles.run(kernel, x, y, Sizes(5, 2.0), bytes(Sizes(0, 3.0)), 0.5, True, cores=2)
    np.testing.assert_array_equal(y, x * 6 + 1)
    assert sorted(capsys.readouterr().out.splitlines()) == ["core 0 of 2", "core 1 of 2"]
    for wrong, said in (
        ((x, y, Sizes(), bytes(4), 0.5, True), "same is a struct of 8 bytes"),
        ((x, y), "2 arguments"),
        ((x, y, 3, bytes(8), 0.5, True), "tiling is a pointer"),
        ((x, y, None, bytes(8), "a", True), "more is a number"),
    ):
        with pytest.raises(TypeError, match=said):
            av.tiles.run(kernel, *wrong)
    with pytest.raises(TypeError, match="n is a whole number from 0 on of 4 bytes: got -1"):
        av.tiles.run(cpp(SOURCES / "formats.cpp")["copied"], x, y, -1, 0)
    with pytest.raises(KeyError, match="has the entries copied, scaled: got 'add'"):
        cpp(SOURCES / "formats.cpp")["add"]


def test_names_of_the_vendors_own_sources(tmp_path):
    """Calls by their address, headers of the interface, masks of AscendCUtils, the number of the core by the compiler's name."""
    (tmp_path / "named.cpp").write_text(
        """#include "lib/math/kernel_operator_acos_intf.h"
using namespace AscendC;
using Two = void(const LocalTensor<float> &, const LocalTensor<float> &, const int32_t &);
using Number = void(const LocalTensor<float> &, const LocalTensor<float> &, const float &, const int32_t &);
using Three = void(const LocalTensor<float> &, const LocalTensor<float> &, const LocalTensor<float> &, const int32_t &);
using Lanes = void(const LocalTensor<float> &, const LocalTensor<float> &, const LocalTensor<float> &, uint64_t,
                   const uint8_t, const BinaryRepeatParams &);
template <Two *two, Number *number, Three *three, Lanes *lanes>
void all(LocalTensor<float> a) {
    two(a, a, 64), number(a, a, PI, 64), three(a, a, a, 64), lanes(a, a, a, 3, 1, {1, 1, 1, 8, 8, 8});
    AscendCUtils::SetMask<float>(2);
    Adds<float, false>(a, a, 1.0f, MASK_PLACEHOLDER, 1, {1, 1, 8, 8});
    ResetMask();
}
extern "C" __global__ __aicore__ void named(GM_ADDR x, GM_ADDR y) {
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queue;
    pipe.InitBuffer(queue, 1, 256);
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)y);
    auto a = queue.AllocTensor<float>();
    DataCopyPadExtParams pad{false, 0, 0, 0.0f};
    DataCopyPad(a, from[get_block_idx() * 64], {1, 256, 0, 0, 0}, pad);
    queue.EnQue(a), queue.DeQue();
    if (g_coreType == AIV) all<Abs, Adds, Add, Mul>(a);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, 64);
    queue.FreeTensor(a);
}
""",
        "utf-8",
    )
    x, y = -np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run = av.tiles.run(cpp(tmp_path / "named.cpp")["named"], x, y)
    wanted = 2 * (np.abs(x) + np.float32(np.pi))
    wanted[:3] **= 2
    wanted[:2] += 1
    assert run.hazards == () and np.allclose(y, wanted, 1e-6)


def test_a_right_kernel_in_odd_forms():
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run = av.tiles.run(cpp(SOURCES / "odd_forms.cpp")["odd_forms"], x, y, 64, schedule="late")
    assert run.hazards == () and np.array_equal(y, 8 * x + 1)


def test_of_much_that_a_kernel_prints_the_beginning_is_shown(tmp_path, capsys):
    (file := tmp_path / "loud.cpp").write_text(
        """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void loud(GM_ADDR y) {
    for (int i = 0; i < 10000; ++i) std::printf("line %04d\\n", i);
}
""",
        "utf-8",
    )
    av.tiles.run(cpp(file)["loud"], np.zeros(1, np.float32))
    printed = capsys.readouterr().out
    assert printed.startswith("line 0000\n") and len(printed) < 70_000
    assert printed.endswith("\n(the kernel printed 34,464 more bytes, which are not shown)\n")


def test_a_kernel_of_a_project_gets_the_tiling_struct_of_its_host(tmp_path):
    (tmp_path / "op_host").mkdir()
    (tmp_path / "op_kernel").mkdir()
    (tmp_path / "op_host" / "ones_tiling.h").write_text(
        """#include "register/tilingdata_base.h"
namespace optiling {
BEGIN_TILING_DATA_DEF(OnesTilingData)
  TILING_DATA_FIELD_DEF(uint32_t, length);
  TILING_DATA_FIELD_DEF_ARR(float, 2, values);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(Ones, OnesTilingData)
}
""",
        "utf-8",
    )
    (file := tmp_path / "op_kernel" / "ones.cpp").write_text(
        """#include "kernel_operator.h"
extern "C" __global__ __aicore__ void ones(GM_ADDR y, GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA(data, tiling);
    for (uint32_t i = 0; i < data.length; ++i) ((__gm__ float *)y)[i] = data.values[i % 2];
}
""",
        "utf-8",
    )
    y = np.zeros(5, np.float32)
    av.tiles.run(cpp(file)["ones"], y, None, np.array([(5, (1.0, 2.0))], "u4,2f4"))
    assert y.tolist() == [1.0, 2.0, 1.0, 2.0, 1.0]


def test_tensors_at_fixed_addresses_and_a_queue_from_copy_to_copy(tmp_path):
    (file := tmp_path / "through.cpp").write_text(
        """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void through(GM_ADDR x, GM_ADDR y) {
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half *)x, 64), to.SetGlobalBuffer((__gm__ half *)y, 64);
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> through;
    pipe.InitBuffer(through, 2, 64);
    for (int tile = 0; tile < 2; ++tile) {
        auto in = through.AllocTensor<half>();
        DataCopy(in, from[tile * 32], 32);
        through.EnQue(in);
        auto out = through.DeQue<half>();
        DataCopy(to[tile * 32], out, 32);
        through.FreeTensor(out);
    }
}
extern "C" __global__ __aicore__ void fixed(GM_ADDR x, GM_ADDR y) {
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half *)x, 64), to.SetGlobalBuffer((__gm__ half *)y, 64);
    LocalTensor<half> a(TPosition::VECCALC, 0, 64), b(TPosition::VECCALC, 128, 64);
    DataCopy(a, from, 64);
    SetFlag<HardEvent::MTE2_V>(EVENT_ID0), WaitFlag<HardEvent::MTE2_V>(EVENT_ID0);
    Muls<half, true>(b, a, half(1), 64, 1, {1, 1, 8, 8});
    SetFlag<HardEvent::V_MTE3>(EVENT_ID0), WaitFlag<HardEvent::V_MTE3>(EVENT_ID0);
    DataCopy(to, b, 64);
}
""",
        "utf-8",
    )
    x = np.random.default_rng(2).standard_normal(64).astype(np.float16)
    for name in ("through", "fixed"):
        for schedule in ("eager", "late", 5):
            run = av.tiles.run(cpp(file)[name], x, y := np.zeros_like(x), schedule=schedule)
            assert run.hazards == () and np.array_equal(x, y), (name, run.hazards)
    (wrong := tmp_path / "wrong.cpp").write_text(
        file.read_text("utf-8")
        .replace("through.EnQue(in);", "through.EnQue(in), in.SetValue(0, half(0));")
        .replace("128, 64)", "64, 64)"),
        "utf-8",
    )
    assert [
        av.tiles.run(cpp(wrong)[name], x, y).hazards[0].kind for name in ("through", "fixed")
    ] == ["used after EnQue", "overlap"]


def test_cores_in_turn_wait_for_their_own_copies_too(tmp_path):
    (file := tmp_path / "turns.cpp").write_text(
        """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void turns(GM_ADDR x, GM_ADDR z, GM_ADDR work) {
    GlobalTensor<float> from, to;
    GlobalTensor<int32_t> shared;
    from.SetGlobalBuffer((__gm__ float *)x, 64), to.SetGlobalBuffer((__gm__ float *)z, 64), shared.SetGlobalBuffer((__gm__ int32_t *)work);
    TPipe pipe;
    TBuf<> held, flags;
    pipe.InitBuffer(held, 256), pipe.InitBuffer(flags, 512);
    auto tile = held.Get<float>();
    auto own = flags.Get<int32_t>();
    InitDetermineComputeWorkspace(shared, own);
    DataCopy(tile, from, 64);
    WaitPreBlock(shared, own);
    SetAtomicAdd<float>();
    DataCopy(to, tile, 64);
    SetAtomicNone();
    NotifyNextBlock(shared, own);
}
""",
        "utf-8",
    )
    x, z = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run = av.tiles.run(cpp(file)["turns"], x, z, np.zeros(64, np.int32), cores=3, schedule="late")
    assert run.hazards == () and np.array_equal(z, 3 * x)


CALLS = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void asinh(GM_ADDR x, GM_ADDR y, int32_t which) {{  // called like a function of C's library
    GlobalTensor<float> from, to;
    GlobalTensor<int32_t> work;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)y), work.SetGlobalBuffer((__gm__ int32_t *)y);
    LocalMemAllocator<> ub;
    auto a = ub.Alloc<float>(256), d = ub.Alloc<float>(256), w = ub.Alloc<float>(64);
    auto nines = ub.Alloc<float>(64);
    auto tmp = w.ReinterpretCast<uint8_t>();
    auto pattern = w.ReinterpretCast<uint32_t>();
    uint64_t kept = 0;
    auto places = a.ReinterpretCast<uint32_t>();
    uint32_t to_[] = {{2, 64}}, of[] = {{1, 64}}, at[] = {{0, 2, 32, 34, 95, 127}};
    uint64_t bits[2] = {{0xF05, 0}}, five[2] = {{31, 0}};
    UnaryRepeatParams unary;
    BinaryRepeatParams binary;
    DataCopy(a, from, 256), DataCopy(d, from, 256), PipeBarrier<PIPE_ALL>();
    switch (which) {{ {cases} }}
    PipeBarrier<PIPE_ALL>(), DataCopy(to, d, 256);
}}
"""
SAME = [
    *TEXTS["calls"]["same"],
    *(
        (f"SetVectorMask<float>(5); {call.format('<float, false>', 0)}", call.format("", mask))
        for mask in ("5", "five")
        for call in TEXTS["calls"]["masked"]
    ),
]
REFUSED = table("""
ReduceMax(d, a, w, bits, 2, 8)                                                           | ReduceMax: bits that leave out lanes
WholeReduceMin(d, a, bits, 2, 1, 1, 8)                                                   | WholeReduceMin: bits that leave out lanes
SetMaskCount(); ReduceSum(d, a, w, 64, 1, 8)                                             | ReduceSum: a mask that counts elements
Gather(d, a, places, 0, five, 1, 8)                                                      | Gather: a mask that leaves lanes out
Select(d, tmp, a, a, SELMODE::VSEL_CMPMASK_SPR, five, 1, binary)                         | Select: a mask that leaves lanes out
Select(d, tmp, a, 1.0f, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64)                            | Select takes a number as src1
SyncAll(work, w.ReinterpretCast<int32_t>(), 3)                                           | SyncAll: a meeting of a part of the cores
CrossCoreWaitFlag<2>(0)                                                                  | CrossCoreWaitFlag: modes 1 and 2
Transpose(d, a, tmp, TransposeParamsExt(1, 2, 2, 2, TransposeType::TRANSPOSE_TYPE_NONE)) | Transpose: this TransposeType
""")
UNTRANSLATED = table("""
Adds<float, false>(d, a, 1.0f, 64)                                                       | a count with isSetMask = false is not offered
DataCopyPad<float, PaddingMode::Compact>(to, d, DataCopyExtParams(1, 4, 0, 0))           | PaddingMode::Compact is of Atlas 950
DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_UB>(to) | the cache of global memory alone
SetDeqScale(half(1))                                                                     | SetDeqScale: conversions with a scale are not offered
""")


def test_calls_of_the_header_take_each_argument_or_refuse_it(tmp_path):
    def source(statements):
        cases = " ".join(f"case {k}: {text}; break;" for k, text in enumerate(statements))
        (file := tmp_path / "calls.cpp").write_text(CALLS.format(cases=cases), "utf-8")
        return cpp(file)["asinh"]

    def left(which):
        y = np.zeros(256, np.float32)
        run = av.tiles.run(kernel, np.arange(1, 257, dtype=np.float32) % 37, y, which)
        return y.tolist(), [str(hazard) for hazard in run.hazards]

    kernel = source([text for pair in SAME for text in pair] + [text for text, _ in REFUSED])
    for place, pair in enumerate(SAME):
        (one, hazards), other = left(2 * place), left(2 * place + 1)
        assert (one, []) == other and hazards == [], pair
    for place, (text, said) in enumerate(REFUSED, 2 * len(SAME)):
        assert said in left(place)[1][0], text
    with pytest.raises(ValueError) as error:
        source([text for text, _ in UNTRANSLATED])
    assert [said for _, said in UNTRANSLATED if said not in str(error.value)] == []


def test_the_header_numbers_what_the_machine_numbers():
    names = {"pipe_t": "PIPE_S PIPE_V PIPE_MTE2 PIPE_MTE3 PIPE_ALL".split()}
    for kind, choice in enumerate(CHOICES):
        members = [getattr(one, "name", None) for one in choice]
        name = "pipe_t" if members[0] is None else type(choice[0]).__name__
        listed = re.sub(
            r"\s", "", re.search(rf"enum (?:class )?{name} {{(.*?)}}", HEADER, re.DOTALL)[1]
        ).split(",")
        wanted = names.get(name, members)
        assert listed[: len(wanted)] == wanted and set(
            re.findall(r"Choice<(\d), (?:HardEvent|TPosition|\w+)>", HEADER)
        ) >= {str(kind)}
    for kind, params in enumerate(PARAMETERS):
        count = len(
            re.search(
                rf"struct {params.__name__} {{.*?fields\({kind}, (.*?)\);", HEADER, re.DOTALL
            )[1].split(", ")
        )
        assert count in (len(params.__annotations__), 4)
    called = set(re.findall(r'call\("(\w+)"', HEADER)) | set(
        re.findall(r"ASCENDC_(?:BINARY|UNARY|SCALAR|REDUCE|WHOLE|BLOCKS)\((\w+)\)", HEADER)
    )
    assert called - {"Name"} <= FUNCTIONS.keys()


def test_the_files_of_the_wheel_hold_the_headers():
    assert "tiles/include/**/*.h" in (Path(__file__).parents[2] / "pyproject.toml").read_text(
        "utf-8"
    )


@pytest.mark.parametrize(
    "file, wrong",
    [
        (None, None),
        ("3.0f, CMPMODE::LE", "3.0f, CMPMODE::LT"),
        pytest.param("slope, 0.5f", "slope, 0.4f", marks=pytest.mark.soak),
    ],
)
def test_a_kernel_of_an_operator_is_judged(file, wrong, tmp_path, capsys, monkeypatch):
    # independent of the machine's load
    monkeypatch.setitem(scope.DEPTHS, "quick", replace(scope.DEPTHS["quick"], seconds=60.0))
    source = HARDSWISH if file is None else edited(tmp_path, file, wrong, HARDSWISH)
    status = cli.main(
        [
            "check",
            "hardswish",
            f"{source}:hardswish_grad",
            *"--dtypes float32 --depth quick".split(),
        ]
    )
    said = capsys.readouterr().out
    assert status == (file is not None), said
    assert file is None or wrong != "3.0f, CMPMODE::LT" or "x < 3 instead of x <= 3" in said


def test_a_program_takes_numbers_from_its_tiling():
    kernel = cpp(HARDSWISH)["hardswish_grad"]
    case = av.case("hardswish", shape=(3, 50))
    program = kernel.program(
        "hardswish", lambda platform, gradOutput, self: av.tiles.Tiling(2, n=self.size)
    )
    run = av.tiles.launch(program, schedule="late", **case.inputs)
    assert (
        run.hazards == ()
        and run.cores == 2
        and av.check("hardswish", program, dtypes="float32", depth="quick").passed
    )
    with pytest.raises(TypeError, match="each parameter of hardswish_grad .* pass tiling="):
        av.tiles.launch(
            kernel.program("hardswish", lambda platform, **inputs: av.tiles.Tiling(2)),
            **case.inputs,
        )
