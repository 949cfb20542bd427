// Functions of acl/acl.h that programs call beside those which the emulator declares: they work on the host alone.
// Names and prototypes are CANN's ("Memory malloc and free", "Data type conversion", CANN runtime reference).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACL_MAX_DEVICE_NUM 64
typedef uint16_t aclFloat16;
typedef enum { ACL_DEVICE, ACL_HOST } aclrtRunMode;
#define ACL_STREAM_FAST_LAUNCH 1
#define ACL_STREAM_FAST_SYNC 2

// Memory of the host, which the device's copies reach.
aclError aclrtMallocHost(void **address, size_t size);
aclError aclrtFreeHost(void *address);
aclError aclrtMallocAlign32(void **address, size_t size, aclrtMemMallocPolicy policy);
aclError aclrtMallocCached(void **address, size_t size, aclrtMemMallocPolicy policy);
// What the stream holds is done first, then the copy at once: a legal order, and one that always has the same result.
aclError aclrtMemcpyAsync(void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream);
aclError aclrtMemsetAsync(void *address, size_t max_count, int32_t value, size_t count, aclrtStream stream);
aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag);
aclError aclrtGetRunMode(aclrtRunMode *mode);
float aclFloat16ToFloat(aclFloat16 value);
aclFloat16 aclFloatToFloat16(float value);

// With -D ACLNN_VIZ_ZEROED memory of aclrtMalloc begins as zeros, which CANN does not promise and some programs rely on.
#ifdef ACLNN_VIZ_ZEROED
static inline aclError aclnn_viz_zeroed(void **address, size_t size, aclrtMemMallocPolicy policy) {
    aclError status = aclrtMalloc(address, size, policy);
    return status ? status : aclrtMemset(*address, size, 0, size);
}
#define aclrtMalloc aclnn_viz_zeroed
#endif
