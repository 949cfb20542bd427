// Sigmoid backward, to be finished: dx = grad * y * (1 - y), and y is the saved output.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t TILE = 1024;  // elements of a tile

class SigmoidGrad {
public:
    __aicore__ inline void Init(GM_ADDR grad, GM_ADDR output, GM_ADDR out, uint32_t n) {
        uint32_t blocks = (n + 7) / 8, cores = GetBlockNum(), core = GetBlockIdx();  // a block is 32 bytes, 8 floats
        uint32_t first = blocks * core / cores * 8, last = blocks * (core + 1) / cores * 8;
        length = (last < n ? last : n) - (first < n ? first : n);
        gradGm.SetGlobalBuffer((__gm__ float *)grad + first, length);
        xGm.SetGlobalBuffer((__gm__ float *)output + first, length);
        outGm.SetGlobalBuffer((__gm__ float *)out + first, length);
        pipe.InitBuffer(gradQue, 2, TILE * sizeof(float));
        pipe.InitBuffer(xQue, 2, TILE * sizeof(float));
        pipe.InitBuffer(outQue, 2, TILE * sizeof(float));
        pipe.InitBuffer(slopeBuf, TILE * sizeof(float));
    }
    __aicore__ inline void Process() {
        for (uint32_t start = 0; start < length; start += TILE) {
            uint32_t count = length - start < TILE ? length - start : TILE;
            CopyIn(start, count);
            Compute(count);
            CopyOut(start, count);
        }
    }

private:
    __aicore__ inline void CopyIn(uint32_t start, uint32_t count) {
        LocalTensor<float> grad = gradQue.AllocTensor<float>(), x = xQue.AllocTensor<float>();
        DataCopyExtParams row{1, uint32_t(count * sizeof(float)), 0, 0, 0};
        DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
        DataCopyPad(grad, gradGm[start], row, pad);
        DataCopyPad(x, xGm[start], row, pad);
        gradQue.EnQue(grad);
        xQue.EnQue(x);
    }
    __aicore__ inline void Compute(uint32_t count) {
        LocalTensor<float> grad = gradQue.DeQue<float>(), x = xQue.DeQue<float>(), out = outQue.AllocTensor<float>();
        LocalTensor<float> slope = slopeBuf.Get<float>();
        // Your lines: slope = y * (1 - y), with y in x. Muls, Adds and Mul will do; PipeBarrier<PIPE_V>() between two that depend.
        Duplicate(slope, 1.0f, count);
        PipeBarrier<PIPE_V>();
        Mul(out, grad, slope, count);
        gradQue.FreeTensor(grad);
        xQue.FreeTensor(x);
        outQue.EnQue(out);
    }
    __aicore__ inline void CopyOut(uint32_t start, uint32_t count) {
        LocalTensor<float> out = outQue.DeQue<float>();
        DataCopyPad(outGm[start], out, DataCopyExtParams{1, uint32_t(count * sizeof(float)), 0, 0, 0});
        outQue.FreeTensor(out);
    }

    TPipe pipe;
    TQue<TPosition::VECIN, 1> gradQue, xQue;
    TQue<TPosition::VECOUT, 1> outQue;
    TBuf<TPosition::VECCALC> slopeBuf;
    GlobalTensor<float> gradGm, xGm, outGm;
    uint32_t length;
};

extern "C" __global__ __aicore__ void sigmoid_grad(GM_ADDR gradOutput, GM_ADDR output, GM_ADDR out, uint32_t n) {
    SigmoidGrad op;
    op.Init(gradOutput, output, out, n);
    op.Process();
}
