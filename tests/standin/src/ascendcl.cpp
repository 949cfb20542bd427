// The runtime: initialisation, devices, contexts, streams, memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <list>
#include <set>

#include "state.h"

namespace standin {

struct Stream {
    std::shared_ptr<struct Context> context;
    int error = 0;  // a task failed: nothing runs here any more
};

struct Context {
    int device;
    bool alive = true;
    std::map<int, int64_t> options;
    Stream stream;  // the default stream, meant by the null pointer
};

static uint64_t initialised = 0;
static bool finalised = false;
static std::map<int, std::pair<std::shared_ptr<Context>, int>> devices;  // default context, number of users
static thread_local std::shared_ptr<Context> current;
static std::map<int, int64_t> process_options;
static std::list<Task> queue;           // of all streams, in the order of launch
static const Task *running = nullptr;
static std::map<uintptr_t, Block> blocks;
static std::set<void *> host_memory;
static size_t used = 0;

static Context *context() { return current && current->alive ? current.get() : nullptr; }

std::map<std::string, size_t> memory_counts() {
    size_t device = std::count_if(blocks.begin(), blocks.end(), [](auto &item) { return item.second.bytes; });
    return {{"device memory", device}, {"host memory", host_memory.size()}};
}

// ---- memory

// A large backing store is one poisoned file mapped again and again: pages are copied when they are first written.
constexpr size_t CHUNK = 1 << 20;

static uint8_t *new_backing(size_t size) {
    if (size < CHUNK) return static_cast<uint8_t *>(memset(malloc(size), POISON, size));
    static int poison = [] {
        int file = memfd_create("poison", MFD_CLOEXEC);
        std::vector<uint8_t> bytes(CHUNK, POISON);
        if (::write(file, bytes.data(), CHUNK) != ssize_t(CHUNK)) abort();
        return file;
    }();
    size = (size + CHUNK - 1) / CHUNK * CHUNK;
    auto *start = static_cast<uint8_t *>(mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t at = 0; at < size; at += CHUNK)
        mmap(start + at, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, poison, 0);
    return start;
}

static void end_backing(uint8_t *bytes, size_t size) {
    if (size < CHUNK) return free(bytes);
    munmap(bytes, (size + CHUNK - 1) / CHUNK * CHUNK);
}

Block *find_block(uintptr_t address) {
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return nullptr;
    Block &block = std::prev(next)->second;
    return address < block.address + block.size ? &block : nullptr;
}

static const Task *queued(uintptr_t block, bool reads, bool writes) {
    auto has = [&](const std::vector<uintptr_t> &list) { return std::count(list.begin(), list.end(), block) > 0; };
    for (const Task &task : queue)
        if (&task != running && ((reads && has(task.reads)) || (writes && has(task.writes)))) return &task;
    return nullptr;
}

static aclError allocate(const char *where, void **pointer, size_t size) {
    if (!pointer) return fail(ACL_ERROR_INVALID_PARAM, "%s: devPtr is null", where);
    if (!size) return fail(ACL_ERROR_INVALID_PARAM, "%s: size is 0", where);
    if (!context()) return ACL_ERROR_RT_CONTEXT_NULL;
    if (size > memory_size() || used > memory_size() - size)
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: %zu bytes not free", where, size);
    uintptr_t address = take_device_range(size);
    blocks[address] = {address, size, new_backing(size)};
    used += size;
    *pointer = reinterpret_cast<void *>(address);
    return 0;
}

static aclError release(void *pointer) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    Block *block = find_block(address);
    if (!block || block->address != address) {
        misuse("aclrtFree: %p is not the start of a block of device memory", pointer);
    } else if (!block->bytes) {
        misuse("aclrtFree: %p was freed before", pointer);
    } else {
        if (const Task *task = queued(address, true, true))
            misuse("aclrtFree: %p is freed while %s is queued that uses it", pointer, task->name.c_str());
        end_backing(block->bytes, block->size);
        block->bytes = nullptr;
        used -= block->size;
        return 0;
    }
    return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtFree: invalid address");
}

// One end of a copy: a place in a block's backing store, or host memory.
struct End {
    Block *block = nullptr;
    uint8_t *bytes = nullptr;
    size_t room = SIZE_MAX;  // bytes up to the end of the block
};

