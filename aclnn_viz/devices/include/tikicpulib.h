// The vendor's older way to run a kernel on a processor: memory from GmAlloc, and ICPU_RUN_KF in the place of <<<>>>.
// Here the memory is copied to the emulated device, the kernel is launched there, and all is copied back.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>

#include "acl/acl.h"
#include "kernel_operator.h"
#include "launch.h"

enum class KernelMode { MIX_MODE, AIC_MODE, AIV_MODE, MIX_AIC_1_1 };

namespace AscendC {

inline void SetKernelMode(KernelMode) {}
inline std::map<uint8_t *, size_t> allocated;  // by GmAlloc, with its bytes

inline void *GmAlloc(size_t size) {
    auto *start = static_cast<uint8_t *>(std::calloc(size, 1));
    allocated[start] = size;
    return start;
}
inline void GmFree(void *start) {
    allocated.erase(static_cast<uint8_t *>(start));
    std::free(start);
}

class OnDevice {  // copies of what GmAlloc gave, while a kernel runs
public:
    OnDevice() {
        started = aclInit(nullptr) == ACL_SUCCESS;
        aclrtSetDevice(0);
        for (auto [start, size] : allocated) {
            aclrtMalloc(&copies[start], size, ACL_MEM_MALLOC_HUGE_FIRST);
            aclrtMemcpy(copies[start], size, start, size, ACL_MEMCPY_HOST_TO_DEVICE);
        }
    }
    ~OnDevice() {
        int status = aclrtSynchronizeStream(nullptr);
        for (auto [start, copy] : copies) {
            if (status == ACL_SUCCESS) aclrtMemcpy(start, allocated[start], copy, allocated[start], ACL_MEMCPY_DEVICE_TO_HOST);
            aclrtFree(copy);
        }
        aclrtResetDevice(0);
        if (started) aclFinalizeReference(&left);
    }
    template <class T>
    T of(T value) {
        if constexpr (std::is_pointer_v<T>) {
            auto after = allocated.upper_bound((uint8_t *)value);
            if (after != allocated.begin()) {
                auto [start, size] = *--after;
                if ((uint8_t *)value < start + size) return (T)((uint8_t *)copies[start] + ((uint8_t *)value - start));
            }
        }
        return value;
    }

private:
    std::map<uint8_t *, void *> copies;
    uint64_t left = 0;
    bool started;
};

}  // namespace AscendC

#define ICPU_SET_TILING_KEY(key) (aclnn_viz::tiling_key = (key))
#define ICPU_RUN_KF(kernel, blocks, ...)                                                          \
    do {                                                                                          \
        AscendC::OnDevice device_;                                                                \
        auto launch_ = aclnn_viz::launched(kernel, #kernel, "", blocks);                          \
        [&](auto... values) { launch_(device_.of(values)...); }(__VA_ARGS__);                     \
    } while (0)
