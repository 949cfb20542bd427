// What a test may ask of the stand-in. A library that exports standin_version is not CANN.
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *standin_version(void);            // "stand-in for CANN 9.1.0, no device"
size_t standin_misuse_count(void);            // misuse that the real libraries may not notice
const char *standin_misuse_text(size_t k);    // null beyond the last
size_t standin_live_objects(void);            // device and host memory, streams, contexts, tensors, arrays, executors
const char *standin_live_text(void);          // "2 device memory, 1 stream"; valid until the next call
size_t standin_calls(void);                   // calls so far; a task that starts counts as "task@<operator>"
const char *standin_call(size_t k);           // the name of the k-th call, from 0
void standin_fail(const char *faults);        // as STANDIN_FAIL, from now on: "aclrtMalloc:3:207001,task@aclnnX:0:507015"
void standin_reset(void);                     // forget misuse, calls and faults

#ifdef __cplusplus
}
#endif
#endif
