"""The C++ text around a case: initialise, upload, the two phases, print, release."""

from string import Template

FROM_AND_TO_FLOAT16 = """
// The numbers below are exact in float16, so nothing is rounded here.
std::vector<uint16_t> ToFloat16(const std::vector<float> &values) {
    std::vector<uint16_t> packed;
    for (float value : values) {
        int exponent = 0;
        uint16_t sign = std::signbit(value) ? 0x8000 : 0;
        float fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
        uint16_t bits = 0x7c00;                                    // infinity
        if (std::isnan(value)) {
            bits = 0x7e00;
        } else if (value == 0 || exponent < -13) {  // a zero or a subnormal number
            bits = uint16_t(std::ldexp(std::fabs(value), 24));
        } else if (std::isfinite(value)) {
            bits = uint16_t(((exponent + 14) << 10) + int(std::ldexp(fraction, 11)) - 1024);
        }
        packed.push_back(sign | bits);
    }
    return packed;
}

double FromFloat16(uint16_t bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                  : exponent == 0 ? std::ldexp(fraction, -24)
                                  : std::ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -size : size;
}
"""

FROM_AND_TO_BFLOAT16 = """
// bfloat16 is the upper half of float32, and the numbers below are exact in it.
std::vector<uint16_t> ToBfloat16(const std::vector<float> &values) {
    std::vector<uint16_t> packed;
    for (float value : values) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        packed.push_back(uint16_t(bits >> 16));
    }
    return packed;
}

double FromBfloat16(uint16_t packed) {
    uint32_t bits = uint32_t(packed) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
"""

PROGRAM = Template(r"""$about
//
// Build after `source set_env.sh`; with CANN 8 the libraries are -lopapi -lnnopbase -lascendcl:
//   g++ -std=c++17 sample.cpp -I$$ASCEND_HOME_PATH/include -L$$ASCEND_HOME_PATH/lib64 -l$library -lnnopbase -lacl_rt

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "acl/acl.h"
#include "aclnnop/$header"

#define CHECK(call)                                                                     \
    do {                                                                                \
        int status_ = (call);                                                           \
        if (status_ != 0) {                                                             \
            const char *text_ = aclGetRecentErrMsg();                                   \
            printf("%s failed with %d %s\n", #call, status_, text_ ? text_ : "");       \
            return status_;                                                             \
        }                                                                               \
    } while (0)

template <typename T>
struct Tensor {
    aclTensor *handle = nullptr;
    void *address = nullptr;
    size_t size = 0;
};

template <typename T>
double Same(T value) {
    return value;
}
$helpers
// Allocates device memory, copies the data there, and describes it as a dense tensor.
template <typename T>
int Create(const std::vector<T> &data, const std::vector<int64_t> &shape, aclDataType type, aclFormat format,
           Tensor<T> *tensor) {
    size_t bytes = data.size() * sizeof(T);
    tensor->size = data.size();
    CHECK(aclrtMalloc(&tensor->address, std::max<size_t>(bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST));  // 0 is refused
    CHECK(aclrtMemcpy(tensor->address, bytes, data.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    tensor->handle = aclCreateTensor(shape.data(), shape.size(), type, nullptr, 0, format, shape.data(), shape.size(),
                                     tensor->address);  // null strides: dense
    return tensor->handle ? 0 : 1;
}

template <typename T>
int Print(const char *name, const Tensor<T> &tensor, double (*number)(T)) {
    std::vector<T> host(tensor.size);
    size_t bytes = host.size() * sizeof(T);
    CHECK(aclrtMemcpy(host.data(), bytes, tensor.address, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    int digits = sizeof(T) == 8 ? 17 : 9;  // as many as tell every value
    for (size_t i = 0; i < host.size(); i++) printf("%s[%zu] = %.*g\n", name, i, digits, number(host[i]));
    return 0;
}

template <typename T>
int Destroy(const Tensor<T> &tensor) {
    CHECK(aclDestroyTensor(tensor.handle));
    CHECK(aclrtFree(tensor.address));
    return 0;
}

int main() {
    // 1. Initialise ACL, a device and a stream; ask for deterministic kernels in both places that versions read.
    aclrtStream stream = nullptr;
    CHECK(aclInit(nullptr));
    CHECK(aclrtSetDevice(0));
    CHECK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    CHECK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    CHECK(aclrtCreateStream(&stream));

    // 2. Inputs, and outputs that show what is not written.
$create
$attributes
    // 3. Phase 1 checks the call and tells the workspace it needs.
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(${name}GetWorkspaceSize(
        $arguments,
        &workspaceSize, &executor));
    void *workspace = nullptr;
    if (workspaceSize > 0) CHECK(aclrtMalloc(&workspace, workspaceSize, ACL_MEM_MALLOC_HUGE_FIRST));

    // 4. Phase 2 queues the work on the stream; a fault of the kernel shows when the stream is synchronised.
    CHECK($name(workspace, workspaceSize, executor, stream));
    CHECK(aclrtSynchronizeStream(stream));

    // 5. Results.
$print

    // 6. Release in the opposite order.
    if (workspace) CHECK(aclrtFree(workspace));
$destroy_arrays$destroy
    CHECK(aclrtDestroyStream(stream));
    CHECK(aclrtResetDevice(0));
    CHECK(aclFinalize());
    return 0;
}
""")
