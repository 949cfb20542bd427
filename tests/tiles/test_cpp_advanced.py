"""Calls of the library on rows: each against loops over single numbers that share nothing with the machine, in each format."""

import tomllib
from itertools import permutations
from math import exp, fsum, log10, sqrt
from operator import truediv
from pathlib import Path

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.tiles.cpp import cpp

pytestmark = pytest.mark.needs("g++")
FORMULAS = tomllib.loads(Path(__file__).with_name("formulas.toml").read_text("utf-8"))
PLACES, FLASH = FORMULAS["places"], FORMULAS["flash"]
M, H, REAL = 3, 32, 29  # rows, elements of a row, and how many of them count
EPSILON = 1e-3
SOURCE = """#include "kernel_operator.h"
using namespace AscendC;
template <class T> __aicore__ inline void library_calls(GM_ADDR x, GM_ADDR y, int32_t which) {
    TPipe pipe;
    TBuf<> held[13];
    LocalTensor<T> t[13];
    for (int i = 0; i < 13; ++i) pipe.InitBuffer(held[i], 1024), t[i] = held[i].Get<T>();
    auto &a = t[0], &b = t[1], &c = t[2], &d = t[3], &e = t[4], &o = t[5], &p = t[6], &q = t[7], &r = t[8], &s = t[9];
    auto bytes = t[10].template ReinterpretCast<uint8_t>(), marks = t[11].template ReinterpretCast<uint8_t>();
    auto places = t[9].template ReinterpretCast<int32_t>();
    auto indices = t[4].template ReinterpretCast<uint32_t>(), found = t[6].template ReinterpretCast<uint32_t>();
    GlobalTensor<T> from, to;
    from.SetGlobalBuffer((__gm__ T *)x), to.SetGlobalBuffer((__gm__ T *)y);
    constexpr uint32_t n = 1024 / sizeof(T), w = 32 / sizeof(T);
    for (int i = 0; i < 13; ++i) DataCopy(t[i], from[i * n], n);
    PipeBarrier<PIPE_ALL>();
    SoftMaxTiling soft;
    soft.srcM = 3, soft.srcK = 32;
    SoftMaxShapeInfo real{3, 32, 3, 29};
    LayerNormTiling norm;
    norm.bLength = 1, norm.sLength = 3, norm.hLength = 32, norm.originalHLength = 29;
    DeepNormTiling deep;
    deep.bLength = 1, deep.sLength = 3, deep.hLength = 32, deep.originalHLength = 29;
    RmsNormTiling rms;
    rms.bLength = 3, rms.sLength = 1, rms.hLength = 32, rms.originalHLength = 29;
    LayerNormGradTiling back;
    back.bLength = 3, back.sLength = 1, back.hLength = 32, back.originalHLength = 32;
    LayerNormGradBetaTiling beta;
    beta.bLength = 3, beta.sLength = 1, beta.hLength = 32, beta.originalHLength = 32;
    BatchNormTiling batch;
    batch.originalBLength = 3, batch.meanVarSize = 32;
    GroupNormTiling groups;
    groups.n = 2, groups.c = 4, groups.hw = 8, groups.g = 2, groups.d = 2;
    uint32_t shape[] = {3, 29};
    T eps = T(0.001f);
    switch (which) {
CASES
    }
    PipeBarrier<PIPE_ALL>();
    for (int i = 0; i < 13; ++i) DataCopy(to[i * n], t[i], n);
}
extern "C" __global__ __aicore__ void in_float(GM_ADDR x, GM_ADDR y, int32_t which) { library_calls<float>(x, y, which); }
extern "C" __global__ __aicore__ void in_half(GM_ADDR x, GM_ADDR y, int32_t which) { library_calls<half>(x, y, which); }
"""


def softmax(row, of=lambda x, whole: x):
    top = max(row)
    powers = [exp(x - top) for x in row]
    whole = fsum(powers)
    return {"o": [of(x, whole) for x in powers], "p": [whole], "q": [top]}


def moments(row):
    mean = fsum(row) / len(row)
    return mean, fsum((x - mean) ** 2 for x in row) / len(row)


def normed(row, gamma, beta, key="o", rooted=False):
    mean, variance = moments(row)
    root = 1 / sqrt(variance + EPSILON)
    made = [(x - mean) * root * g + b for x, g, b in zip(row, gamma, beta)]
    return {key: made, "1p": [mean], "1q": [root if rooted else variance]}


