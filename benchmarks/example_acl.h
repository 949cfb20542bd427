// What an operator's own example calls: CANN's C API on memory of the host, and the operator in its two phases.
//
// `sources.py` puts this file in the place of acl/acl.h and of the operator's generated header. Phase 1 keeps the arguments; phase 2
// writes them to the folder EXAMPLE_CALL, tells the other end of two pipes, and reads the tensors back.
#pragma once

#include <unistd.h>

#include <array>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <type_traits>
#include <vector>

using aclError = int;
using aclnnStatus = int;
using aclrtStream = void *;
using aclrtContext = void *;
using aclFloat16 = uint16_t;
constexpr int ACL_SUCCESS = 0, ACL_ERROR_NONE = 0, ACL_ERROR_BAD_ALLOC = 200000, ACL_ERROR_INTERNAL_ERROR = 500000, ACL_ERROR_WRITE_FILE = 100004;
enum aclDataType {
    ACL_DT_UNDEFINED = -1, ACL_FLOAT, ACL_FLOAT16, ACL_INT8, ACL_INT32, ACL_UINT8, ACL_INT16 = 6, ACL_UINT16, ACL_UINT32, ACL_INT64,
    ACL_UINT64, ACL_DOUBLE, ACL_BOOL, ACL_COMPLEX64 = 16, ACL_COMPLEX128, ACL_BF16 = 27
};
enum aclFormat {
    ACL_FORMAT_UNDEFINED = -1, ACL_FORMAT_NCHW, ACL_FORMAT_NHWC, ACL_FORMAT_ND, ACL_FORMAT_NDHWC = 27, ACL_FORMAT_NCDHW = 30, ACL_FORMAT_NCL = 47
};
enum aclrtMemMallocPolicy { ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY };
enum aclrtMemcpyKind { ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE };
enum aclrtRunMode { ACL_DEVICE, ACL_HOST };

inline size_t aclDataTypeSize(aclDataType type) {
    switch (type) {
    case ACL_INT8: case ACL_UINT8: case ACL_BOOL: return 1;
    case ACL_FLOAT16: case ACL_BF16: case ACL_INT16: case ACL_UINT16: return 2;
    case ACL_FLOAT: case ACL_INT32: case ACL_UINT32: return 4;
    case ACL_COMPLEX128: return 16;
    default: return 8;
    }
}
inline int aclInit(const char *) { return 0; }
inline int aclFinalize() { return 0; }
inline int aclrtSetDevice(int) { return 0; }
inline int aclrtResetDevice(int) { return 0; }
inline int aclrtGetRunMode(aclrtRunMode *mode) { return *mode = ACL_HOST, 0; }
inline int aclrtCreateContext(aclrtContext *, int) { return 0; }
inline int aclrtSetCurrentContext(aclrtContext) { return 0; }
inline int aclrtDestroyContext(aclrtContext) { return 0; }
inline int aclrtCreateStream(aclrtStream *stream) { return *stream = stream, 0; }
inline int aclrtDestroyStream(aclrtStream) { return 0; }
inline int aclrtSynchronizeStream(aclrtStream) { return 0; }
// Whole pages of 2 MiB, as the device gives them: examples write beyond what they ask for.
inline int aclrtMalloc(void **to, size_t size, aclrtMemMallocPolicy) { return *to = std::calloc((size >> 21) + 1, 1 << 21), 0; }
inline int aclrtFree(void *of) { return std::free(of), 0; }
inline int aclrtMallocHost(void **to, size_t size) { return *to = std::calloc(size + 32, 1), 0; }
inline int aclrtFreeHost(void *of) { return std::free(of), 0; }
inline int aclrtMemset(void *to, size_t, int value, size_t size) { return std::memset(to, value, size), 0; }
inline int aclrtMemcpy(void *to, size_t, const void *from, size_t size, aclrtMemcpyKind) { return std::memcpy(to, from, size), 0; }
inline const char *aclGetRecentErrMsg() { return ""; }
inline aclFloat16 aclFloatToFloat16(float value) {
    _Float16 narrow = _Float16(value);
    aclFloat16 bits;
    return std::memcpy(&bits, &narrow, 2), bits;
}
inline float aclFloat16ToFloat(aclFloat16 bits) {
    _Float16 narrow;
    return std::memcpy(&narrow, &bits, 2), float(narrow);
}

struct aclTensor {
    aclDataType type;
    std::vector<int64_t> shape;
    void *address;
    size_t bytes() const {
        size_t count = aclDataTypeSize(type);
        for (int64_t length : shape) count *= size_t(length);
        return count;
    }
};
struct aclScalar {
    aclDataType type;
    unsigned char bytes[16];
};
template <class T>
struct Listed {
    std::vector<T> held;
};
using aclIntArray = Listed<int64_t>;
using aclFloatArray = Listed<float>;
using aclBoolArray = Listed<char>;
using aclScalarList = Listed<const aclScalar *>;
using aclTensorList = Listed<const aclTensor *>;
struct aclOpExecutor {};

