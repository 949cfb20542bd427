// The log of CANN's base packages, which keeps silent here.
#pragma once

#ifndef OPS_UTILS_LOG_SUB_MOD_NAME  // of the build
#define OPS_UTILS_LOG_SUB_MOD_NAME ""
#endif
#ifndef OPS_UTILS_LOG_PACKAGE_TYPE
#define OPS_UTILS_LOG_PACKAGE_TYPE ""
#endif
enum { DLOG_DEBUG, DLOG_INFO, DLOG_WARN, DLOG_ERROR, DLOG_EVENT = 16, DLOG_TYPE_DEBUG = 0, TUNE = 33, OP = 63 };
inline int AlogCheckDebugLevel(unsigned, int) { return 0; }
template <class... A>
void AlogRecord(unsigned, unsigned, int, const char *, const A &...) {}
