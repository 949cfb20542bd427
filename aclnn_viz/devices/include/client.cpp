// The functions of CANN's C API that take memory of the host, and those that need no emulator. The others are generated.
#include "client.h"

#include "launch.h"

using aclnn_viz_client::Call;
using aclnn_viz_client::Memory;
using aclnn_viz_client::on_device;

namespace {

size_t size_of(aclDataType type) { return Call("aclDataTypeSize", nullptr, type).value<size_t>(); }

int copied(const void *from, void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind) {
    bool sends = src && !on_device(src) && count <= dest_max, takes = dst && !on_device(dst) && count <= dest_max;
    Call call("aclrtMemcpy", from, dst, dest_max, src, count, kind, Memory{src, sends ? count : 0});
    if (takes && call.value<int>() == 0) std::memcpy(dst, call.bytes().data(), call.bytes().size());
    return call.value<int>();
}

}  // namespace

extern "C" {

aclError aclrtMemcpy(void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind) {
    return copied(HERE, dst, dest_max, src, count, kind);
}

aclError aclrtMemcpyAsync(void *dst, size_t dest_max, const void *src, size_t count, aclrtMemcpyKind kind, aclrtStream stream) {
    int status = aclrtSynchronizeStream(stream);
    return status ? status : copied(HERE, dst, dest_max, src, count, kind);
}

aclError aclrtMemset(void *address, size_t max_count, int32_t value, size_t count) {
    if (address && !on_device(address) && count <= max_count) return std::memset(address, value, count), ACL_SUCCESS;
    return Call("aclrtMemset", HERE, address, max_count, value, count).value<int>();
}

aclError aclrtMemsetAsync(void *address, size_t max_count, int32_t value, size_t count, aclrtStream stream) {
    int status = aclrtSynchronizeStream(stream);
    return status ? status : aclrtMemset(address, max_count, value, count);
}

aclScalar *aclCreateScalar(void *value, aclDataType dtype) {
    return Call("aclCreateScalar", HERE, dtype, Memory{value, value ? size_of(dtype) : 0}).value<aclScalar *>();
}

aclError aclrtMallocHost(void **address, size_t size) {
    if (!address || !size) return ACL_ERROR_INVALID_PARAM;
    return posix_memalign(address, 64, size) ? ACL_ERROR_RT_MEMORY_ALLOCATION : ACL_SUCCESS;
}

aclError aclrtFreeHost(void *address) {
    free(address);
    return address ? ACL_SUCCESS : ACL_ERROR_INVALID_PARAM;
}

aclError aclrtMallocAlign32(void **address, size_t size, aclrtMemMallocPolicy policy) { return aclrtMalloc(address, size, policy); }
aclError aclrtMallocCached(void **address, size_t size, aclrtMemMallocPolicy policy) { return aclrtMalloc(address, size, policy); }
aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t, uint32_t) { return aclrtCreateStream(stream); }

aclError aclrtGetRunMode(aclrtRunMode *mode) {
    if (!mode) return ACL_ERROR_INVALID_PARAM;
    *mode = ACL_HOST;
    return ACL_SUCCESS;
}

float aclFloat16ToFloat(aclFloat16 value) {
    _Float16 half;
    std::memcpy(&half, &value, 2);
    return float(half);
}

aclFloat16 aclFloatToFloat16(float value) {
    _Float16 half = _Float16(value);
    aclFloat16 bits;
    std::memcpy(&bits, &half, 2);
    return bits;
}

}  // extern "C"

// ---- Kernels of the same program ----------------------------------------------------------------------------------------

void aclnn_viz::launch(const Entry &entry, const std::string &bytes, const int64_t *ends, size_t count, uint32_t blocks,
                       void *stream, uint64_t key) {
    Call("launch", entry.from, entry.name, entry.parameters, entry.file, entry.line, entry.address, entry.enter, blocks, stream, key,
         aclnn_viz_client::Array<char>{bytes.data(), bytes.size()}, aclnn_viz_client::Array<int64_t>{ends, count});
}
