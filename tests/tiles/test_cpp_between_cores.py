"""Flags between two cores, groups of cores, pools of buffers, and masked extremes: against what plain Python makes of them."""

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.tiles.cpp import cpp

pytestmark = pytest.mark.needs("g++")
SCHEDULES = "eager", "late", 3
CORES = """#include "kernel_operator.h"
using namespace AscendC;
constexpr int n = 64;
__aicore__ inline void chain(GM_ADDR x, GM_ADDR z, GM_ADDR work, bool back) {  // each core adds its part to the part of a neighbour
    GlobalTensor<float> from, to;
    GlobalTensor<int32_t> flags;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)z), flags.SetGlobalBuffer((__gm__ int32_t *)work);
    TPipe pipe;
    TBuf<> held, other, own;
    pipe.InitBuffer(held, n * 4), pipe.InitBuffer(other, n * 4), pipe.InitBuffer(own, 32);
    auto a = held.Get<float>(), b = other.Get<float>();
    auto buffer = own.Get<int32_t>();
    int me = GetBlockIdx(), last = GetBlockNum() - 1, step = back ? -1 : 1;
    bool first = me == (back ? last : 0), end = me == (back ? 0 : last);
    DataCopy(a, from[me * n], n);
    if (!first) {
        IBWait(flags, buffer, me - step, 1);
        DataCopy(b, to[(me - step) * n], n);
        PipeBarrier<PIPE_ALL>();
        Add(a, a, b, n);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(to[me * n], a, n);
    if (!end) IBSet(flags, buffer, me, 1);
    SyncAll();
    DataCopy(b, to[(last - me) * n], n);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to[(last + 1 + me) * n], b, n);
}
extern "C" __global__ __aicore__ void forth(GM_ADDR x, GM_ADDR z, GM_ADDR work) { chain(x, z, work, false); }
extern "C" __global__ __aicore__ void back(GM_ADDR x, GM_ADDR z, GM_ADDR work) { chain(x, z, work, true); }
extern "C" __global__ __aicore__ void groups(GM_ADDR x, GM_ADDR z, GM_ADDR work) {  // the last two cores wait for the first three
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)z);
    TPipe pipe;
    TBuf<> held, other;
    pipe.InitBuffer(held, n * 4), pipe.InitBuffer(other, n * 4);
    auto a = held.Get<float>(), b = other.Get<float>();
    GroupBarrier<PipeMode::MTE3_MODE> barrier(work, 3, 2);
    ASSERT(barrier.GetWorkspaceLen() == 1024);
    int me = GetBlockIdx();
    for (int round = 0; round < 2; ++round) {
        if (me < 3) {
            DataCopy(a, from[me * n], n);
            PipeBarrier<PIPE_ALL>();
            Muls(a, a, round + 1.0f, n);
            PipeBarrier<PIPE_ALL>();
            DataCopy(to[(round * 5 + me) * n], a, n);
            barrier.Arrive(me);
        } else {
            barrier.Wait(me - 3);
            DataCopy(a, to[round * 5 * n], n), DataCopy(b, to[(round * 5 + me - 2) * n], n);
            PipeBarrier<PIPE_ALL>();
            Add(a, a, b, n);
            PipeBarrier<PIPE_ALL>();
            DataCopy(to[(round * 5 + me) * n], a, n);
            PipeBarrier<PIPE_ALL>();
        }
    }
}
"""