inline aclTensor *aclCreateTensor(const int64_t *shape, uint64_t count, aclDataType type, const int64_t *, int64_t, aclFormat,
                                  const int64_t *, uint64_t, void *address) {
    return new aclTensor{type, {shape, shape + count}, address};
}
inline aclScalar *aclCreateScalar(void *value, aclDataType type) {
    auto *made = new aclScalar{type, {}};
    return std::memcpy(made->bytes, value, aclDataTypeSize(type)), made;
}
inline aclIntArray *aclCreateIntArray(const int64_t *from, uint64_t count) { return new aclIntArray{{from, from + count}}; }
inline aclFloatArray *aclCreateFloatArray(const float *from, uint64_t count) { return new aclFloatArray{{from, from + count}}; }
inline aclBoolArray *aclCreateBoolArray(const bool *from, uint64_t count) { return new aclBoolArray{{from, from + count}}; }
inline aclScalarList *aclCreateScalarList(const aclScalar *const *from, uint64_t count) { return new aclScalarList{{from, from + count}}; }
inline aclTensorList *aclCreateTensorList(const aclTensor *const *from, uint64_t count) { return new aclTensorList{{from, from + count}}; }
template <class T>
int destroyed(const T *) { return 0; }
#define aclDestroyTensor destroyed
#define aclDestroyScalar destroyed
#define aclDestroyIntArray destroyed
#define aclDestroyFloatArray destroyed
#define aclDestroyBoolArray destroyed
#define aclDestroyScalarList destroyed
#define aclDestroyTensorList destroyed

// ---- The call: a line of JSON for each argument, a file for each tensor ------------------------------------------------------

inline std::vector<const aclTensor *> called_tensors;
inline std::string called_lines;
inline std::string call_path(const std::string &name) { return std::getenv("EXAMPLE_CALL") + ("/" + name); }

template <class T>
std::string written(T value) {
    char text[64];
    if constexpr (std::is_floating_point_v<T>) std::snprintf(text, sizeof text, "%.17g", double(value));
    else std::snprintf(text, sizeof text, "%lld", (long long)value);
    return text;
}
inline std::string written(const aclScalar *one) {
    auto as = [&](auto value) { return std::memcpy(&value, one->bytes, sizeof value), written(value); };
    switch (one->type) {
    case ACL_FLOAT: return as(0.0f);
    case ACL_DOUBLE: return as(0.0);
    case ACL_INT32: return as(int32_t());
    default: return as(int64_t());
    }
}
template <class Values>
std::string listed(const Values &values) {
    std::string text;
    for (auto value : values) text += (text.empty() ? "" : ", ") + written(value);
    return text;
}
inline void take(const char *text) { called_lines += std::string("[\"value\", \"") + text + "\"]\n"; }
inline void take(std::nullptr_t) { called_lines += "[\"value\", null]\n"; }
inline void take(const aclTensor *one) {
    if (!one) return take(nullptr);
    called_lines += "[\"tensor\", " + std::to_string(one->type) + ", [" + listed(one->shape) + "]]\n";
    called_tensors.push_back(one);
}
inline void take(const aclTensorList *list) {
    for (auto *one : list->held) take(one);
}
inline void take(const aclScalar *one) {
    called_lines += "[\"scalar\", " + std::to_string(one->type) + ", [" + listed(one->bytes) + "]]\n";
}
template <class T>
void take(const Listed<T> *one) { called_lines += "[\"value\", [" + listed(one->held) + "]]\n"; }
template <class T, class = std::enable_if_t<std::is_arithmetic_v<T> || std::is_enum_v<T>>>
void take(T value) { called_lines += "[\"value\", " + written(value) + "]\n"; }
inline int take_all(uint64_t *workspace, aclOpExecutor **) { return *workspace = 0, 0; }
template <class T, class... More>
int take_all(T value, More... more) {
    return take(value), take_all(more...);
}

template <class... A>
int kept_call(A... all) {
    called_lines.clear(), called_tensors.clear();
    return take_all(all...);
}
inline int made_call() {
    std::ofstream(call_path("call")) << called_lines;
    for (size_t k = 0; k < called_tensors.size(); ++k)
        std::ofstream(call_path(std::to_string(k)), std::ios::binary)
            .write(static_cast<char *>(called_tensors[k]->address), std::streamsize(called_tensors[k]->bytes()));
    char answer = 0;
    if (write(std::atoi(std::getenv("EXAMPLE_TO")), "", 1) != 1 || read(std::atoi(std::getenv("EXAMPLE_FROM")), &answer, 1) != 1) std::exit(99);
    for (size_t k = 0; k < called_tensors.size(); ++k)
        std::ifstream(call_path(std::to_string(k)), std::ios::binary)
            .read(static_cast<char *>(called_tensors[k]->address), std::streamsize(called_tensors[k]->bytes()));
    return 0;
}
#define EXAMPLE_OPERATOR(Name)                                                                     \
    template <class... A>                                                                          \
    int Name##GetWorkspaceSize(A... all) { return kept_call(all...); }                      \
    inline int Name(void *, uint64_t, aclOpExecutor *, aclrtStream) { return made_call(); }
