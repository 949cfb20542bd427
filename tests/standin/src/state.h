// What the parts of the runtime share: runtime.cpp, memory.cpp and state.cpp make one library.
#pragma once

#include <sys/types.h>

#include <map>

#include "sim.h"

namespace standin {

// ---- state.cpp
int log_call(const char *name);  // counts the call; the status that a fault asks for, or 0
const char *take_message();
extern pid_t owner;              // the process that initialised, 0 before
void watch_exit();               // the report says at exit what the process left
void end_descriptors(const char *where);
std::string soc_name();
std::string cann_name();
int device_count();
size_t memory_size();
uintptr_t take_device_range(size_t size);

// ---- runtime.cpp
int ready(const char *where);    // 0 when the process is initialised and the thread has a context
int current_device();
const Task *queued(uintptr_t block, bool reads, bool writes);  // a waiting task that uses the block

// ---- memory.cpp
std::map<std::string, size_t> memory_counts();
void end_memory(int device, const char *where);
void end_host_memory(const char *where);

}  // namespace standin

// A call that releases does so even when it is made to fail: nobody could release a second time.
#define ENTER_RELEASE(name) \
    standin::Call call(name); \
    if (call.refused) return call.status
#define LEAVE_RELEASE(result) \
    { \
        aclError status_ = (result); \
        return call.status ? call.status : status_; \
    }
#define NOT_NULL(condition) \
    if (!(condition)) return standin::fail(ACL_ERROR_INVALID_PARAM, "%s: " #condition " is null", __func__)
#define NEEDS_CONTEXT(where) \
    if (int status_ = standin::ready(where)) return status_
