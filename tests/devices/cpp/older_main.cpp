#include "data_utils.h"
#ifndef ASCENDC_CPU_DEBUG
#include "acl/acl.h"
extern void add_custom_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *z);
#else
#include "tikicpulib.h"
extern "C" __global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, GM_ADDR z);
#endif
int32_t main(int32_t argc, char *argv[]) {
    uint32_t blockDim = 8; size_t size = 8 * 512 * sizeof(uint16_t);
#ifdef ASCENDC_CPU_DEBUG
    uint8_t *x = (uint8_t *)AscendC::GmAlloc(size), *y = (uint8_t *)AscendC::GmAlloc(size), *z = (uint8_t *)AscendC::GmAlloc(size);
    if (!ReadFile("x.bin", size, x, size) || !ReadFile("y.bin", size, y, size)) return 5;
    AscendC::SetKernelMode(KernelMode::AIV_MODE);
    ICPU_RUN_KF(add_custom, blockDim, x, y, z);
    WriteFile("z.bin", z, size);
    AscendC::GmFree((void *)x); AscendC::GmFree((void *)y); AscendC::GmFree((void *)z);
#else
    CHECK_ACL(aclInit(nullptr)); CHECK_ACL(aclrtSetDevice(0)); aclrtStream stream = nullptr; CHECK_ACL(aclrtCreateStream(&stream));
    uint8_t *h, *x, *y, *z; CHECK_ACL(aclrtMallocHost((void **)&h, size));
    aclrtMalloc((void **)&x, size, ACL_MEM_MALLOC_HUGE_FIRST); aclrtMalloc((void **)&y, size, ACL_MEM_MALLOC_HUGE_FIRST); aclrtMalloc((void **)&z, size, ACL_MEM_MALLOC_HUGE_FIRST);
    ReadFile("x.bin", size, h, size); aclrtMemcpy(x, size, h, size, ACL_MEMCPY_HOST_TO_DEVICE);
    ReadFile("y.bin", size, h, size); aclrtMemcpy(y, size, h, size, ACL_MEMCPY_HOST_TO_DEVICE);
    add_custom_do(blockDim, stream, x, y, z);
    CHECK_ACL(aclrtSynchronizeStream(stream));
    aclrtMemcpy(h, size, z, size, ACL_MEMCPY_DEVICE_TO_HOST); WriteFile("z.bin", h, size);
    aclrtFree(x); aclrtFree(y); aclrtFree(z); aclrtFreeHost(h); aclrtDestroyStream(stream); aclrtResetDevice(0); aclFinalize();
#endif
    return 0;
}
