// One tile of float: kernels that leave nan where the truth is finite.
#include "kernel_operator.h"

using namespace AscendC;

template <typename Compute>
__aicore__ inline void OneTile(GM_ADDR grad, GM_ADDR x, GM_ADDR out, uint32_t n, Compute compute) {
    if (GetBlockIdx() != 0) {
        return;
    }
    TPipe pipe;
    TQue<TPosition::VECIN, 1> gradQue, xQue;
    TQue<TPosition::VECOUT, 1> outQue;
    TBuf<TPosition::VECCALC> workBuf;
    uint32_t lanes = (n + 63) / 64 * 64;
    GlobalTensor<float> gradGm, xGm, outGm;
    gradGm.SetGlobalBuffer((__gm__ float *)grad, n);
    xGm.SetGlobalBuffer((__gm__ float *)x, n);
    outGm.SetGlobalBuffer((__gm__ float *)out, n);
    pipe.InitBuffer(gradQue, 1, lanes * sizeof(float));
    pipe.InitBuffer(xQue, 1, lanes * sizeof(float));
    pipe.InitBuffer(outQue, 1, lanes * sizeof(float));
    pipe.InitBuffer(workBuf, lanes * sizeof(float));
    LocalTensor<float> g = gradQue.AllocTensor<float>(), y = xQue.AllocTensor<float>();
    DataCopyExtParams row{1, uint32_t(n * sizeof(float)), 0, 0, 0};
    DataCopyPad(g, gradGm, row, DataCopyPadExtParams<float>{false, 0, 0, 0.0f});
    DataCopyPad(y, xGm, row, DataCopyPadExtParams<float>{false, 0, 0, 0.0f});
    gradQue.EnQue(g);
    xQue.EnQue(y);
    g = gradQue.DeQue<float>();
    y = xQue.DeQue<float>();
    LocalTensor<float> o = outQue.AllocTensor<float>(), work = workBuf.Get<float>();
    compute(g, y, o, work, n);
    outQue.EnQue(o);
    o = outQue.DeQue<float>();
    DataCopyPad(outGm, o, row);
    outQue.FreeTensor(o);
    gradQue.FreeTensor(g);
    xQue.FreeTensor(y);
}

using Tile = LocalTensor<float> &;

extern "C" __global__ __aicore__ void ratio(GM_ADDR gradOutput, GM_ADDR self, GM_ADDR out, uint32_t n) {
    OneTile(gradOutput, self, out, n, [](Tile g, Tile x, Tile o, Tile work, uint32_t n) {
        Div(work, x, x, n);
        Mul(o, g, work, n);
        Adds(work, x, 3.0f, n);
        Muls(work, work, 1.0f / 6.0f, n);
        Muls(x, x, 1.0f / 6.0f, n);
        Add(work, work, x, n);
        Mul(o, o, work, n);
    });
}

extern "C" __global__ __aicore__ void root(GM_ADDR gradOutput, GM_ADDR output, GM_ADDR gradInput, uint32_t n) {
    OneTile(gradOutput, output, gradInput, n, [](Tile g, Tile y, Tile o, Tile work, uint32_t n) {
        Sqrt(work, y, n);
        Mul(work, work, work, n);
        Muls(o, work, -1.0f, n);
        Adds(o, o, 1.0f, n);
        Mul(o, o, work, n);
        Mul(o, o, g, n);
    });
}
