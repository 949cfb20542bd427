// Attention backward in blocks, to be mended: right to three digits.
// a = exp(scale q k - max) / sum;  ds = scale a (dy v - D), D = dy y;  dq += ds k;  dk += ds q;  dv += a dy.
#include "attention.h"

class AttentionGrad : public Attention {
public:
    __aicore__ inline void Process() {
        Zero(dq0);
        for (uint32_t row = GetBlockIdx(); row < heads * group * rows; row += GetBlockNum()) Store(dqGm[row * size], dq0, 1, size);
        SyncAll();  // memory that is added to begins at 0
        uint32_t blocks = (columns + BLOCK - 1) / BLOCK;
        for (uint32_t item = GetBlockIdx(); item < heads * blocks; item += GetBlockNum()) {
            uint32_t head = item / blocks, j = item % blocks * BLOCK, count = columns - j < BLOCK ? columns - j : BLOCK;
            Load(k, keyGm[(head * columns + j) * size], count, size);
            Load(v, valueGm[(head * columns + j) * narrow], count, narrow);
            Zero(dk0);
            Zero(dv0);
            for (uint32_t g = head * group; g < (head + 1) * group; g++) {  // the heads of queries that share these keys
                for (uint32_t i = 0; i < rows; i += BLOCK) Pair(g * rows + i, i, rows - i < BLOCK ? rows - i : BLOCK, j, count);
            }
            Store(dkGm[(head * columns + j) * size], dk0, count, size);
            Store(dvGm[(head * columns + j) * narrow], dv0, count, narrow);
        }
    }

private:
    // How many of the keys from j on a row sees, of `count`.
    __aicore__ inline int32_t Seen(int32_t row, int32_t j, int32_t count) {
        int32_t corner = mode == 2 ? 0 : int32_t(columns) - int32_t(rows);  // 2: the diagonal begins above; 3: it ends below
        int32_t seen = mode == 0 ? count : row + corner + 1 - j;
        return seen < 0 ? 0 : seen < count ? seen : count;
    }
    // `many` queries, the first at `place` of all and at `i` of its head, with the block of keys.
    __aicore__ inline void Pair(uint32_t place, uint32_t i, uint32_t many, uint32_t j, uint32_t count) {
        if (Seen(i + many - 1, j, count) == 0) return;  // the mask hides the whole tile
        Load(q, queryGm[place * size], many, size);
        Load(gy, dyGm[place * narrow], many, narrow);
        Load(y0, yGm[place * narrow], many, narrow);
        Zero(dq0);
        for (uint32_t r = 0; r < many; r++) Row(place + r, r * wide, Seen(i + r, j, count));
        SetAtomicAdd<float>();
        Store(dqGm[place * size], dq0, many, size);
        SetAtomicNone();
    }
    // One query, at `at` in the tile, with the `count` keys that it sees.
    __aicore__ inline void Row(uint32_t place, uint32_t at, uint32_t count) {
        if (count == 0) return;
        Dots(a, q[at], k, count, size);
        Muls(a, a, scale, count);
        PipeBarrier<PIPE_V>();
        Adds(a, a, -topGm.GetValue(place * 8), count);
        PipeBarrier<PIPE_V>();
        Exp(a, a, count);
        PipeBarrier<PIPE_V>();
        Muls(a, a, 1 / totalGm.GetValue(place * 8), count);
        PipeBarrier<PIPE_V>();
        LocalTensor<half> narrowed = halfBuf.Get<half>();
        Cast(narrowed, a, RoundMode::CAST_RINT, count);
        PipeBarrier<PIPE_V>();
        Cast(a, narrowed, RoundMode::CAST_NONE, count);
        PipeBarrier<PIPE_V>();
        Dots(sum, gy[at], y0[at], 1, narrow);  // D
        Dots(ds, gy[at], v, count, narrow);
        Adds(ds, ds, -sum.GetValue(0), count);
        PipeBarrier<PIPE_V>();
        Mul(ds, ds, a, count);
        PipeBarrier<PIPE_V>();
        Muls(ds, ds, scale, count);
        for (uint32_t c = 0; c < count; c++) {
            float slope = ds.GetValue(c), weight = a.GetValue(c);
            Axpy(dq0[at], k[c * wide], slope, size);
            Axpy(dk0[c * wide], q[at], slope, size);
            Axpy(dv0[c * wide], gy[at], weight, narrow);
            PipeBarrier<PIPE_V>();
        }
    }
};

extern "C" __global__ __aicore__ void attention_grad(GM_ADDR query, GM_ADDR key, GM_ADDR value, GM_ADDR dy, GM_ADDR pse, GM_ADDR drop,
                                                     GM_ADDR padding, GM_ADDR mask, GM_ADDR top, GM_ADDR total, GM_ADDR softmaxIn, GM_ADDR y,
                                                     GM_ADDR dq, GM_ADDR dk, GM_ADDR dv, GM_ADDR dpse, uint32_t heads, uint32_t group,
                                                     uint32_t rows, uint32_t columns, uint32_t size, uint32_t narrow, int32_t sparseMode,
                                                     float scaleValue) {
    AttentionGrad op;
    op.heads = heads, op.group = group, op.rows = rows, op.columns = columns, op.size = size, op.narrow = narrow;
    op.mode = sparseMode, op.scale = scaleValue;
    op.Init(query, key, value, dy, top, total, y, dq, dk, dv);
    op.Process();
}
