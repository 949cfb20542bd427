// Descriptors, executors, and the common part of the two phases.
#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstring>

#include "sim.h"

namespace standin {

// ---- tensors

int64_t product_of(const std::vector<int64_t> &dims, size_t first) {
    int64_t product = 1;
    for (size_t axis = first; axis < dims.size(); axis++) product *= dims[axis];
    return product;
}

std::string text(const std::vector<int64_t> &dims) {
    std::string text;
    for (int64_t dim : dims) text += (text.empty() ? "(" : ", ") + std::to_string(dim);
    return text.empty() ? "()" : text + ")";
}

static std::vector<int64_t> dense_strides(const std::vector<int64_t> &dims) {
    std::vector<int64_t> strides(dims.size());
    for (size_t axis = 0; axis < dims.size(); axis++) strides[axis] = product_of(dims, axis + 1);
    return strides;
}

int64_t Tensor::size() const { return product_of(dims); }

bool Tensor::contiguous() const {
    auto dense = dense_strides(dims);
    for (size_t axis = 0; axis < rank(); axis++)
        if (dims[axis] != 1 && strides[axis] != dense[axis]) return false;
    return true;
}

static double decode(const uint8_t *bytes, aclDataType type) {
    auto as = [&](auto value) { return memcpy(&value, bytes, sizeof value), value; };
    switch (type) {
        case ACL_FLOAT: return as(float());
        case ACL_DOUBLE: return as(double());
        case ACL_FLOAT16: return unpack16(as(uint16_t()), 10, 15);
        case ACL_BF16: return unpack16(as(uint16_t()), 7, 127);
        case ACL_INT32: return as(int32_t());
        case ACL_INT64: return double(as(int64_t()));
        default: return NAN;  // no kernel takes another type
    }
}

static void encode(uint8_t *bytes, aclDataType type, double value) {
    auto put = [&](auto stored) { memcpy(bytes, &stored, sizeof stored); };
    if (product() == P910 || product() == P310P || product() == P310B) {  // these saturate
        double largest = type == ACL_FLOAT16 ? 65504 : type == ACL_FLOAT ? 3.4028234663852886e38 : HUGE_VAL;
        value = std::isnan(value) ? 0 : std::clamp(value, -largest, largest);
    }
    switch (type) {
        case ACL_FLOAT: return put(float(value));
        case ACL_DOUBLE: return put(value);
        case ACL_FLOAT16: return put(pack16(value, 10, 15));
        case ACL_BF16: return put(pack16(value, 7, 127));
        default: return;
    }
}

// Calls visit(bytes) for each element in row-major order; bytes is null for an element outside the allocation.
static void visit(const Tensor &tensor, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                  const char *verb, const std::function<void(uint8_t *)> &visit) {
    int64_t count = product_of(dims), item = aclDataTypeSize(tensor.type);
    if (!count) return;
    Block *block = find_block(tensor.data);
    if (!block || !block->bytes) {
        misuse("a kernel %s a tensor at %#lx, which is no live device memory", verb, (unsigned long)tensor.data);
        throw Failure{ACL_ERROR_RT_AICORE_EXCEPTION};
    }
    if (tensor.data % 32) misuse("a tensor starts at %#lx, not at a multiple of 32", (unsigned long)tensor.data);
    bool outside = false;
    for (int64_t i = 0; i < count; i++) {
        int64_t element = tensor.offset, rest = i;
        for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) element += rest % dims[axis] * strides[axis];
        int64_t at = int64_t(tensor.data - block->address) + element * item;
        bool inside = at >= 0 && at + item <= int64_t(block->size);
        outside = outside || !inside;
        visit(inside ? block->bytes + at : nullptr);
    }
    if (outside)
        misuse("a kernel %s a tensor %s beyond its allocation of %zu bytes", verb, text(dims).c_str(), block->size);
}

std::vector<double> read(const Tensor &tensor) {
    std::vector<double> values;
    uint8_t poison[8];
    memset(poison, POISON, sizeof poison);
    visit(tensor, tensor.dims, tensor.strides, "reads",
          [&](uint8_t *bytes) { values.push_back(decode(bytes ? bytes : poison, tensor.type)); });
    return values;
}

static void store(const Tensor &tensor, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                  const std::vector<double> &values) {
    size_t i = 0;
    visit(tensor, dims, strides, "writes", [&](uint8_t *bytes) {
        if (bytes) encode(bytes, tensor.type, values[i]);
        i++;
    });
}

void write(const Tensor &tensor, const std::vector<double> &values) {
    store(tensor, tensor.dims, tensor.strides, values);
}

void write_dense(const Tensor &tensor, const std::vector<double> &values) {
    store(tensor, {int64_t(values.size())}, {1}, values);
}

// ---- phase 1

