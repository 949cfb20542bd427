// Kernel and host in one file: z = x + y on four cores. `aclnn-viz cpp run whole.cpp` builds and runs it.
#include <cstdio>
#include <vector>
#include "acl/acl.h"
#include "kernel_operator.h"
using namespace AscendC;

struct Numbers {
    uint32_t total, tile;
    GM_ADDR z;  // an address inside of a struct
};

template <class T>
__global__ __aicore__ void add_custom(GM_ADDR x, GM_ADDR y, Numbers numbers) {
    uint32_t each = numbers.total / GetBlockNum();
    GlobalTensor<T> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ T *)x + each * GetBlockIdx(), each);
    yGm.SetGlobalBuffer((__gm__ T *)y + each * GetBlockIdx(), each);
    zGm.SetGlobalBuffer((__gm__ T *)numbers.z + each * GetBlockIdx(), each);
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> in;
    TQue<QuePosition::VECOUT, 2> out;
    pipe.InitBuffer(in, 2, 2 * numbers.tile * sizeof(T));
    pipe.InitBuffer(out, 2, numbers.tile * sizeof(T));
    for (uint32_t at = 0; at < each; at += numbers.tile) {
        LocalTensor<T> both = in.AllocTensor<T>();
        DataCopy(both, xGm[at], numbers.tile);
        DataCopy(both[numbers.tile], yGm[at], numbers.tile);
        in.EnQue(both);
        both = in.DeQue<T>();
        LocalTensor<T> sum = out.AllocTensor<T>();
        Add(sum, both, both[numbers.tile], numbers.tile);
        out.EnQue(sum);
        in.FreeTensor(both);
        sum = out.DeQue<T>();
        DataCopy(zGm[at], sum, numbers.tile);
        out.FreeTensor(sum);
    }
}

int main(int count, char **words) {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream = nullptr;
    aclrtCreateStream(&stream);
    const uint32_t n = 1024, bytes = n * sizeof(float);
    std::vector<float> x(n, 1.5f), y(n, 2.0f), z(n);
    void *device[3];
    for (void *&one : device) aclrtMalloc(&one, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(device[0], bytes, x.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    aclrtMemcpy(device[1], bytes, y.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    add_custom<float><<<4, nullptr, stream>>>(
        (GM_ADDR)device[0], (GM_ADDR)device[1], Numbers{n, 64, (GM_ADDR)device[2]});
    int status = aclrtSynchronizeStream(stream);
    aclrtMemcpy(z.data(), bytes, device[2], bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    int right = 0;
    for (float one : z) right += one == 3.5f;
    printf("%d %d %s\n", status, right, count > 1 ? words[1] : "-");
    for (void *one : device) aclrtFree(one);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return count - 1;
}
