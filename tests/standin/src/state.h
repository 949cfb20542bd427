// What the runtime (ascendcl.cpp) and the bookkeeping (state.cpp) share inside one library.
#pragma once

#include <sys/types.h>

#include <map>

#include "sim.h"

namespace standin {

int log_call(const char *name);    // counts the call; the status that a fault asks for, or 0
const char *take_message();
extern pid_t owner;                // the process that initialised, 0 before
void watch_exit();                 // the report says at exit what the process left
std::string soc_name();
std::string cann_name();
void cann_version(int parts[3]);
int device_count();
size_t memory_size();
uintptr_t take_device_range(size_t size);
std::map<std::string, size_t> memory_counts();

}  // namespace standin