struct Executor {
    std::string op;
    bool generated;
    uint64_t workspace;
    std::function<void()> kernel;
    int launch_status;
    std::vector<uintptr_t> reads, writes;
    std::vector<const void *> handles;
    bool repeatable = false;
};

struct Bools {
    std::vector<bool> values;
};

aclnnStatus Phase1::run(const std::function<void()> &checks) {
    if (call.status) return call.status;
    try {
        checks();
        return 0;
    } catch (const Failure &failure) {
        return failure.code;
    }
}

void Phase1::require(bool condition, int code, const char *format, ...) {
    if (condition) return;
    char detail[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(detail, sizeof detail, format, arguments);
    va_end(arguments);
    throw Failure{fail(code, "%s: %s", name.c_str(), detail)};
}

void Phase1::pointers() {
    require(workspace_size, ACLNN_ERR_PARAM_NULLPTR, "workspaceSize is null");
    require(executor, ACLNN_ERR_PARAM_NULLPTR, "executor is null");
}

Tensor Phase1::resolve(const char *parameter, const aclTensor *tensor, std::vector<uintptr_t> &uses) {
    auto found = std::static_pointer_cast<Tensor>(find_handle(tensor, TENSOR, name.c_str()));
    require(bool(found), ACLNN_ERR_INNER_NULLPTR, "%s is no tensor", parameter);
    handles.push_back(tensor);
    if (Block *block = find_block(found->data)) uses.push_back(block->address);
    return *found;
}

Tensor Phase1::input(const char *parameter, const aclTensor *tensor) {
    require(tensor, ACLNN_ERR_PARAM_NULLPTR, "%s is null", parameter);
    return resolve(parameter, tensor, reads);
}

Tensor Phase1::output(const char *parameter, const aclTensor *tensor) {
    require(tensor, ACLNN_ERR_PARAM_NULLPTR, "%s is null", parameter);
    return resolve(parameter, tensor, writes);
}

std::optional<Tensor> Phase1::optional(const char *parameter, const aclTensor *tensor) {
    return tensor ? std::optional(resolve(parameter, tensor, reads)) : std::nullopt;
}

std::vector<bool> Phase1::bools(const aclBoolArray *array) {
    auto found = std::static_pointer_cast<Bools>(find_handle(array, BOOLS, name.c_str()));
    require(bool(found), ACLNN_ERR_INNER_NULLPTR, "this is no bool array");
    return found->values;
}

void Phase1::launch(uint64_t workspace, std::function<void()> kernel, int launch_status) {
    auto made = std::make_shared<Executor>(
        Executor{op, generated, workspace, std::move(kernel), launch_status, reads, writes, handles});
    *workspace_size = workspace;
    *executor = static_cast<aclOpExecutor *>(new_handle(EXECUTOR, made));
}

void Phase1::require_product(const std::vector<Product> &products) {
    bool listed = std::count(products.begin(), products.end(), product()) > 0;
    int code = cann() >= version(9, 0, 0) ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
    require(listed, code, "the operator does not support this product");
}

uint64_t Phase1::temporaries(const std::vector<Tensor> &tensors) {
    uint64_t bytes = 0;
    for (const Tensor &tensor : tensors) bytes += (tensor.size() * aclDataTypeSize(tensor.type) + 32 + 511) / 512 * 512;
    return bytes;
}

uint64_t Phase1::copies(const std::vector<Tensor> &inputs) {
    std::vector<Tensor> strided;
    for (const Tensor &input : inputs)
        if (!input.contiguous()) strided.push_back(input);
    return temporaries(strided);
}

// ---- phase 2

// Whatever a kernel finds in its workspace is rubbish, and it leaves rubbish there.
static void scribble(uintptr_t workspace, uint64_t needed) {
    Block *block = find_block(workspace);
    if (!block || !block->bytes) {
        misuse("the workspace at %#lx is no live device memory", (unsigned long)workspace);
        throw Failure{ACL_ERROR_RT_AICORE_EXCEPTION};
    }
    uint64_t room = block->address + block->size - workspace;
    if (room < needed) misuse("the workspace has %lu bytes, the operator needs %lu", (long)room, (long)needed);
    needed = std::min(needed, room);
    uint8_t *start = block->bytes + (workspace - block->address);
    uint64_t length = std::min<uint64_t>(needed, 4096);
    memset(start, 0x5A, length);
    memset(start + needed - length, 0x5A, length);
}

aclnnStatus phase2(const char *op, void *workspace, uint64_t workspace_size, aclOpExecutor *executor,
                   aclrtStream stream) {
    Call call(op);
    if (call.refused) return call.status;
    if (!executor) return fail(ACLNN_ERR_PARAM_NULLPTR, "%s: executor is null", op);
    auto plan = std::static_pointer_cast<Executor>(find_handle(executor, EXECUTOR, op));
    if (!plan) return fail(ACLNN_ERR_INNER, "%s: executor is not usable", op);
    if (!plan->repeatable) end_handle(executor);  // consumed, whatever comes of it
    if (call.status) return call.status;
    if (plan->op != op) {
        misuse("%s: the executor is that of %s", op, plan->op.c_str());
        return fail(ACLNN_ERR_INNER, "%s: executor is not usable", op);
    }
    for (const void *handle : plan->handles)
        if (!find_handle(handle, TENSOR, op)) break;  // destroyed between the phases; the library does not notice
    if (workspace_size && !workspace) return fail(ACLNN_ERR_PARAM_NULLPTR, "%s: workspace is null", op);
    if (workspace_size < plan->workspace) {
        if (plan->generated)
            return fail(ACLNN_ERR_PARAM_INVALID, "%s: workspace %lu < %lu", op, workspace_size, plan->workspace);
        misuse("%s: workspaceSize %lu, phase 1 asked for %lu", op, workspace_size, plan->workspace);
    }
    if (plan->launch_status) return fail(plan->launch_status, "%s: launch failed", op);
    Task task{op, plan->reads, plan->writes, nullptr};
    auto address = reinterpret_cast<uintptr_t>(workspace);
    if (plan->workspace)
        if (Block *block = find_block(address)) task.reads.push_back(block->address);
    task.run = [plan, address] {
        if (plan->workspace) scribble(address, plan->workspace);
        plan->kernel();
    };
    if (enqueue(stream, std::move(task), op)) return fail(ACLNN_ERR_RUNTIME_ERROR, "%s: launch failed", op);
    return 0;
}

// ---- what the entry points share

static aclnnStatus destroy(const char *name, const void *handle, Kind kind) {
    Call call(name);
    if (call.refused || !handle) return call.status;
    if (!find_handle(handle, kind, name)) return 0;  // the library deletes what it is given
    end_handle(handle);
    return call.status;
}

}  // namespace standin