static bool locate(End &end, const void *pointer, size_t count, const char *where) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    if (!is_device_address(address)) {
        end.bytes = static_cast<uint8_t *>(const_cast<void *>(pointer));
        if (is_mapped(pointer, count)) return true;
        misuse("%s: %p is neither device memory nor mapped host memory", where, pointer);
        return false;
    }
    end.block = find_block(address);
    if (!end.block || !end.block->bytes) {
        misuse("%s: %p is device memory that %s", where, pointer, end.block ? "was freed" : "nobody allocated");
        return false;
    }
    end.bytes = end.block->bytes + (address - end.block->address);
    end.room = end.block->address + end.block->size - address;
    if (count > end.room) misuse("%s: %zu bytes at %p, %zu past the end", where, count, pointer, count - end.room);
    return true;
}

static aclError check_copy(void *dst, size_t dest_max, const void *src, size_t count, int kind, const char *where) {
    if (!dst || !src) return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is null", where, dst ? "src" : "dst");
    if (kind < 0 || kind > 7) return fail(ACL_ERROR_INVALID_PARAM, "%s: kind %d", where, kind);
    if (dest_max < count)
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: destMax %zu < count %zu", where, dest_max, count);
    return context() ? 0 : ACL_ERROR_RT_CONTEXT_NULL;
}

static aclError copy(void *dst, const void *src, size_t count, int kind, const char *where) {
    End to, from;
    if (!locate(to, dst, count, where) || !locate(from, src, count, where)) return ACL_ERROR_RT_PARAM_INVALID;
    int direction = (from.block ? 2 : 0) + (to.block ? 1 : 0);
    if (kind < ACL_MEMCPY_DEFAULT && kind != direction)
        misuse("%s: kind %d, but the pointers say %d; the pointers decide", where, kind, direction);
    size_t writable = std::min(count, to.room), readable = std::min(writable, from.room);
    const Task *writer = from.block ? queued(from.block->address, false, true) : nullptr;
    const Task *user = to.block ? queued(to.block->address, true, true) : nullptr;
    if (writer) misuse("%s: the result of %s is read before it is synchronised", where, writer->name.c_str());
    if (user) misuse("%s: memory of the queued %s is overwritten", where, user->name.c_str());
    if (writer) readable = 0;
    memmove(to.bytes, from.bytes, readable);
    memset(to.bytes + readable, POISON, writable - readable);
    return 0;
}

// ---- work

static Stream *find_stream(aclrtStream stream, const char *where, int &status) {
    status = 0;
    if (!context()) return status = ACL_ERROR_RT_CONTEXT_NULL, nullptr;
    if (!stream) return &context()->stream;
    auto found = std::static_pointer_cast<Stream>(find_handle(stream, STREAM, where));
    if (!found || found->context != current)
        return status = fail(ACL_ERROR_RT_STREAM_CONTEXT, "%s: no stream of this context", where), nullptr;
    return found.get();
}

int enqueue(aclrtStream stream, Task task, const char *where) {
    int status;
    task.stream = find_stream(stream, where, status);
    if (!status) queue.push_back(std::move(task));
    return status;
}

static int drain(Stream *stream) {
    for (auto task = queue.begin(); task != queue.end() && !stream->error;) {
        if (task->stream != stream) {
            ++task;
            continue;
        }
        stream->error = log_call(("task@" + task->name).c_str());
        if (stream->error) break;
        running = &*task;
        try {
            task->run();
            task = queue.erase(task);
        } catch (const Failure &failure) {
            stream->error = fail(failure.code, "%s failed on the device", task->name.c_str());
        }
        running = nullptr;
    }
    return stream->error;
}

static aclError end_stream(aclrtStream stream, bool force, const char *where) {
    if (!stream) return fail(ACL_ERROR_INVALID_PARAM, "%s: stream is null", where);
    auto found = std::static_pointer_cast<Stream>(find_handle(stream, STREAM, where));
    if (!found) return fail(ACL_ERROR_RT_STREAM_CONTEXT, "%s: no stream", where);
    auto mine = [&](const Task &task) { return task.stream == found.get(); };
    auto task = std::find_if(queue.begin(), queue.end(), mine);
    if (task != queue.end() && !force && !found->error) {
        misuse("%s: the stream is destroyed while %s is queued", where, task->name.c_str());
        drain(found.get());
    }
    queue.remove_if(mine);
    end_handle(stream);
    return 0;
}

// ---- devices

static void end_context(const std::shared_ptr<Context> &context, const char *where) {
    auto mine = [&](const Task &task) { return task.stream == &context->stream || task.stream->context == context; };
    auto task = std::find_if(queue.begin(), queue.end(), mine);
    if (task != queue.end() && !task->stream->error)
        misuse("%s: the device or context ends while %s is queued", where, task->name.c_str());
    queue.remove_if(mine);
    context->alive = false;
}

