// Descriptors, executors, and the common part of the two phases.
#include <algorithm>
#include <cstdarg>
#include <cstring>

#include "sim.h"

namespace standin {

// ---- phase 1

struct Executor {
    std::string op;
    bool generated;
    uint64_t workspace;
    std::function<void()> kernel;
    int launch_status;
    std::vector<Slot> slots;
    bool runs = true, repeatable = false;
};

struct Bools {
    std::vector<bool> values;
};
struct Ints {
    std::vector<int64_t> values;
};
struct Floats {
    std::vector<float> values;
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

Tensor Phase1::resolve(const char *parameter, const aclTensor *tensor, bool output) {
    auto found = std::static_pointer_cast<Tensor>(find_handle(tensor, TENSOR, name.c_str()));
    require(bool(found), ACLNN_ERR_INNER_NULLPTR, "%s is no tensor", parameter);
    Tensor copy = *found;
    copy.data = std::make_shared<uintptr_t>(*found->data);
    slots.push_back({output, copy.data, tensor});
    return copy;
}

Tensor Phase1::input(const char *parameter, const aclTensor *tensor) {
    require(tensor, ACLNN_ERR_PARAM_NULLPTR, "%s is null", parameter);
    return resolve(parameter, tensor, false);
}

Tensor Phase1::output(const char *parameter, const aclTensor *tensor) {
    require(tensor, ACLNN_ERR_PARAM_NULLPTR, "%s is null", parameter);
    return resolve(parameter, tensor, true);
}

std::optional<Tensor> Phase1::optional(const char *parameter, const aclTensor *tensor) {
    if (tensor) return resolve(parameter, tensor, false);
    slots.push_back({false, nullptr, nullptr});
    return std::nullopt;
}

std::optional<Tensor> Phase1::optional_output(const char *parameter, const aclTensor *tensor) {
    if (tensor) return resolve(parameter, tensor, true);
    slots.push_back({true, nullptr, nullptr});
    return std::nullopt;
}

std::vector<bool> Phase1::bools(const aclBoolArray *array) {
    auto found = std::static_pointer_cast<Bools>(find_handle(array, BOOLS, name.c_str()));
    require(bool(found), ACLNN_ERR_INNER_NULLPTR, "this is no bool array");
    return found->values;
}

void Phase1::launch(uint64_t workspace, std::function<void()> kernel, int launch_status) {
    auto made = std::make_shared<Executor>(
        Executor{op, generated, workspace, std::move(kernel), launch_status, slots});
    made->runs = bool(made->kernel);
    *workspace_size = workspace;
    *executor = static_cast<aclOpExecutor *>(new_handle(EXECUTOR, made));
}

void Phase1::require_product(const std::vector<Product> &products) {
    bool listed = std::count(products.begin(), products.end(), product()) > 0;
    int code = cann() >= version(9, 0, 0) ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_INNER_FIND_KERNEL_ERROR;
    bool early = product() == P950 && cann() < version(8, 5, 0);  // not yet in the registry
    require(listed && !early, code, "the operator does not support this product");
}

void Phase1::require_formats(const std::vector<Tensor> &tensors) {
    for (const Tensor &tensor : tensors) {
        bool plain = tensor.format == ACL_FORMAT_ND || tensor.format == ACL_FORMAT_NCHW ||
                     tensor.format == ACL_FORMAT_NHWC || tensor.format == ACL_FORMAT_NCDHW ||
                     tensor.format == ACL_FORMAT_NCL;
        require(plain, ACLNN_ERR_PARAM_INVALID, "format %d is not accepted as ND", tensor.format);
    }
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
    if (!block) {
        misuse("the workspace at %#lx is no device address", workspace);
        throw Failure{ACL_ERROR_RT_AICORE_EXCEPTION};
    }
    uint64_t end = block->address + block->size, room = block->bytes && workspace < end ? end - workspace : 0;
    if (room < needed) misuse("the workspace has %lu bytes of live memory, the operator needs %lu", room, needed);
    uint64_t length = std::min<uint64_t>(std::min(needed, room), 4096);  // the first page will do
    if (length) memset(block->bytes + (workspace - block->address), POISON, length);
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
    if (plan->op != op) misuse("%s: the executor is that of %s, which runs", op, plan->op.c_str());
    if (workspace_size && !workspace) return fail(ACLNN_ERR_PARAM_NULLPTR, "%s: workspace is null", op);
    if (workspace_size < plan->workspace) {
        if (plan->generated)
            return fail(ACLNN_ERR_PARAM_INVALID, "%s: workspace %lu < %lu", op, workspace_size, plan->workspace);
        misuse("%s: workspaceSize %lu, phase 1 asked for %lu", op, workspace_size, plan->workspace);
    }
    for (const Slot &slot : plan->slots)
        if (slot.handle) find_handle(slot.handle, TENSOR, op);  // misuse if destroyed between the phases
    if (!plan->runs) return 0;
    auto start = reinterpret_cast<uintptr_t>(workspace);
    Task task{plan->op, {}, {}, nullptr};
    std::vector<uintptr_t> addresses;
    for (const Slot &slot : plan->slots) {
        addresses.push_back(slot.data ? *slot.data : 0);
        auto &uses = slot.output ? task.writes : task.reads;
        if (Block *block = find_block(addresses.back())) uses.push_back(block->address);
    }
    if (Block *block = plan->workspace ? find_block(start) : nullptr) task.writes.push_back(block->address);
    task.run = [plan, start, addresses] {
        if (plan->workspace) scribble(start, plan->workspace);
        auto move_tensors = [&](std::vector<uintptr_t> places) {
            for (size_t i = 0; i < places.size(); i++)
                if (plan->slots[i].data) std::swap(*plan->slots[i].data, places[i]);
            return places;
        };
        auto later = move_tensors(addresses);  // a repeatable executor may have moved on since the launch
        plan->kernel();
        move_tensors(later);
    };
    if (plan->launch_status) return fail(plan->launch_status, "%s: the kernel could not be launched", op);
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
    tensor->data = std::make_shared<uintptr_t>(reinterpret_cast<uintptr_t>(tensorData));
    bool negative = offset < 0;
    for (size_t axis = 0; axis < viewDimsNum; axis++) negative |= dims[axis] < 0 || tensor->strides[axis] < 0;
    if (negative) misuse("aclCreateTensor: a dimension, a stride or the offset is negative");
    return static_cast<aclTensor *>(new_handle(TENSOR, tensor));
}

aclnnStatus aclDestroyTensor(const aclTensor *tensor) { return destroy("aclDestroyTensor", tensor, TENSOR); }

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

// `index` counts the tensors of phase 1 in its order, null ones too.
static aclnnStatus set_address(const char *name, aclOpExecutor *executor, size_t index, aclTensor *tensor,
                               void *address, bool inputs, bool outputs) {
    ENTER(name);
    if (!executor || !tensor || !address) return fail(ACLNN_ERR_INNER_NULLPTR, "%s: null", name);
    auto plan = std::static_pointer_cast<Executor>(find_handle(executor, EXECUTOR, name));
    if (!plan) return fail(ACLNN_ERR_INNER, "%s: executor is not usable", name);
    find_handle(tensor, TENSOR, name);
    std::vector<Slot> slots;
    for (const Slot &slot : plan->slots)
        if (slot.output ? outputs : inputs) slots.push_back(slot);
    if (index >= slots.size() || !slots[index].data)
        return fail(ACLNN_ERR_PARAM_INVALID, "%s: phase 1 was given no tensor %zu", name, index);
    *slots[index].data = reinterpret_cast<uintptr_t>(address);
    return 0;
}

aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetInputTensorAddr", executor, index, tensor, addr, true, false);
}

aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetOutputTensorAddr", executor, index, tensor, addr, false, true);
}

aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, const size_t index, aclTensor *tensor, void *addr) {
    return set_address("aclSetTensorAddr", executor, index, tensor, addr, true, true);
}

static int64_t *copied(const std::vector<int64_t> &values) {  // the caller deletes it
    return std::copy(values.begin(), values.end(), new int64_t[values.size()]) - values.size();
}

#define GETTER(name, handle, kind, type, condition) \
    ENTER(name); \
    if (!(handle) || !(condition)) return fail(ACLNN_ERR_PARAM_NULLPTR, name ": a pointer is null"); \
    auto found = std::static_pointer_cast<type>(find_handle(handle, kind, name)); \
    if (!found) return ACLNN_ERR_INNER_NULLPTR

aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims, uint64_t *viewDimsNum) {
    GETTER("aclGetViewShape", tensor, TENSOR, Tensor, viewDims && viewDimsNum);
    *viewDims = copied(found->dims);
    *viewDimsNum = found->rank();
    return 0;
}

aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue, uint64_t *stridesNum) {
    GETTER("aclGetViewStrides", tensor, TENSOR, Tensor, stridesValue && stridesNum);
    *stridesValue = copied(found->strides);
    *stridesNum = found->rank();
    return 0;
}

aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims, uint64_t *storageDimsNum) {
    GETTER("aclGetStorageShape", tensor, TENSOR, Tensor, storageDims && storageDimsNum);
    *storageDims = copied(found->storage);
    *storageDimsNum = found->storage.size();
    return 0;
}

aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset) {
    GETTER("aclGetViewOffset", tensor, TENSOR, Tensor, offset);
    *offset = found->offset;
    return 0;
}

aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType) {
    GETTER("aclGetDataType", tensor, TENSOR, Tensor, dataType);
    *dataType = found->type;
    return 0;
}

aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format) {
    GETTER("aclGetFormat", tensor, TENSOR, Tensor, format);
    *format = found->format;
    return 0;
}

// Arrays of plain values: created with a copy of them, destroyed, and asked for their number.
#define ARRAY(name, element, kind, values_of) \
    acl##name *aclCreate##name(const element *value, uint64_t size) { \
        Call call("aclCreate" #name); \
        if (call.status) return nullptr; \
        auto array = std::make_shared<values_of>(); \
        if (value) array->values.assign(value, value + size); \
        return static_cast<acl##name *>(new_handle(kind, array)); \
    } \
    aclnnStatus aclDestroy##name(const acl##name *array) { return destroy("aclDestroy" #name, array, kind); } \
    aclnnStatus aclGet##name##Size(const acl##name *array, uint64_t *size) { \
        GETTER("aclGet" #name "Size", array, kind, values_of, size); \
        *size = found->values.size(); \
        return 0; \
    }

ARRAY(BoolArray, bool, BOOLS, Bools)
ARRAY(IntArray, int64_t, INTS, Ints)
ARRAY(FloatArray, float, FLOATS, Floats)

aclScalar *aclCreateScalar(void *value, aclDataType dataType) {
    Call call("aclCreateScalar");
    if (call.status || !value) return nullptr;
    double number = dataType == ACL_DOUBLE ? *static_cast<double *>(value) : *static_cast<float *>(value);
    return static_cast<aclScalar *>(new_handle(SCALAR, std::make_shared<double>(number)));
}

aclnnStatus aclDestroyScalar(const aclScalar *scalar) { return destroy("aclDestroyScalar", scalar, SCALAR); }

}  // extern "C"
