#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z) {
    LocalMemAllocator<> ub; GlobalTensor<half> a, b, c; uint32_t n = 512;
    a.SetGlobalBuffer((__gm__ half *)x + n * GetBlockIdx(), n); b.SetGlobalBuffer((__gm__ half *)y + n * GetBlockIdx(), n); c.SetGlobalBuffer((__gm__ half *)z + n * GetBlockIdx(), n);
    auto u = ub.Alloc<half>(n), v = ub.Alloc<half>(n);
    DataCopy(u, a, n); DataCopy(v, b, n);
    SetFlag<HardEvent::MTE2_V>(0); WaitFlag<HardEvent::MTE2_V>(0);
    Add(u, u, v, n);
    SetFlag<HardEvent::V_MTE3>(0); WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(c, u, n);
}
#ifndef ASCENDC_CPU_DEBUG
void add_custom_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *z) { add_custom<<<blockDim, nullptr, stream>>>(x, y, z); }
#endif
