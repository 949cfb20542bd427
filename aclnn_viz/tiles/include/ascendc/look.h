// Printing, dumps and assertions in a kernel.
#pragma once

#include "advanced.h"

#include <cstdlib>

#undef assert  // with a text and its numbers, as on the device
#define assert(condition, ...) ((condition) ? void() : __assert_fail(#condition, __FILE__, __LINE__, __func__))
#define ASCENDC_ASSERT(condition, ...) assert(condition)
#define ASSERT_MSG(condition, ...) assert(condition)
#define ascendc_assert(condition, ...) assert(condition)
#ifndef ASSERT
// It begins with a plus, because on the device ASSERT is empty and kernels write "n = count ASSERT(n);" as well.
#define ASSERT(...) +AscendC::asserted(bool(__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#endif

namespace AscendC {

inline int asserted(bool holds, const char *text, const char *file, int line) {
    if (!holds) std::fprintf(stderr, "%s:%d: ASSERT(%s) does not hold\n", file, line, text), std::abort();
    return 0;
}
using ::printf;
template <class... A>
void PRINTF(const char *text, A... values) { std::printf(text, values...); }
template <template <class> class Tensor, class T>
void DumpTensor(const Tensor<T> &tensor, uint32_t desc, uint32_t count, AT) {
    std::printf("DumpTensor %u, line %d:", desc, at.line);
    for (uint32_t i = 0; i < count; ++i) std::printf(" %g", double(tensor.GetValue(i, at)));
    std::printf("\n");
}
template <template <class> class Tensor, class T>
void DumpTensor(const Tensor<T> &tensor, uint32_t desc, uint32_t count, const ShapeInfo &, AT) { DumpTensor(tensor, desc, count, at); }
template <template <class> class Tensor, class T>
void DumpAccChkPoint(const Tensor<T> &tensor, uint32_t index, uint32_t offset, uint32_t count, AT) {
    DumpTensor(tensor[offset], index, count, at);
}
inline void PrintTimeStamp(uint32_t) {}
inline void Trap() { __builtin_trap(); }
inline void absent(const char *name, const char *what, Place at) { call("Absent", at, Text{name}, Text{what}); }

}  // namespace AscendC
using AscendC::PRINTF;
