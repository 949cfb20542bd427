// Elementwise kernels: of some an element has other bits at another place of the batch.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t TILE = 64;

class SigmoidGrad {
public:
    __aicore__ inline SigmoidGrad(GM_ADDR grad, GM_ADDR y, GM_ADDR out, uint32_t n) {
        gradGm.SetGlobalBuffer((__gm__ float *)grad, n);
        yGm.SetGlobalBuffer((__gm__ float *)y, n);
        outGm.SetGlobalBuffer((__gm__ float *)out, n);
        pipe.InitBuffer(gradBuf, TILE * sizeof(float));
        pipe.InitBuffer(yBuf, TILE * sizeof(float));
        pipe.InitBuffer(outBuf, TILE * sizeof(float));
        g = gradBuf.Get<float>();
        y_ = yBuf.Get<float>();
        o = outBuf.Get<float>();
    }
    __aicore__ inline void Load(uint32_t start, uint32_t count) {
        DataCopyExtParams row{1, uint32_t(count * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(g, gradGm[start], row, pad);
        DataCopyPad(y_, yGm[start], row, pad);
        PipeBarrier<PIPE_ALL>();
    }
    __aicore__ inline void Store(uint32_t start, uint32_t count) {
        PipeBarrier<PIPE_ALL>();
        DataCopyPad(outGm[start], o, DataCopyExtParams{1, uint32_t(count * sizeof(float)), 0, 0, 0});
    }
    __aicore__ inline void Factored(uint32_t count) {
        Muls(o, y_, -1.0f, count);
        PipeBarrier<PIPE_V>();
        Adds(o, o, 1.0f, count);
        PipeBarrier<PIPE_V>();
        Mul(o, o, y_, count);
        PipeBarrier<PIPE_V>();
        Mul(o, o, g, count);
    }
    __aicore__ inline void Expanded(uint32_t count) {
        Mul(o, y_, y_, count);
        PipeBarrier<PIPE_V>();
        Sub(o, y_, o, count);
        PipeBarrier<PIPE_V>();
        Mul(o, o, g, count);
    }

private:
    TPipe pipe;
    TBuf<TPosition::VECCALC> gradBuf, yBuf, outBuf;
    LocalTensor<float> g, y_, o;
    GlobalTensor<float> gradGm, yGm, outGm;
};

extern "C" __global__ __aicore__ void even(GM_ADDR gradOutput, GM_ADDR output, GM_ADDR gradInput, uint32_t n) {
    SigmoidGrad op(gradOutput, output, gradInput, n);
    for (uint32_t start = TILE * GetBlockIdx(); start < n; start += TILE * GetBlockNum()) {
        uint32_t count = n - start < TILE ? n - start : TILE;
        op.Load(start, count);
        op.Factored(count);
        op.Store(start, count);
    }
}

extern "C" __global__ __aicore__ void behind(GM_ADDR gradOutput, GM_ADDR output, GM_ADDR gradInput, uint32_t n) {
    SigmoidGrad op(gradOutput, output, gradInput, n);
    for (uint32_t start = TILE * GetBlockIdx(); start < n; start += TILE * GetBlockNum()) {
        uint32_t count = n - start < TILE ? n - start : TILE;
        op.Load(start, count);
        if (count == TILE) {
            op.Factored(count);
        } else {
            op.Expanded(count);
        }
        op.Store(start, count);
    }
}

extern "C" __global__ __aicore__ void many(GM_ADDR gradOutput, GM_ADDR output, GM_ADDR gradInput, uint32_t n) {
    SigmoidGrad op(gradOutput, output, gradInput, n);
    bool few = GetBlockNum() < 3;
    for (uint32_t start = TILE * GetBlockIdx(); start < n; start += TILE * GetBlockNum()) {
        uint32_t count = n - start < TILE ? n - start : TILE;
        op.Load(start, count);
        if (few) {
            op.Expanded(count);
        } else {
            op.Factored(count);
        }
        op.Store(start, count);
    }
}
