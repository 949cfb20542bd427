// Initialisation, devices, contexts, streams, run-time options.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <list>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "state.h"

namespace standin {

struct Stream {
    std::shared_ptr<struct Context> context;  // null in a context's default stream
    int error = 0;                            // a task failed: nothing runs here any more
};

struct Context {
    int device;
    void *handle = nullptr;
    bool alive = true;
    std::map<int, int64_t> options = {};
    std::map<std::thread::id, int> sets = {};  // aclrtSetDevice, by thread; only of the device's own context
    Stream stream = {};                        // the default stream, meant by the null pointer
};

static uint64_t initialised = 0;
static bool finalised = false;
static std::string configuration;
static std::map<int, std::shared_ptr<Context>> devices;  // each with its own context, while it is set
static thread_local std::shared_ptr<Context> current;
static std::map<void *, std::shared_ptr<Stream>> streams;
static std::map<int, int64_t> process_options;
static std::list<Task> queue;            // of all streams, in the order of launch
static const Task *running = nullptr;

static Context *context() { return current && current->alive ? current.get() : nullptr; }

int ready(const char *where) {
    if (!initialised) return fail(ACL_ERROR_UNINITIALIZE, "%s: aclInit comes first", where);
    return context() ? 0 : fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: this thread has no context", where);
}

int current_device() { return context()->device; }

// ---- work

const Task *queued(uintptr_t block, bool reads, bool writes) {
    auto has = [&](const std::vector<uintptr_t> &list) { return std::count(list.begin(), list.end(), block) > 0; };
    for (const Task &task : queue)
        if (&task != running && ((reads && has(task.reads)) || (writes && has(task.writes)))) return &task;
    return nullptr;
}

static Stream *find_stream(aclrtStream stream, const char *where, int &status) {
    if ((status = ready(where))) return nullptr;
    if (!stream) return &context()->stream;
    auto found = std::static_pointer_cast<Stream>(find_handle(stream, STREAM, where));
    if (!found) status = fail(ACL_ERROR_RT_INVALID_HANDLE, "%s: this is no stream", where);
    else if (found->context != current) status = fail(ACL_ERROR_RT_STREAM_CONTEXT, "%s: another context's", where);
    return status ? nullptr : found.get();
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

static void drop(const Stream *stream, const char *where) {
    for (auto task = queue.begin(); task != queue.end();) {
        if (task->stream == stream && where && !stream->error)
            misuse("%s: %s is still queued; synchronise before", where, task->name.c_str());
        task = task->stream == stream ? queue.erase(task) : std::next(task);
    }
}

static aclError end_stream(aclrtStream stream, bool force, const char *where) {
    if (!stream) return fail(ACL_ERROR_INVALID_PARAM, "%s: stream is null", where);
    int status;
    Stream *found = find_stream(stream, where, status);
    if (status) return status;
    bool pending = std::any_of(queue.begin(), queue.end(), [&](const Task &task) { return task.stream == found; });
    if (pending && !force && !found->error) {
        misuse("%s: work is still queued; synchronise before", where);
        drain(found);
    }
    drop(found, nullptr);
    end_handle(stream);
    streams.erase(stream);
    return 0;
}

// ---- devices and contexts

static std::shared_ptr<Context> new_context(int device, bool own) {
    auto made = std::make_shared<Context>(Context{device});
    made->handle = new_handle(CONTEXT, made, !own);
    return made;
}

static void end_context(const std::shared_ptr<Context> &context, const char *where) {
    drop(&context->stream, where);
    for (auto stream = streams.begin(); stream != streams.end();) {
        if (stream->second->context != context) {
            ++stream;
            continue;
        }
        drop(stream->second.get(), where);
        misuse("%s: a stream was not destroyed", where);
        end_handle(stream->first);
        stream = streams.erase(stream);
    }
    context->alive = false;
    end_handle(context->handle);
}

static void end_device(int device, const char *where) {
    end_context(devices[device], where);
    devices.erase(device);
    end_memory(device, where);
}

static void end_process(const char *where) {
    while (!devices.empty()) end_device(devices.begin()->first, where);
    end_host_memory(where);
    end_descriptors(where);
    initialised = 0;
    finalised = true;
}

static int check_device(int device, const char *where) {
    if (!initialised) return fail(ACL_ERROR_UNINITIALIZE, "%s: aclInit comes first", where);
    if (device >= 0 && device < device_count()) return 0;
    return fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: there is no device %d", where, device);
}

static aclError reset_device(int device, bool force, const char *where) {
    if (int status = check_device(device, where)) return status;
    auto found = devices.find(device);
    if (found == devices.end() || (!force && !found->second->sets[std::this_thread::get_id()]))
        return force ? 0 : fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: this thread did not set the device", where);
    auto &sets = found->second->sets;
    if (!force && --sets[std::this_thread::get_id()] == 0) current = nullptr;
    bool used = std::any_of(sets.begin(), sets.end(), [](auto &item) { return item.second > 0; });
    if (force || !used) end_device(device, where);
    return 0;
}

static std::shared_ptr<Context> find_context(aclrtContext context, const char *where, int &status) {
    if (!context) return status = fail(ACL_ERROR_INVALID_PARAM, "%s: context is null", where), nullptr;
    auto found = std::static_pointer_cast<Context>(find_handle(context, CONTEXT, where));
    status = found ? 0 : fail(ACL_ERROR_RT_CONTEXT_NULL, "%s: this is no context", where);
    return found;
}

static bool valid_option(int option, int last) { return option >= ACL_OPT_DETERMINISTIC && option <= last; }

}  // namespace standin

using namespace standin;

extern "C" {

aclError aclInit(const char *configPath) {
    ENTER("aclInit");
    std::stringstream config;
    if (configPath) {
        std::ifstream file(configPath);
        if (!file) return fail(ACL_ERROR_INVALID_FILE, "aclInit: cannot read %s", configPath);
        config << file.rdbuf();
    }
    if (initialised) return ++initialised, ACL_ERROR_REPEAT_INITIALIZE;
    if (owner && config.str() != configuration)
        return fail(ACL_ERROR_INVALID_PARAM, "aclInit: the configuration differs from the first one");
    configuration = config.str();
    if (!owner) watch_exit();
    owner = getpid();
    finalised = false;
    initialised = 1;
    return 0;
}

aclError aclFinalize() {
    ENTER_RELEASE("aclFinalize");
    if (finalised) return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: already finalised");
    end_process("aclFinalize");
    return call.status;
}

#ifdef STANDIN_SPLIT
aclError aclFinalizeReference(uint64_t *refCount) {
    ENTER_RELEASE("aclFinalizeReference");
    if (!initialised) return fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalizeReference: not initialised");
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
    *majorVersion = 1, *minorVersion = 15, *patchVersion = 0;  // of the interface, which CANN counts apart from itself
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
    if (cannAttr < ACL_CANN_ATTR_INF_NAN || cannAttr > ACL_CANN_ATTR_JIT_COMPILE)
        return fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttribute: no attribute %d", cannAttr);
    bool modern = product() == A2 || product() == A3 || product() == P950;
    *value = cannAttr == ACL_CANN_ATTR_JIT_COMPILE ? !modern : modern;
    return 0;
}

aclError aclrtSetDevice(int32_t deviceId) {
    ENTER("aclrtSetDevice");
    if (int status = check_device(deviceId, "aclrtSetDevice")) return status;
    auto &context = devices[deviceId];
    if (!context) context = new_context(deviceId, true);
    context->sets[std::this_thread::get_id()]++;
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
    NEEDS_CONTEXT("aclrtGetDevice");
    *deviceId = context()->device;
    return 0;
}

aclError aclrtGetDeviceCount(uint32_t *count) {
    ENTER("aclrtGetDeviceCount");
    NOT_NULL(count);
    if (!initialised) return fail(ACL_ERROR_UNINITIALIZE, "aclrtGetDeviceCount: aclInit comes first");
    *count = device_count();
    return 0;
}

aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
    ENTER("aclrtCreateContext");
    NOT_NULL(context);
    if (int status = check_device(deviceId, "aclrtCreateContext")) return status;
    current = new_context(deviceId, false);
    *context = current->handle;
    return 0;
}

aclError aclrtDestroyContext(aclrtContext context) {
    ENTER_RELEASE("aclrtDestroyContext");
    int status;
    auto found = find_context(context, "aclrtDestroyContext", status);
    if (status) return status;
    for (const auto &[device, own] : devices)
        if (own == found) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtDestroyContext: this is the device's own");
    end_context(found, "aclrtDestroyContext");
    return call.status;
}

aclError aclrtSetCurrentContext(aclrtContext context) {
    ENTER("aclrtSetCurrentContext");
    int status;
    auto found = find_context(context, "aclrtSetCurrentContext", status);
    if (!status) current = found;
    return status;
}

aclError aclrtGetCurrentContext(aclrtContext *context) {
    ENTER("aclrtGetCurrentContext");
    NOT_NULL(context);
    NEEDS_CONTEXT("aclrtGetCurrentContext");
    *context = current->handle;
    return 0;
}

// The process and each context keep run-time options apart; only those of the process are checked.

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    ENTER("aclrtCtxSetSysParamOpt");
    NEEDS_CONTEXT("aclrtCtxSetSysParamOpt");
    if (!valid_option(opt, 2)) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCtxSetSysParamOpt: no option %d", opt);
    context()->options[opt] = value;
    return 0;
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    ENTER("aclrtCtxGetSysParamOpt");
    NOT_NULL(value);
    NEEDS_CONTEXT("aclrtCtxGetSysParamOpt");
    if (!valid_option(opt, 2)) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCtxGetSysParamOpt: no option %d", opt);
    if (!context()->options.count(opt))
        return fail(ACL_ERROR_RT_SYSPARAMOPT_NOT_SET, "aclrtCtxGetSysParamOpt: option %d was never set", opt);
    *value = context()->options[opt];
    return 0;
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    ENTER("aclrtSetSysParamOpt");
    if (!valid_option(opt, 3) || value < 0 || value >= (opt == ACL_OPT_DETERMINISTIC ? 4 : 2))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSetSysParamOpt: option %d cannot be %ld", opt, long(value));
    process_options[opt] = value;
    return 0;
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    ENTER("aclrtGetSysParamOpt");
    NOT_NULL(value);
    if (!valid_option(opt, 3)) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetSysParamOpt: no option %d", opt);
    *value = process_options[opt];
    return 0;
}

aclError aclrtCreateStream(aclrtStream *stream) {
    ENTER("aclrtCreateStream");
    NOT_NULL(stream);
    NEEDS_CONTEXT("aclrtCreateStream");
    auto made = std::make_shared<Stream>(Stream{current});
    *stream = new_handle(STREAM, made);
    streams[*stream] = made;
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

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout) {
    ENTER("aclrtSynchronizeStreamWithTimeout");
    if (timeout < -1) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtSynchronizeStreamWithTimeout: timeout %d", timeout);
    return synchronise(stream, "aclrtSynchronizeStreamWithTimeout");
}

aclError aclrtSynchronizeDevice(void) {
    ENTER("aclrtSynchronizeDevice");
    NEEDS_CONTEXT("aclrtSynchronizeDevice");
    std::set<Stream *> waiting;
    for (const Task &task : queue) waiting.insert(task.stream);
    int status = 0;
    for (Stream *stream : waiting)
        if (int error = drain(stream)) status = error;
    return status;
}

}  // extern "C"
