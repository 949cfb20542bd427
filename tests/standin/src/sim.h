// What the stand-in's libraries share. libascendcl.so (libacl_rt.so) holds the state; libnnopbase.so adds tensors and
// executors; the operator libraries add checks and kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

namespace standin {

constexpr uint8_t POISON = 0xA5;  // fresh device memory, and what a result reads as before it is computed

struct Failure {  // thrown where a call or a task ends with a status
    int code;
};

// One call of an exported function: takes the lock, logs, and decides whether the call fails by injection.
struct Call {
    explicit Call(const char *name);
    std::unique_lock<std::recursive_mutex> lock;
    int status = 0;        // not 0: fail with it
    bool refused = false;  // build-time stub or forked child: not even a release happens
};

void misuse(const char *format, ...) __attribute__((format(printf, 1, 2)));
int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));  // sets aclGetRecentErrMsg's text

// ---- product and version, from STANDIN_SOC and STANDIN_CANN
enum Product { P910, A2, A3, P310P, P310B, P950, UNKNOWN };
Product product();
int cann();                                        // comparable with version()
constexpr int version(int major, int minor, int patch, int beta = 99) {
    return ((major * 100 + minor) * 100 + patch) * 100 + beta;
}

// ---- handles: addresses in a range that faults, never used twice
enum Kind { TENSOR, BOOLS, INTS, FLOATS, SCALAR, EXECUTOR, STREAM, CONTEXT };
void *new_handle(Kind kind, std::shared_ptr<void> object, bool counted = true);
std::shared_ptr<void> find_handle(const void *handle, Kind kind, const char *where);  // null or dead: misuse
void end_handle(const void *handle);

// ---- device memory: addresses in a range that faults, never used twice
struct Block {
    uintptr_t address;
    size_t size;
    uint8_t *bytes;  // the backing store; null once freed
    int device;
};
Block *find_block(uintptr_t address);              // the live or freed block at or before the address, or null
bool is_device_address(uintptr_t address);
bool is_mapped(const void *address, size_t size);

// ---- work
struct Stream;
struct Task {
    std::string name;
    std::vector<uintptr_t> reads, writes;
    std::function<void()> run;
    Stream *stream = nullptr;
};
int enqueue(aclrtStream stream, Task task, const char *where);

// ---- tensors (libnnopbase.so)
struct Tensor {
    std::vector<int64_t> dims, strides, storage;
    int64_t offset;
    aclDataType type;
    aclFormat format;
    std::shared_ptr<uintptr_t> data;  // shared with the executor, which can move the tensor

    size_t rank() const { return dims.size(); }
    int64_t dim(size_t axis) const { return axis < dims.size() ? dims[axis] : 0; }
    int64_t size() const;
    bool contiguous() const;
};
std::vector<double> read(const Tensor &tensor);
void write(const Tensor &tensor, const std::vector<double> &values);        // through the view's strides
void write_dense(const Tensor &tensor, const std::vector<double> &values);  // from the view's start, strides ignored
int64_t product_of(const std::vector<int64_t> &dims, size_t first = 0);
std::vector<int64_t> dense_strides(const std::vector<int64_t> &dims);
std::string text(const std::vector<int64_t> &dims);

// ---- the two phases (libnnopbase.so)
struct Slot {  // one tensor argument of phase 1, null ones too
    bool output;
    std::shared_ptr<uintptr_t> data;
    const void *handle;
};

class Phase1 {
public:
    // `generated`: the operator's host layer was written by opbuild, with its own order of checks
    Phase1(const char *op, bool generated, uint64_t *workspace_size, aclOpExecutor **executor)
        : op(op), name(std::string(op) + "GetWorkspaceSize"), generated(generated), call(name.c_str()),
          workspace_size(workspace_size), executor(executor) {}
    aclnnStatus run(const std::function<void()> &checks);
    void pointers();                                             // 161001 if an out-pointer is null
    Tensor input(const char *parameter, const aclTensor *tensor);  // 161001 if null
    std::optional<Tensor> optional(const char *parameter, const aclTensor *tensor);
    Tensor output(const char *parameter, const aclTensor *tensor);
    std::optional<Tensor> optional_output(const char *parameter, const aclTensor *tensor);
    std::vector<bool> bools(const aclBoolArray *array);
    void require(bool condition, int code, const char *format, ...) __attribute__((format(printf, 4, 5)));
    void require_formats(const std::vector<Tensor> &tensors);    // generated operators want plain ones
    void nothing() { launch(0, nullptr); }                       // success, and phase 2 does nothing
    void launch(uint64_t workspace, std::function<void()> kernel, int launch_status = 0);
    void require_product(const std::vector<Product> &products);  // what generated operators answer elsewhere
    static uint64_t temporaries(const std::vector<Tensor> &tensors);  // the workspace that copies of these take
    static uint64_t copies(const std::vector<Tensor> &inputs);        // the same of those that are not contiguous

private:
    Tensor resolve(const char *parameter, const aclTensor *tensor, bool output);
    std::string op, name;
    bool generated;
    Call call;
    uint64_t *workspace_size;
    aclOpExecutor **executor;
    std::vector<Slot> slots;
};
aclnnStatus phase2(const char *op, void *workspace, uint64_t workspace_size, aclOpExecutor *executor,
                   aclrtStream stream);

Tensor as(aclDataType type, Tensor tensor);  // the same elements in another format
constexpr uint64_t SYSTEM_WORKSPACE = 16 << 20;  // what the tiling of generated operators always asks for

// ---- storage formats: 10 mantissa bits and bias 15 for float16, 7 and 127 for bfloat16
double unpack16(uint16_t bits, int mantissa, int bias);
uint16_t pack16(double value, int mantissa, int bias);  // nearest, ties to even

}  // namespace standin

#define ENTER(name) \
    standin::Call call(name); \
    if (call.status) return call.status