@pytest.fixture(scope="module")
def cores(tmp_path_factory):
    (file := tmp_path_factory.mktemp("cores") / "cores.cpp").write_text(CORES, "utf-8")
    return cpp(file)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_core_reads_what_another_has_written_before_its_flag(cores, schedule):
    x = np.random.default_rng(1).integers(-9, 9, (4, 64)).astype(np.float32)
    for name, sums in (("forth", x.cumsum(0)), ("back", x[::-1].cumsum(0)[::-1])):
        z = np.zeros((8, 64), np.float32)
        run = av.tiles.run(cores[name], x, z, np.zeros(256, np.int32), cores=4, schedule=schedule)
        assert run.hazards == ()
        assert np.array_equal(z, np.concatenate([sums, sums[::-1]])), name


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_group_waits_for_all_of_another_each_time(cores, schedule):
    x = np.arange(3 * 64, dtype=np.float32).reshape(3, 64)
    z = np.zeros((2, 5, 64), np.float32)
    run = av.tiles.run(cores["groups"], x, z, np.zeros(256, np.int32), cores=5, schedule=schedule)
    assert run.hazards == ()
    for round in range(2):
        made = (round + 1) * x
        assert np.array_equal(z[round], [*made, made[0] + made[1], made[0] + made[2]])


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("if (!end) IBSet", "if (me > 9) IBSet", "deadlock"),
        ("IBWait(flags, buffer, me - step, 1)", "IBWait(flags, buffer, me, 0)", "deadlock"),
        ("        IBWait(flags, buffer, me - step, 1);\n", "", "race between cores"),
        ("pipe.InitBuffer(own, 32)", "pipe.InitBuffer(own, 0)", "buffer of no bytes"),
    ],
)
def test_a_flag_that_is_wrong_or_lacks_is_a_hazard(tmp_path, before, after, kind):
    assert CORES.count(before) == 1
    (file := tmp_path / "wrong.cpp").write_text(CORES.replace(before, after), "utf-8")
    x, z = np.ones((4, 64), np.float32), np.zeros((8, 64), np.float32)
    run = av.tiles.run(cpp(file)["forth"], x, z, np.zeros(256, np.int32), cores=4)
    assert kind in {one.kind for one in run.hazards}