def flash(t, divided):
    """Yield flash-attention softmax of tiles t: a the rows, b and c the previous maxima and sums, 32 bytes wide."""
    for i, row in enumerate(t.rows("a", REAL)):
        before, sums = t.first("b", i), abs(t.first("c", i))
        top = max(before, max(row))
        powers, scale = [exp(x - top) for x in row], exp(before - top)
        whole = fsum(powers) + scale * sums
        yield {"o": [x / (whole if divided else 1) for x in powers], "p": [whole], "q": [top],
               "d": [scale * sums / whole if divided else scale]}  # fmt: skip


def gradients(t):
    for i, (x, dy) in enumerate(zip(t.rows("b", H), t.rows("a", H))):
        mean, variance = t["d"][i], abs(t["c"][i])
        root = 1 / sqrt(variance + EPSILON)
        scaled = [g * y for g, y in zip(t["e"][:H], dy)]
        dv = fsum(-0.5 * g * (v - mean) * root**3 for g, v in zip(scaled, x))
        dm = fsum(-g * root for g in scaled) + dv * fsum(-2 * (v - mean) for v in x) / H
        yield {"o": [g * root + dv * 2 / H * (v - mean) + dm / H for g, v in zip(scaled, x)],
               "p": [(v - mean) * root for v in x]}  # fmt: skip


def batches(t):
    rows = t.rows("a", H)
    means, variances = zip(*map(moments, zip(*rows)))
    scaled = [
        [(x - m) / sqrt(v + EPSILON) for x, m, v in zip(row, means, variances)] for row in rows
    ]
    made = [{"o": [x * g + b for x in row]} for row, g, b in zip(scaled, t["b"], t["c"])]
    return [made[0] | {"p": means, "q": variances}, *made[1:]]


def groups(t):
    scales = [[z for z in t[x][:4] for _ in range(8)] * 2 for x in "bc"]
    return [normed(*(x[i * 16 :][:16] for x in (t["a"], *scales)), "16o") for i in range(4)]


def each_row(function, *letters, real=REAL):
    return lambda t: [function(*(t.rows(x, real)[i] for x in letters)) for i in range(M)]


def columns(function, real=REAL):
    return lambda t: [{"o": [function(column) for column in zip(*t.rows("a", real))]}]


def alone(function):
    return lambda t: [{"1o": [function(row)]} for row in t.rows("a", REAL)]


def marked(function):
    return lambda t: [
        {"o": list(map(function, t.marks[i * H :], row))} for i, row in enumerate(t.rows("a", H))
    ]


def sorted_row(row, k, largest=True):
    order = sorted(range(len(row)), key=lambda i: -row[i] if largest else row[i])[:k]
    return [row[i] for i in order], order


def top_four(largest):
    return lambda t: [
        dict(zip((f"{16 if t.size == 2 else 8}o", "8s"), sorted_row(row, 4, largest)))
        for row in t.rows("a", REAL)
    ]