static void end_device(int device, const char *where) {
    if (devices[device].first) end_context(devices[device].first, where);
    devices.erase(device);
}

static bool valid_device(int device) { return device >= 0 && device < device_count(); }

static aclError reset_device(int device, bool force, const char *where) {
    if (!valid_device(device)) return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: no device %d", where, device);
    int &users = devices[device].second;
    if (!users) misuse("%s: device %d was not set", where, device);
    // counted since 9.0; before, one reset undid any number of sets
    if (users && --users > 0 && !force && cann() >= version(9, 0, 0)) return 0;
    end_device(device, where);
    return 0;
}

static void end_process(const char *where) {
    while (!devices.empty()) end_device(devices.begin()->first, where);
    initialised = 0;
    finalised = true;
}

double unpack16(uint16_t bits, int mantissa, int bias) {
    int exponent = (bits & 0x7fff) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    double value;
    if (exponent == 2 * bias + 1)
        value = fraction ? NAN : INFINITY;
    else if (exponent)
        value = std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
    else
        value = std::ldexp(fraction, 1 - bias - mantissa);
    return bits & 0x8000 ? -value : value;
}

uint16_t pack16(double value, int mantissa, int bias) {
    uint16_t sign = std::signbit(value) ? 0x8000 : 0, infinity = (2 * bias + 1) << mantissa;
    if (std::isnan(value)) return infinity | 1 << (mantissa - 1);
    int exponent;
    std::frexp(value, &exponent);
    exponent = std::max(exponent - 1, 1 - bias);
    if (std::isinf(value) || exponent > bias) return sign | infinity;
    // the hidden bit of a normal number carries into the exponent field; a subnormal number has none
    auto units = int64_t(std::nearbyint(std::ldexp(std::fabs(value), mantissa - exponent)));
    return sign | uint16_t(((exponent + bias - 1) << mantissa) + units);
}

}  // namespace standin

using namespace standin;

#define ENTER(name) \
    Call call(name); \
    if (call.status) return call.status
// A call that releases does so even when it is made to fail: nobody could release a second time.
#define ENTER_RELEASE(name) \
    Call call(name); \
    if (call.refused) return call.status
#define LEAVE_RELEASE(result) \
    { \
        aclError status_ = (result); \
        return call.status ? call.status : status_; \
    }
#define NOT_NULL(pointer) \
    if (!(pointer)) return fail(ACL_ERROR_INVALID_PARAM, "%s: " #pointer " is null", __func__)
#define NEEDS_CONTEXT \
    if (!context()) return ACL_ERROR_RT_CONTEXT_NULL

extern "C" {

aclError aclInit(const char *) {
    ENTER("aclInit");
    if (!owner) watch_exit();
    owner = getpid();
    return ++initialised > 1 ? ACL_ERROR_REPEAT_INITIALIZE : 0;
}

aclError aclFinalize() {
    ENTER_RELEASE("aclFinalize");
    if (finalised && !initialised) return ACL_ERROR_REPEAT_FINALIZE;
    if (!initialised) misuse("aclFinalize: nothing was initialised");
    end_process("aclFinalize");
    return call.status;
}

#ifdef STANDIN_SPLIT
aclError aclFinalizeReference(uint64_t *refCount) {
    ENTER_RELEASE("aclFinalizeReference");
    if (!initialised) return ACL_ERROR_REPEAT_FINALIZE;
    if (--initialised == 0) end_process("aclFinalizeReference");
    if (refCount) *refCount = initialised;
    return call.status;
}
#endif

const char *aclGetRecentErrMsg() {
    Call call("aclGetRecentErrMsg");
    return call.status ? nullptr : take_message();
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion) {
    ENTER("aclrtGetVersion");
    NOT_NULL(majorVersion && minorVersion && patchVersion);
    int parts[3];
    cann_version(parts);
    *majorVersion = parts[0], *minorVersion = parts[1], *patchVersion = parts[2];
    return 0;
}

const char *aclrtGetSocName() {
    Call call("aclrtGetSocName");
    static thread_local std::string name;
    name = soc_name();
    return call.status || !device_count() ? nullptr : name.c_str();
}

aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value) {
    ENTER("aclGetCannAttribute");
    NOT_NULL(value);
    if (cannAttr < ACL_CANN_ATTR_INF_NAN || cannAttr > ACL_CANN_ATTR_JIT_COMPILE) return ACL_ERROR_INVALID_PARAM;
    bool modern = product() == A2 || product() == A3 || product() == P950;
    *value = cannAttr == ACL_CANN_ATTR_JIT_COMPILE ? 0 : modern;
    return 0;
}

aclError aclrtSetDevice(int32_t deviceId) {
    ENTER("aclrtSetDevice");
    if (!initialised) return fail(ACL_ERROR_UNINITIALIZE, "aclrtSetDevice: aclInit comes first");
    if (!valid_device(deviceId)) return fail(ACL_ERROR_RT_INVALID_DEVICEID, "aclrtSetDevice: no device %d", deviceId);
    auto &[context, users] = devices[deviceId];
    if (!context) context = std::make_shared<Context>(Context{deviceId, true, {}, {}});
    users++;
    current = context;
    return 0;
}

aclError aclrtResetDevice(int32_t deviceId) {
    ENTER_RELEASE("aclrtResetDevice");
    LEAVE_RELEASE(reset_device(deviceId, false, "aclrtResetDevice"));
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
    ENTER_RELEASE("aclrtResetDeviceForce");
    LEAVE_RELEASE(reset_device(deviceId, true, "aclrtResetDeviceForce"));
}

aclError aclrtGetDevice(int32_t *deviceId) {
    ENTER("aclrtGetDevice");
    NOT_NULL(deviceId);
    NEEDS_CONTEXT;
    *deviceId = context()->device;
    return 0;
}

aclError aclrtGetDeviceCount(uint32_t *count) {
    ENTER("aclrtGetDeviceCount");
    NOT_NULL(count);
    *count = device_count();
    return 0;
}

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
    ENTER("aclrtCreateContext");
    NOT_NULL(context);
    if (!valid_device(deviceId)) return ACL_ERROR_RT_INVALID_DEVICEID;
    current = std::make_shared<Context>(Context{deviceId, true, {}, {}});
    *context = new_handle(CONTEXT, current);
    return 0;
}

