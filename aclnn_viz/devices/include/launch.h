// How a program starts its own kernel: `name<<<blocks, l2, stream>>>(x, y)` is rewritten to
// `aclnn_viz::launched(name, "name", "x,y", blocks, l2, stream)(x, y)`, in the same line. The call is queued on the stream, as
// work of the emulator; when it runs, this program is started once more for each core, and enters the kernel there.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <tuple>
#include <type_traits>

namespace aclnn_viz {

inline uint64_t tiling_key = 0;  // of the launches that follow
struct Entry {
    const char *name, *parameters, *file;
    int line;
    const void *from, *address, *enter;  // where it is launched, the kernel, and what calls it with arguments out of bytes
};
void launch(const Entry &entry, const std::string &bytes, const int64_t *ends, size_t count, uint32_t blocks, void *stream,
            uint64_t key);

template <class A>
A taken(char *&from) {  // each argument begins at a multiple of 8 bytes
    static_assert(std::is_trivially_copyable_v<A>, "an argument of a kernel is copied byte by byte");
    A value;
    std::memcpy(&value, from, sizeof value);
    from += (sizeof value + 7) / 8 * 8;
    return value;
}

template <class T>
struct Struct {  // given by value or, through ACLRT_LAUNCH_KERNEL, by its address
    T value;
    template <class U>
    Struct(const U &given) : value([&]() -> T {
        if constexpr (std::is_convertible_v<U, const T *>) return *given;
        else return given;
    }()) {}
};
struct Addressed {};  // stands for l2 in what ACLRT_LAUNCH_KERNEL becomes
template <class L2, class T>
using Given = std::conditional_t<std::is_same_v<L2, Addressed> && std::is_class_v<T>, Struct<T>, T>;

template <class L2, class... A>
struct Launch {
    Entry entry;
    uint32_t blocks;
    void *stream;

    static void enter(const void *kernel, char *bytes) {
        std::tuple<std::decay_t<A>...> values{taken<std::decay_t<A>>(bytes)...};  // braces: from left to right
        std::apply(reinterpret_cast<void (*)(A...)>(const_cast<void *>(kernel)), values);
    }
    void operator()(Given<L2, std::decay_t<A>>... values) const {
        std::string bytes;
        int64_t ends[] = {append(bytes, values)..., 0};
        Entry whole = entry;
        whole.enter = reinterpret_cast<const void *>(&enter);
        launch(whole, bytes, ends, sizeof...(A), blocks, stream, tiling_key);
    }
    template <class T>
    static int64_t append(std::string &bytes, const T &value) {
        bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
        bytes.resize((bytes.size() + 7) / 8 * 8);
        return bytes.size();
    }
};

template <class L2 = const void *, class... A>
__attribute__((noinline)) Launch<std::decay_t<L2>, A...> launched(void (*kernel)(A...), const char *name, const char *parameters,
                                                                  uint32_t blocks, const L2 & = {}, void *stream = nullptr,
                                                                  const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {{name, parameters, file, line, __builtin_return_address(0), reinterpret_cast<const void *>(kernel), nullptr},
            blocks, stream};
}

}  // namespace aclnn_viz
