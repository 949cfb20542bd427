// What every attention kernel of this folder stands on: global and local memory, copies of whole blocks, and products of one row with many.
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t BLOCK = 8;  // queries, and keys, of a block

class Attention {
public:
    __aicore__ inline void Init(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR dy, GM_ADDR top, GM_ADDR total, GM_ADDR y, GM_ADDR dq,
                                GM_ADDR dk, GM_ADDR dv) {
        GM_ADDR given[] = {query, key, value, dy, top, total, y, dq, dk, dv};
        GlobalTensor<float> *tensors[] = {&queryGm, &keyGm, &valueGm, &dyGm, &topGm, &totalGm, &yGm, &dqGm, &dkGm, &dvGm};
        for (uint32_t k = 0; k < 10; k++) tensors[k]->SetGlobalBuffer((__gm__ float *)given[k]);
        wide = (size + 7) / 8 * 8;  // a row begins at a multiple of 32 bytes
        pipe.InitBuffer(inQue, 2, BLOCK * wide * sizeof(float));
        pipe.InitBuffer(outQue, 2, BLOCK * wide * sizeof(float));
        TBuf<TPosition::VECCALC> *tiles[] = {&qBuf, &dyBuf, &yBuf, &kBuf, &vBuf, &dqBuf, &dkBuf, &dvBuf};
        for (TBuf<TPosition::VECCALC> *buf : tiles) pipe.InitBuffer(*buf, BLOCK * wide * sizeof(float));
        TBuf<TPosition::VECCALC> *rows[] = {&aBuf, &dsBuf, &partBuf, &sumBuf, &halfBuf};
        for (TBuf<TPosition::VECCALC> *buf : rows) pipe.InitBuffer(*buf, BLOCK * sizeof(float));
        pipe.InitBuffer(workBuf, BLOCK * 64 * sizeof(float));
        q = qBuf.Get<float>(), gy = dyBuf.Get<float>(), y0 = yBuf.Get<float>(), k = kBuf.Get<float>(), v = vBuf.Get<float>();
        dq0 = dqBuf.Get<float>(), dk0 = dkBuf.Get<float>(), dv0 = dvBuf.Get<float>();
        a = aBuf.Get<float>(), ds = dsBuf.Get<float>(), part = partBuf.Get<float>(), sum = sumBuf.Get<float>();
    }

    uint32_t heads, group, rows, columns, size, narrow;  // heads of keys; of queries for each; queries, keys; elements of keys, of values
    int32_t mode;
    float scale;

protected:
    // A block of rows, first in `from`, each of `count` elements.
    __aicore__ inline void Load(LocalTensor<float> to, GlobalTensor<float> from, uint32_t many, uint32_t count) {
        LocalTensor<float> given = inQue.AllocTensor<float>();
        DataCopyPad(given, from, DataCopyExtParams{uint16_t(many), uint32_t(count * sizeof(float)), 0, Gap(count), 0}, pad);
        inQue.EnQue(given);
        given = inQue.DeQue<float>();
        for (uint32_t r = 0; r < many; r++) Muls(to[r * wide], given[r * wide], 1.0f, count);
        PipeBarrier<PIPE_V>();
        inQue.FreeTensor(given);
    }
    __aicore__ inline void Store(GlobalTensor<float> to, LocalTensor<float> from, uint32_t many, uint32_t count) {
        LocalTensor<float> out = outQue.AllocTensor<float>();
        for (uint32_t r = 0; r < many; r++) Muls(out[r * wide], from[r * wide], 1.0f, count);
        outQue.EnQue(out);
        out = outQue.DeQue<float>();
        DataCopyPad(to, out, DataCopyExtParams{uint16_t(many), uint32_t(count * sizeof(float)), Gap(count), 0, 0});
        outQue.FreeTensor(out);
    }
    __aicore__ inline uint32_t Gap(uint32_t count) { return wide / 8 - (count + 7) / 8; }  // in blocks of 32 bytes
    // out[c] = one . many[c]: products of 64 elements at a time, as no matrix unit is modelled.
    __aicore__ inline void Dots(LocalTensor<float> out, LocalTensor<float> one, LocalTensor<float> many, uint32_t count, uint32_t length) {
        LocalTensor<float> work = workBuf.Get<float>();
        Duplicate(out, 0.0f, count);
        for (uint32_t start = 0; start < length; start += 64) {
            uint64_t lanes = length - start < 64 ? length - start : 64;
            PipeBarrier<PIPE_V>();
            Mul(work, many[start], one[start], lanes, count, BinaryRepeatParams{1, 1, 1, 8, uint8_t(wide / 8), 0});
            PipeBarrier<PIPE_V>();
            WholeReduceSum(part, work, lanes, count, 1, 1, 8);
            PipeBarrier<PIPE_V>();
            Add(out, out, part, count);
        }
        PipeBarrier<PIPE_V>();
    }
    __aicore__ inline void Zero(LocalTensor<float> tile) {
        Duplicate(tile, 0.0f, BLOCK * wide);
        PipeBarrier<PIPE_V>();
    }

    TPipe pipe;
    TQue<TPosition::VECIN, 1> inQue;
    TQue<TPosition::VECOUT, 1> outQue;
    TBuf<TPosition::VECCALC> qBuf, dyBuf, yBuf, kBuf, vBuf, dqBuf, dkBuf, dvBuf, aBuf, dsBuf, partBuf, sumBuf, halfBuf, workBuf;
    GlobalTensor<float> queryGm, keyGm, valueGm, dyGm, topGm, totalGm, yGm, dqGm, dkGm, dvGm;
    LocalTensor<float> q, gy, y0, k, v, dq0, dk0, dv0, a, ds, part, sum;
    DataCopyPadExtParams<float> pad{false, 0, 0, 0.0f};
    uint32_t wide;
};