POOLS = """#include "kernel_operator.h"
using namespace AscendC;
constexpr int n = 1024;
class Own {
public:
    Own() { Init(); }
    template <class T>
    bool InitBuffer(T &queue, uint8_t count, uint32_t length) {
        auto block = GetBufHandle(GetCurBufSize());
        queue.InitStartBufHandle(block, count, length);
        for (uint8_t k = 0; k < count; ++k) queue.InitBufHandle(this, k, block, GetCurAddr() + k * length, length);
        SetCurAddr(GetCurAddr() + count * length), SetCurBufSize(GetCurBufSize() + count);
        return true;
    }
    EXTERN_IMPL_BUFPOOL(Own, TPosition::VECCALC, 4);
};
template <class In, class Out>
__aicore__ inline void twice(In &in, Out &out, GlobalTensor<half> to, GlobalTensor<half> from) {
    auto a = in.template AllocTensor<half>();
    DataCopy(a, from, n);
    in.EnQue(a), a = in.template DeQue<half>();
    auto b = out.template AllocTensor<half>();
    Add(b, a, a, n);
    out.EnQue(b), in.FreeTensor(a), b = out.template DeQue<half>();
    DataCopy(to, b, n);
    out.FreeTensor(b);
}
extern "C" __global__ __aicore__ void pools(GM_ADDR x, GM_ADDR z) {
    GlobalTensor<half> from, to;
    from.SetGlobalBuffer((__gm__ half *)x), to.SetGlobalBuffer((__gm__ half *)z);
    TPipe pipe;
    TBufPool<TPosition::VECCALC> whole, left, right;
    TQue<TPosition::VECIN, 1> in, again;
    TQue<TPosition::VECOUT, 1> out, outAgain;
    TBuf<> behind;
    pipe.InitBufPool(whole, 3 * 2 * n);
    pipe.InitBuffer(behind, 32);
    behind.Get<float>().SetValue(0, 7);
    whole.InitBufPool(left, 2 * 2 * n), whole.InitBufPool(right, 2 * 2 * n, left);
    left.InitBuffer(in, 1, 2 * n), left.InitBuffer(out, 1, 2 * n);
    twice(in, out, to, from);
    left.Reset();
    right.InitBuffer(again, 1, 2 * n), right.InitBuffer(outAgain, 1, 2 * n);
    twice(again, outAgain, to[n], from[n]);
    right.Reset(), whole.Reset();
    ASSERT(behind.Get<float>().GetValue(0) == 7);
    pipe.Reset();
    Own mine;
    TQue<TPosition::VECIN, 2> third;
    TQue<TPosition::VECOUT, 1> outThird;
    pipe.InitBufPool(mine, 3 * 2 * n);
    mine.InitBuffer(third, 2, 2 * n), mine.InitBuffer(outThird, 1, 2 * n);
    ASSERT(mine.GetCurBufSize() == 3);
    for (int k = 2; k < 4; ++k) twice(third, outThird, to[k * n], from[k * n]);
    mine.Reset();
}
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_pools_share_a_part_of_the_buffer_up_to_their_reset(tmp_path, schedule):
    (file := tmp_path / "pools.cpp").write_text(POOLS, "utf-8")
    x = np.arange(4096).astype(np.float16)
    run = av.tiles.run(cpp(file)["pools"], x, z := np.zeros_like(x), schedule=schedule)
    assert run.hazards == () and np.array_equal(z, x + x)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            "right.InitBuffer(again, 1, 2 * n)",
            "right.InitBuffer(again, 3, 2 * n)",
            "beyond the length",
        ),
        ("    pipe.InitBufPool(mine, 3 * 2 * n);\n", "", "no InitBufPool"),
        ("GetCurAddr() + k * length", "GetCurAddr() + 2 * k * length", "lie apart"),
        (
            "    left.Reset();\n",
            "    auto held = in.AllocTensor<half>(); Duplicate(held, half(1), n);\n",
            "wait",
        ),
    ],
)
def test_a_pool_that_is_too_small_or_still_used_is_a_hazard(tmp_path, before, after, said):
    assert POOLS.count(before) == 1
    (file := tmp_path / "wrong.cpp").write_text(POOLS.replace(before, after), "utf-8")
    x = np.arange(4096).astype(np.float16)
    run = av.tiles.run(cpp(file)["pools"], x, np.zeros_like(x))
    assert any(said in str(one) for one in run.hazards), run.hazards


EXTREMES = """#include "kernel_operator.h"
using namespace AscendC;
template <class T> __aicore__ inline void extremes(GM_ADDR x, GM_ADDR z, int32_t count) {
    GlobalTensor<T> from, to;
    from.SetGlobalBuffer((__gm__ T *)x), to.SetGlobalBuffer((__gm__ T *)z);
    LocalMemAllocator<> ub;
    auto a = ub.Alloc<T>(1024), d = ub.Alloc<T>(1024), w = ub.Alloc<T>(1024);
    DataCopy(a, from, 1024), DataCopy(d, from, 1024), PipeBarrier<PIPE_ALL>();
    SetMaskCount(), SetVectorMask<T, MaskMode::COUNTER>(0, count);
    WholeReduceMax<T, false>(d, a, MASK_PLACEHOLDER, 1, 1, 1, 8);
    WholeReduceMin<T>(d[64], a, count, 1, 1, 1, 8, ReduceOrder::ORDER_INDEX_VALUE);
    SetMaskNorm(), ResetMask();
    uint64_t bits[2] = {0x0101010101010101, 0};
    ReduceMax(d[128], a, w, bits, 3, 8, true), ReduceMin(d[192], a, w, bits, 3, 8, true);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, d, 1024);
}
extern "C" __global__ __aicore__ void in_float(GM_ADDR x, GM_ADDR z, int32_t count) { extremes<float>(x, z, count); }
extern "C" __global__ __aicore__ void in_half(GM_ADDR x, GM_ADDR z, int32_t count) { extremes<half>(x, z, count); }
"""


def test_extremes_of_a_count_and_of_bits_have_the_index_of_the_first(tmp_path):
    (file := tmp_path / "extremes.cpp").write_text(EXTREMES, "utf-8")
    for name, dtype in (("in_float", np.dtype("f4")), ("in_half", np.dtype("f2"))):
        lanes, word = 256 // dtype.itemsize, f"u{dtype.itemsize}"
        for count in (5, lanes, lanes + 1, 3 * lanes - 7):
            x = np.random.default_rng(count).integers(-50, 50, 1024).astype(dtype)
            x[count:] = 99  # what does not count is larger
            run = av.tiles.run(cpp(file)[name], x, z := np.zeros_like(x), count)
            assert run.hazards == ()
            wanted = x.copy()
            rows = [list(x[at : min(at + lanes, count)]) for at in range(0, count, lanes)]
            for k, row in enumerate(rows):
                for at, best, order in ((2 * k, max(row), 1), (64 + 2 * k, min(row), -1)):
                    index = np.array([row.index(best)], word).view(dtype)[0]
                    wanted[at : at + 2] = (best, index)[::order]
            chosen = [r * lanes + b for r in range(3) for b in range(0, 64, 8)]
            for at, function in ((128, max), (192, min)):
                best = function(x[place] for place in chosen)
                place = next(place for place in chosen if x[place] == best)
                wanted[at : at + 2] = best, np.array([place], word).view(dtype)[0]
            assert np.array_equal(z.view(word), wanted.view(word)), (name, count)