using namespace standin;

#define ENTER(name) \
    Call call(name); \
    if (call.status) return call.status

extern "C" {

aclnnStatus aclnnInit(const char *) {
    ENTER("aclnnInit");
    return 0;
}

aclnnStatus aclnnFinalize() {
    ENTER("aclnnFinalize");
    return 0;
}

aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum, aclDataType dataType, const int64_t *stride,
                           int64_t offset, aclFormat format, const int64_t *storageDims, uint64_t storageDimsNum,
                           void *tensorData) {
    Call call("aclCreateTensor");
    if (call.status || (!viewDims && viewDimsNum) || (!storageDims && storageDimsNum)) return nullptr;
    std::vector<int64_t> dims(viewDims, viewDims + viewDimsNum), storage(storageDims, storageDims + storageDimsNum);
    auto tensor = std::make_shared<Tensor>();
    tensor->strides = stride ? std::vector<int64_t>(stride, stride + viewDimsNum) : dense_strides(dims);
    tensor->dims = dims;
    tensor->storage = storage;
    tensor->offset = offset;
    tensor->type = dataType;
    tensor->format = format;
    tensor->data = reinterpret_cast<uintptr_t>(tensorData);
    for (int64_t dim : dims)
        if (dim < 0) misuse("aclCreateTensor: negative dimension in %s", text(dims).c_str());
    return static_cast<aclTensor *>(new_handle(TENSOR, tensor));
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) { return destroy("aclDestroyTensor", tensor, TENSOR); }

aclBoolArray *aclCreateBoolArray(const bool *value, uint64_t size) {
    Call call("aclCreateBoolArray");
    if (call.status) return nullptr;
    auto array = std::make_shared<Bools>();
    if (value) array->values.assign(value, value + size);
    return static_cast<aclBoolArray *>(new_handle(BOOLS, array));
}

aclnnStatus aclDestroyBoolArray(const aclBoolArray *array) { return destroy("aclDestroyBoolArray", array, BOOLS); }

aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
    ENTER("aclSetAclOpExecutorRepeatable");
    if (!executor) return fail(ACLNN_ERR_INNER_NULLPTR, "aclSetAclOpExecutorRepeatable: executor is null");
    auto plan = std::static_pointer_cast<Executor>(
        find_handle(executor, EXECUTOR, "aclSetAclOpExecutorRepeatable"));
    if (!plan) return ACLNN_ERR_INNER;
    plan->repeatable = true;
    return 0;
}

// Documented for repeatable executors; taken here for any that no phase 2 has consumed.
aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
    Call call("aclDestroyAclOpExecutor");
    if (call.refused) return call.status;
    if (!executor) return fail(ACLNN_ERR_INNER_NULLPTR, "aclDestroyAclOpExecutor: executor is null");
    if (!find_handle(executor, EXECUTOR, "aclDestroyAclOpExecutor")) return ACLNN_ERR_INNER;
    end_handle(executor);
    return call.status;
}

}  // extern "C"
