// Two halves of static memory, their flags by hand; tests/tiles/restated.py holds the same in Python.
#include "kernel_operator.h"

using namespace AscendC;

extern "C" __global__ __aicore__ void multiply_static(GM_ADDR x, GM_ADDR z) {
    LocalMemAllocator<Hardware::UB> ub;
    GlobalTensor<float> xGm, zGm;
    xGm.SetGlobalBuffer((__gm__ float *)x);
    zGm.SetGlobalBuffer((__gm__ float *)z);
    LocalTensor<float> even = ub.Alloc<float>(256), odd = ub.Alloc<float>(256);
    for (int32_t k = 0; k < 8; k++) {
        LocalTensor<float> tile = k % 2 ? odd : even;
        if (k > 1) WaitFlag<HardEvent::MTE3_MTE2>(k % 2);
        DataCopy(tile, xGm[k * 256], 256);
        SetFlag<HardEvent::MTE2_V>(k % 2);
        WaitFlag<HardEvent::MTE2_V>(k % 2);
        Muls(tile, tile, 2.0f, 256);
        SetFlag<HardEvent::V_MTE3>(k % 2);
        WaitFlag<HardEvent::V_MTE3>(k % 2);
        DataCopy(zGm[k * 256], tile, 256);
        SetFlag<HardEvent::MTE3_MTE2>(k % 2);
    }
    WaitFlag<HardEvent::MTE3_MTE2>(0);
    WaitFlag<HardEvent::MTE3_MTE2>(1);
}