# A call, and its result at the start of each row of the tensors; one number per row may be 32 bytes wide.
CALLS = [
    ("SoftMax<T>(o, p, q, a, soft, real)", each_row(lambda r: softmax(r, truediv), "a")),
    ("SoftMax<T>(o, a, bytes, soft, real)", each_row(lambda r: {"o": softmax(r, truediv)["o"]}, "a")),
    ("LogSoftMax<T>(o, p, q, a, bytes, soft, real)", each_row(lambda r: softmax(r, lambda x, whole: log10(x / whole)), "a")),
    ("SoftmaxFlashV2<T>(o, p, q, a, d, c, b, soft, real)", each_row(softmax, "a")),
    ("Abs(c, c, 24 * 2); SoftmaxFlashV2<T, true>(o, p, q, a, d, c, b, bytes, soft, real)", lambda t: flash(t, False)),
    ("Abs(c, c, 24 * 2); SoftmaxFlash<T>(o, p, q, a, d, c, b, soft, true, real)", lambda t: flash(t, True)),
    ("SoftmaxGrad<T>(o, a, b, soft, false, real)", each_row(lambda g, y: {"o": [(u - fsum(x * z for x, z in zip(g, y))) * v for u, v in zip(g, y)]}, "a", "b")),
    ("SoftmaxGradFront<T>(o, a, b, soft, real)", each_row(lambda g, y: {"o": [fsum(x * z for x, z in zip(g, y))]}, "a", "b")),
    ("LayerNorm<T>(o, p, q, a, b, c, eps, norm)", lambda t: [normed(row, t["b"], t["c"]) for row in t.rows("a", REAL)]),
    ("DeepNorm<T>(o, p, q, a, d, c, b, T(0.5f), eps, deep)", lambda t: [normed([x / 2 + z for x, z in zip(row, more)], t["b"], t["c"], rooted=True) for row, more in zip(t.rows("a", REAL), t.rows("d", REAL))]),
    ("RmsNorm<T>(o, a, b, bytes, eps, rms)", lambda t: [{"o": [x / sqrt(fsum(z * z for z in row) / REAL + EPSILON) * g for x, g in zip(row, t["b"])]} for row in t.rows("a", REAL)]),
    ("Abs(c, c, 16); LayerNormGrad<T>(o, p, a, b, c, d, e, bytes, eps, back)", gradients),
    ("LayerNormGradBeta<T>(o, p, a, b, beta)", lambda t: [{"o": [fsum(x * z for x, z in zip(u, v)) for u, v in zip(zip(*t.rows("a", H)), zip(*t.rows("b", H)))], "p": [fsum(v) for v in zip(*t.rows("b", H))]}]),
    ("ReduceSum<T, Pattern::Reduce::AR>(o, a, shape, true)", alone(fsum)),
    ("ReduceMax<T, Pattern::Reduce::AR>(o, a, bytes, shape, true)", alone(max)),
    ("ReduceMin<T, Pattern::Reduce::RA>(o, a, shape, true)", columns(min)),
    ("ReduceMean<T, Pattern::Reduce::RA>(o, a, shape, true)", columns(lambda c: fsum(c) / M)),
    ("ReduceProd<T, Pattern::Reduce::RA>(o, a, shape, true)", columns(lambda c: c[0] * c[1] * c[2])),
    ("Sum<T>(o, a, SumParams{3, 32, 29})", alone(fsum)),
    ("Mean<T>(o, a, bytes, MeanParams{3, 32, 29})", alone(lambda r: fsum(r) / REAL)),
    ("CumSum<T>(o, p, a, bytes, CumSumInfo{3, 32})", each_row(lambda r: {"o": [fsum(r[: k + 1]) for k in range(H)]}, "a", real=H)),
    ("Sort32(p, a, indices, 1); Extract(o, found = t[7].template ReinterpretCast<uint32_t>(), p, 1)", lambda t: [{"o": sorted_row(t["a"][:H], H)[0]}]),
    ("Sort<T, true>(p, a, indices, q, 2); Extract(o, found = t[7].template ReinterpretCast<uint32_t>(), p, 2)", lambda t: [{"o": sorted_row(t["a"][:64], 64)[0]}]),
    ("TopK<T>(o, places, a, places, LocalTensor<bool>(), 4, TopkTiling(), TopKInfo{3, 32, 29})", top_four(True)),
    ("TopK<T>(o, places, a, places, LocalTensor<bool>(), bytes, 4, TopkTiling(), TopKInfo{3, 32, 29}, false)", top_four(False)),
    ("SelectWithBytesMaskShapeInfo of; of.firstAxis = 3, of.srcLastAxis = 32, of.maskLastAxis = 32; Select(o, a, T(7.0f), marks, bytes, of)", marked(lambda m, x: 7 if m else x)),
    ("SelectWithBytesMaskShapeInfo of; of.firstAxis = 3, of.srcLastAxis = 32, of.maskLastAxis = 32; Select(o, T(7.0f), a, marks, bytes, of)", marked(lambda m, x: x if m else 7)),
    ("DropOutShapeInfo of; of.firstAxis = 3, of.srcLastAxis = 32, of.maskLastAxis = 32; DropOut(o, a, marks, bytes, 0.5f, of)", marked(lambda m, x: 2 * m * x)),
    ("WelfordUpdate<T, T>(o, p, b, c, a, WelfordUpdateParam{1, 32, 32, 0.25f})", lambda t: [{"o": [m + (x - m) / 4 for x, m in zip(t["a"][:H], t["b"])], "p": [v + (x - m) * (x - m - (x - m) / 4) for x, m, v in zip(t["a"][:H], t["b"], t["c"])]}]),
    ("Exp<T, 10>(o, a, bytes, 96)", each_row(lambda r: {"o": [exp(x) for x in r]}, "a", real=H)),
    ("BatchNorm<T>(o, p, q, a, b, c, eps, batch)", batches),
    ("GroupNorm<T>(o, p, q, a, b, c, bytes, eps, groups)", groups),
]  # fmt: skip