aclError aclrtDestroyContext(aclrtContext context) {
    ENTER_RELEASE("aclrtDestroyContext");
    NOT_NULL(context);
    auto found = std::static_pointer_cast<Context>(find_handle(context, CONTEXT, "aclrtDestroyContext"));
    if (!found) return ACL_ERROR_RT_CONTEXT_NULL;
    end_context(found, "aclrtDestroyContext");
    end_handle(context);
    return call.status;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    ENTER("aclrtSetCurrentContext");
    NOT_NULL(context);
    auto found = std::static_pointer_cast<Context>(find_handle(context, CONTEXT, "aclrtSetCurrentContext"));
    if (!found) return ACL_ERROR_RT_CONTEXT_NULL;
    current = found;
    return 0;
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    ENTER("aclrtCtxSetSysParamOpt");
    NEEDS_CONTEXT;
    context()->options[opt] = value;
    return 0;
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    ENTER("aclrtCtxGetSysParamOpt");
    NOT_NULL(value);
    NEEDS_CONTEXT;
    if (!context()->options.count(opt)) return ACL_ERROR_RT_SYSPARAMOPT_NOT_SET;
    *value = context()->options[opt];
    return 0;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    ENTER("aclrtSetSysParamOpt");
    if (value < 0 || value > 1) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSetSysParamOpt: value %ld", long(value));
    process_options[opt] = value;
    return 0;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    ENTER("aclrtGetSysParamOpt");
    NOT_NULL(value);
    *value = process_options[opt];
    return 0;
}

aclError aclrtCreateStream(aclrtStream *stream) {
    ENTER("aclrtCreateStream");
    NOT_NULL(stream);
    NEEDS_CONTEXT;
    *stream = new_handle(STREAM, std::make_shared<Stream>(Stream{current}));
    return 0;
}

aclError aclrtDestroyStream(aclrtStream stream) {
    ENTER_RELEASE("aclrtDestroyStream");
    LEAVE_RELEASE(end_stream(stream, false, "aclrtDestroyStream"));
}

aclError aclrtDestroyStreamForce(aclrtStream stream) {
    ENTER_RELEASE("aclrtDestroyStreamForce");
    LEAVE_RELEASE(end_stream(stream, true, "aclrtDestroyStreamForce"));
}

static aclError synchronise(aclrtStream stream, const char *where) {
    int status;
    Stream *found = find_stream(stream, where, status);
    return found ? drain(found) : status;
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    ENTER("aclrtSynchronizeStream");
    return synchronise(stream, "aclrtSynchronizeStream");
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t) {
    ENTER("aclrtSynchronizeStreamWithTimeout");
    return synchronise(stream, "aclrtSynchronizeStreamWithTimeout");
}

