// Arguments of every kind, and formats of every kind through the scalar unit.
#include <kernel_operator.h>
#include "kernel_tiling/kernel_tiling.h"

BEGIN_TILING_DATA_DEF(Sizes)
TILING_DATA_FIELD_DEF(uint32_t, length);
TILING_DATA_FIELD_DEF(float, factor);
END_TILING_DATA_DEF;
REGISTER_TILING_DATA_CLASS(scaled, Sizes)

template <class T>
__aicore__ inline void each(GM_ADDR from, GM_ADDR to, uint32_t n) {
    AscendC::GlobalTensor<T> x, y;
    x.SetGlobalBuffer((__gm__ T *)from, n);
    y.SetGlobalBuffer((__gm__ T *)to, n);
    for (uint32_t i = 0; i < n; ++i) y.SetValue(i, x.GetValue(i));
    AscendC::DataCacheCleanAndInvalid<T, AscendC::CacheLine::ENTIRE_DATA_CACHE>(y);
}

extern "C" __global__ __aicore__ void copied(GM_ADDR x, GM_ADDR y, uint32_t n, int32_t format) {
    switch (format) {
    case 0: return each<int8_t>(x, y, n);
    case 1: return each<uint8_t>(x, y, n);
    case 2: return each<int16_t>(x, y, n);
    case 3: return each<uint16_t>(x, y, n);
    case 4: return each<int32_t>(x, y, n);
    case 5: return each<uint32_t>(x, y, n);
    case 6: return each<int64_t>(x, y, n);
    case 7: return each<uint64_t>(x, y, n);
    case 8: return each<half>(x, y, n);
    case 9: return each<bfloat16_t>(x, y, n);
    default: return each<float>(x, y, n);
    }
}

extern "C" __global__ __aicore__ void scaled(GM_ADDR x, GM_ADDR y, GM_ADDR tiling, Sizes same, half more, bool twice) {
    GET_TILING_DATA(sizes, tiling);
    auto from = (__gm__ float *)x, to = (__gm__ float *)y;  // plain memory, which the machine does not see
    for (uint32_t i = 0; i < sizes.length; ++i) to[i] = from[i] * sizes.factor * same.factor + (twice ? 2 : 1) * float(more);
    AscendC::PRINTF("core %d of %d\n", int(AscendC::GetBlockIdx()), int(AscendC::GetBlockNum()));
}