class Tiles(dict):
    """The content of each tensor in float64: whole, as rows of 32, and the first number of each row of 32 bytes."""

    def __init__(self, x, size):
        super().__init__({z: x[k].astype(np.float64).tolist() for k, z in enumerate("abcde")})
        self.size, self.marks = size, x[11].view(np.uint8)

    def rows(self, letter, real):
        return [self[letter][i * H : i * H + real] for i in range(M)]

    def first(self, letter, row):
        return self[letter][row * 32 // self.size]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    cases = "\n".join(f"    case {k}: {{ {call}; break; }}" for k, (call, _) in enumerate(CALLS))
    (file := tmp_path_factory.mktemp("advanced") / "calls.cpp").write_text(
        SOURCE.replace("CASES", cases), "utf-8"
    )
    return cpp(file)


def left(source, dtype, which, seed=0):
    """Return the tensors before a call and after it, and its hazards."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((13, 1024 // dtype.itemsize)).astype(dtype)
    x[11].view(np.uint8)[:] = rng.integers(0, 2, 1024)
    y = np.zeros_like(x)
    run = av.tiles.run(source["in_float" if dtype.itemsize == 4 else "in_half"], x, y, which)
    return x, y, run.hazards


def misses(call, right, x, y, tolerance):
    """Return the wrong results of a call, by tensor and row."""
    size = x.itemsize
    found, places = [], {z: k for k, z in enumerate("abcdeopqrs")}
    rows = list(right(Tiles(x, size)))
    assert rows
    for i, row in enumerate(rows):
        for key, want in row.items():
            letter, step = key[-1], int(key[:-1] or 0)
            held = y[places[letter]].view(np.int32) if letter == "s" else y[places[letter]]
            step = step or (H if len(want) > 1 else 32 // size)
            got = held[i * step : i * step + len(want)].astype(np.float64)
            if not np.allclose(got, want, tolerance, tolerance):
                found.append((call, key, i, got[:4], want[:4]))
    return found


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, 2e-6), (np.float16, 2e-3)])
def test_each_call_computes_what_its_page_says(source, dtype, tolerance):
    dtype, wrong = np.dtype(dtype), []
    for which, (call, right) in enumerate(CALLS):
        if dtype.itemsize == 2 and call.startswith("Welford"):
            continue  # its statistics are float
        x, y, hazards = left(source, dtype, which)
        assert hazards == (), call
        wrong += misses(call, right, x, y, tolerance)
    assert wrong == []


STEPS = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void shifted(GM_ADDR x, GM_ADDR shift, GM_ADDR scale, GM_ADDR z) {
    GlobalTensor<int8_t> from;
    GlobalTensor<half> by, times, to;
    from.SetGlobalBuffer((__gm__ int8_t *)x), by.SetGlobalBuffer((__gm__ half *)shift);
    times.SetGlobalBuffer((__gm__ half *)scale), to.SetGlobalBuffer((__gm__ half *)z);
    LocalMemAllocator<> ub;
    auto a = ub.Alloc<int8_t>(1024);
    auto b = ub.Alloc<half>(128), c = ub.Alloc<half>(128), d = ub.Alloc<half>(1024);
    auto tmp = ub.Alloc<uint8_t>(4096);
    DataCopy(a, from, 1024), DataCopy(b, by, 128), DataCopy(c, times, 128), PipeBarrier<PIPE_ALL>();
    AntiQuantShapeInfo info{1, 128, 1, 128};
    AscendAntiQuant<int8_t, half, false>(d, a, b, c, tmp, 8, info);
    PipeBarrier<PIPE_ALL>(), DataCopy(to, d, 1024);
}
extern "C" __global__ __aicore__ void welford(GM_ADDR x, GM_ADDR shift, GM_ADDR scale, GM_ADDR z) {
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)z);
    LocalMemAllocator<> ub;
    auto a = ub.Alloc<float>(192), d = ub.Alloc<float>(128);
    auto tmp = ub.Alloc<uint8_t>(4096);
    DataCopy(a, from, 192), PipeBarrier<PIPE_ALL>();
    WelfordUpdate<float, float>(d, d[64], a, a[64], a[128], tmp, WelfordUpdateParam{1, 64, 64, 0.1f});
    PipeBarrier<PIPE_ALL>(), DataCopy(to, d, 128);
}
"""


def test_steps_that_a_page_names_are_rounded_each_in_their_format(tmp_path):
    (file := tmp_path / "steps.cpp").write_text(STEPS, "utf-8")
    rng = np.random.default_rng(5)
    x = rng.integers(-128, 128, (8, 128)).astype(np.int8)
    shift, scale = rng.uniform(-10, 10, (2, 128)).astype(np.float16)
    z = np.zeros((8, 128), np.float16)
    assert av.tiles.run(cpp(file)["shifted"], x, shift, scale, z).hazards == ()
    assert np.array_equal(z, (x.astype(np.float16) + shift) * scale)
    assert not np.array_equal(z, ((x + shift.astype(float)) * scale).astype(np.float16))
    mean, square, new = values = rng.uniform(0, 60000, (3, 64)).astype(np.float32)
    made = np.zeros((2, 64), np.float32)
    assert av.tiles.run(cpp(file)["welford"], values, shift, scale, made).hazards == ()
    middle = mean + (new - mean) * np.float32(0.1)
    assert np.array_equal(made, [middle, square + (new - mean) * (new - middle)])


WIDE = """#include "kernel_operator.h"
using namespace AscendC;
template <DataFormat from, DataFormat to> constexpr TransDataConfig turn = {from, to};
template <class T> __aicore__ inline void wide_calls(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t which) {
    TPipe pipe;
    TBuf<> held[4];
    GlobalTensor<uint8_t> from, more, to;
    from.SetGlobalBuffer(x), more.SetGlobalBuffer(y), to.SetGlobalBuffer(z);
    for (auto &one : held) pipe.InitBuffer(one, 32768);
    auto a = held[0].Get<uint8_t>(), b = held[1].Get<uint8_t>(), o = held[2].Get<uint8_t>(), tmp = held[3].Get<uint8_t>();
    DataCopy(a, from, 32768), DataCopy(b, more, 2048), Duplicate(o.ReinterpretCast<float>(), 0.0f, 8192);
    PipeBarrier<PIPE_ALL>();
    auto in = a.ReinterpretCast<T>(), out = o.ReinterpretCast<T>();
    auto state = b.ReinterpretCast<float>(), made = o[10240].ReinterpretCast<float>();
    DropOutShapeInfo drop;
    drop.firstAxis = 4, drop.srcLastAxis = 256, drop.maskLastAxis = 32;
    ConfusionTransposeTiling turning{{2, 2, 32, 32}};
    SoftMaxTiling soft;
    constexpr auto N = DataFormat::NCDHW, C = DataFormat::NDC1HWC0, F = DataFormat::FRACTAL_Z_3D;
    auto flat = MakeLayout(MakeShape(18, 20, 2, 3, 1), MakeStride());
    auto five = MakeLayout(MakeShape(18, 2, 2, 3, 1, 16), MakeStride());
    auto seven = MakeLayout(MakeShape(2, 2, 3, 1, 2, 16, 16), MakeStride());
    TransDataParams<decltype(flat), decltype(five)> to_five{flat, five};
    TransDataParams<decltype(flat), decltype(seven)> to_seven{flat, seven};
    TransDataParams<decltype(five), decltype(flat)> of_five{five, flat};
    TransDataParams<decltype(seven), decltype(flat)> of_seven{seven, flat};
    if (which == 0) DropOut<T, false, 3>(out, in, b, tmp, 0.5f, drop);
    if (which == 1) DropOut(out, in, b, 0.5f, drop);
    if (which == 2) Transpose(out, in, TransposeType::TRANSPOSE_NZ2ND_0213, turning);
    if constexpr (sizeof(T) == 2) {
        if (which == 3) TransData<turn<N, C>>(out, in, tmp, to_five);
        if (which == 4) TransData<turn<C, N>>(out, in, of_five);
        if (which == 5) TransData<turn<N, F>>(out, in, to_seven);
        if (which == 6) TransData<turn<F, N>>(out, in, tmp, of_seven);
    }
    if constexpr (std::is_same_v<T, half>) {
        SoftMaxParams params{8, 640, 8, 640, uint32_t(which - 6), 8, 0.75f};
        auto scale = o[12288].ReinterpretCast<half>();
        if (which == 7) SoftmaxFlashV3<T, float>(out, made, made[64], made[128], in, scale, state, state[64], state[128], soft, params);
        if (which == 8) SoftmaxFlashV3<T, float, true>(out, made, made[64], made[128], in, scale, state, state[64], state[128], tmp, soft, params);
    }
    PipeBarrier<PIPE_ALL>(), DataCopy(to, o, 32768);
}
extern "C" __global__ __aicore__ void float32(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t which) { wide_calls<float>(x, y, z, which); }
extern "C" __global__ __aicore__ void float16(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t which) { wide_calls<half>(x, y, z, which); }
extern "C" __global__ __aicore__ void int16(GM_ADDR x, GM_ADDR y, GM_ADDR z, int32_t which) { wide_calls<int16_t>(x, y, z, which); }
"""


WAYS = [("nz", "nd"), *permutations(("flat", "split")), *permutations(("flat", "fractal"))]


def test_forms_bits_and_parts_of_many_elements(tmp_path):
    (file := tmp_path / "wide.cpp").write_text(WIDE, "utf-8")
    source, rng = cpp(file), np.random.default_rng(3)
    more = rng.standard_normal(64).astype(np.float32).repeat(8)

    def made(x, which):
        run = av.tiles.run(source[x.dtype.name], x, more, z := np.zeros_like(x), which)
        assert run.hazards == (), which
        return z

    for dtype in (np.float32, np.float16, np.int16):
        x = rng.integers(-2000, 2000, 32768 // dtype().itemsize).astype(dtype)
        bits = np.unpackbits(more.view(np.uint8)[:128], bitorder="little")
        for which in (0, 1) if dtype != np.int16 else ():
            assert np.array_equal(made(x, which), np.pad(2 * x[:1024] * bits, (0, x.size - 1024)))
        for which, ways in enumerate(WAYS[: 1 if dtype == np.float32 else 5], 2):
            at = np.indices((2, 32, 2, 32) if which == 2 else (18, 20, 2, 3))
            before, after = (eval(PLACES[way], dict(zip("abcd", at))) for way in ways)
            want = np.zeros_like(x)
            want[after] = x[before]
            assert np.array_equal(made(x, which), want), (dtype, ways)
    x = rng.standard_normal(16384).astype(np.float16)
    for turn in (1, 2):
        known = vars(np) | {"x": x[:5120].reshape(8, 640).astype(float), "turn": turn}
        before = more[:192].reshape(3, 8, 8)[:, :, :1] if turn > 1 else (0, 0, -np.inf)
        known |= zip(("mean", "sums", "top"), before)
        for name, text in FLASH.items():
            known[name] = eval(text, known)
        z = made(x, turn + 6)
        got = z[:5120].reshape(8, 640), *z.view(np.float32)[2560:2752].reshape(3, 8, 8)
        got = *got, *[z[6144:6272].reshape(8, 16)] * (turn > 1)
        for name, values in zip(("p", "mixed", "total", "highest", "scale"), got):
            want = np.broadcast_to(known[name], values.shape)
            np.testing.assert_allclose(values, want, np.finfo(values.dtype).eps, 1e-7)


def alone_left(call, folder):
    (file := folder / "calls.cpp").write_text(
        SOURCE.replace("CASES", f"    case 0: {{ {call}; break; }}"), "utf-8"
    )
    return left(cpp(file), np.dtype(np.float32), 0)


def test_what_is_behind_the_first_k_is_left_as_it_was(tmp_path):
    call = "Duplicate(o, T(5), 256); TopK<T>(o, places, a, places, LocalTensor<bool>(), 1, TopkTiling(), TopKInfo{3, 32, 29})"
    x, y, hazards = alone_left(call, tmp_path)
    want = np.full((3, 8), 5.0)
    want[:, 0] = [max(x[0][32 * i :][:29]) for i in range(3)]
    assert hazards == () and np.array_equal(y[5][:24], want.ravel())


def test_sizes_that_do_not_fit_together_are_named(tmp_path):
    bad = "soft.srcK = 31; SoftmaxFlashV3<T, T>(o, p, q, r, a, d, b, c, e, bytes, soft, SoftMaxParams{0, 0, 0, 0, 1, 8, 0.5f})"
    assert "SoftmaxFlashV3 is given sizes" in str(alone_left(bad, tmp_path)[2][0])


def test_the_comparison_rejects_another_call(source):
    for call, other in ((1, 2), (8, 10), (13, 14), (15, 16), (23, 24), (25, 26)):
        x, y, _ = left(source, np.dtype(np.float32), other)
        assert misses(*CALLS[call], x, y, 2e-6), CALLS[call]