aclError aclrtSynchronizeDevice(void) {
    ENTER("aclrtSynchronizeDevice");
    NEEDS_CONTEXT;
    std::set<Stream *> streams;
    for (const Task &task : queue) streams.insert(task.stream);
    int status = 0;
    for (Stream *stream : streams)
        if (int error = drain(stream)) status = error;
    return status;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy) {
    ENTER("aclrtMalloc");
    return allocate("aclrtMalloc", devPtr, size);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy) {
    ENTER("aclrtMallocAlign32");
    return allocate("aclrtMallocAlign32", devPtr, size);
}

aclError aclrtFree(void *devPtr) {
    ENTER_RELEASE("aclrtFree");
    NOT_NULL(devPtr);
    LEAVE_RELEASE(release(devPtr));
}

aclError aclrtMallocHost(void **hostPtr, size_t size) {
    ENTER("aclrtMallocHost");
    NOT_NULL(hostPtr);
    if (!size) return ACL_ERROR_INVALID_PARAM;
    NEEDS_CONTEXT;
    *hostPtr = memset(malloc(size), POISON, size);
    host_memory.insert(*hostPtr);
    return 0;
}

aclError aclrtFreeHost(void *hostPtr) {
    ENTER_RELEASE("aclrtFreeHost");
    NOT_NULL(hostPtr);
    if (!host_memory.erase(hostPtr)) {
        misuse("aclrtFreeHost: %p did not come from aclrtMallocHost, or was freed before", hostPtr);
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    free(hostPtr);
    return call.status;
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
    ENTER("aclrtMemcpy");
    if (!count) return 0;
    int status = check_copy(dst, destMax, src, count, kind, "aclrtMemcpy");
    return status ? status : copy(dst, src, count, kind, "aclrtMemcpy");
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    ENTER("aclrtMemcpyAsync");
    if (!count) return 0;
    if (int status = check_copy(dst, destMax, src, count, kind, "aclrtMemcpyAsync")) return status;
    Task task{"aclrtMemcpyAsync", {}, {}, nullptr};
    if (Block *block = find_block(reinterpret_cast<uintptr_t>(src))) task.reads = {block->address};
    if (Block *block = find_block(reinterpret_cast<uintptr_t>(dst))) task.writes = {block->address};
    task.run = [=] {
        if (int error = copy(dst, src, count, kind, "aclrtMemcpyAsync")) throw Failure{error};
    };
    return enqueue(stream, std::move(task), "aclrtMemcpyAsync");
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
    ENTER("aclrtMemset");
    NOT_NULL(devPtr);
    if (maxCount < count) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemset: maxCount %zu < %zu", maxCount, count);
    NEEDS_CONTEXT;
    End end;
    if (!locate(end, devPtr, count, "aclrtMemset")) return ACL_ERROR_RT_PARAM_INVALID;
    memset(end.bytes, value, std::min(count, end.room));
    return 0;
}

aclError aclrtGetMemInfo(aclrtMemAttr, size_t *free, size_t *total) {
    ENTER("aclrtGetMemInfo");
    NOT_NULL(free && total);
    NEEDS_CONTEXT;
    *total = memory_size();
    *free = *total - used;
    return 0;
}

size_t aclDataTypeSize(aclDataType dataType) {
    static const std::map<int, size_t> sizes = {
        {ACL_FLOAT, 4}, {ACL_FLOAT16, 2}, {ACL_INT8, 1}, {ACL_INT32, 4}, {ACL_UINT8, 1}, {ACL_INT16, 2},
        {ACL_UINT16, 2}, {ACL_UINT32, 4}, {ACL_INT64, 8}, {ACL_UINT64, 8}, {ACL_DOUBLE, 8}, {ACL_BOOL, 1},
        {ACL_COMPLEX64, 8}, {ACL_COMPLEX128, 16}, {ACL_BF16, 2}, {ACL_COMPLEX32, 4}};
    auto found = sizes.find(dataType);
    return found == sizes.end() ? 0 : found->second;
}

// CANN's converters know neither infinity nor NaN.
float aclFloat16ToFloat(aclFloat16 value) {
    bool special = (value & 0x7c00) == 0x7c00;
    return float(special ? (value & 0x8000 ? -1 : 1) * std::ldexp(1024 + (value & 0x3ff), 6) : unpack16(value, 10, 15));
}

aclFloat16 aclFloatToFloat16(float value) {
    if (std::isnan(value)) return 0x7bff;
    aclFloat16 bits = pack16(value, 10, 15);
    return (bits & 0x7c00) == 0x7c00 ? (bits & 0x8000) | 0x7bff : bits;
}

}  // extern "C"
