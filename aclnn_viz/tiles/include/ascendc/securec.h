// Copies with a capacity, of the library that CANN's hosts use.
#pragma once

#include <cstring>

using errno_t = int;
constexpr errno_t EOK = 0;
inline errno_t memset_s(void *to, size_t capacity, int value, size_t count) {
    return count <= capacity ? (std::memset(to, value, count), EOK) : 34;
}
inline errno_t memcpy_s(void *to, size_t capacity, const void *from, size_t count) {
    return count <= capacity ? (std::memcpy(to, from, count), EOK) : 34;
}
