// Marks and types of Ascend C, and how a call reaches the machine.
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <algorithm>
#include <tuple>
#include <type_traits>
#include <vector>

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __vector__
#define __cube__
#define __simd_callee__
#define __mix__(...)
#define __sync_alias__
#define __sync_noalias__
#define __inline__ inline
#ifndef GM_ADDR
#define GM_ADDR uint8_t *
#endif
#define K_MAX_SHAPE_DIM 8
#ifdef DT_FLOAT  // a project's types are macros
#define DT_INT4 29
#endif

// The architecture of Atlas A2 and A3, for sources that ask.
#define __NPU_ARCH__ 2201
#define __CCE_AICORE__ 220
#define __DAV_C220_VEC__ 1
enum { AIC, AIV };
constexpr int g_coreType = AIV;
#define ASCEND_IS_AIV constexpr(true)  // as in: if ASCEND_IS_AIV {...}
#define ASCEND_IS_AIC constexpr(false)
enum { KERNEL_TYPE_AIV_ONLY, KERNEL_TYPE_AIC_ONLY, KERNEL_TYPE_MIX_AIV_1_0, KERNEL_TYPE_MIX_AIC_1_0, KERNEL_TYPE_MIX_AIC_1_1,
       KERNEL_TYPE_MIX_AIC_1_2, KERNEL_TYPE_AICORE, KERNEL_TYPE_VECTORCORE, KERNEL_TYPE_MIX_AICORE, KERNEL_TYPE_MIX_VECTOR_CORE };
#define KERNEL_TASK_TYPE_DEFAULT(type)
#define KERNEL_TASK_TYPE(key, type)

#if defined(__clang__) ? __clang_major__ < 15 : __GNUC__ < 12
#error "half needs g++ 12, clang 15 or a newer compiler"
#endif
using half = _Float16;
using float16_t = half;
using float32_t = float;
#ifndef __clang__
using __fp16 = half;
#endif

struct bfloat16_t {
    uint16_t bits = 0;
    bfloat16_t() = default;
    bfloat16_t(float value) {  // rounded to nearest, ties to even
        uint32_t wide;
        std::memcpy(&wide, &value, 4);
        bits = value != value ? 0x7FC0 : (wide + 0x7FFF + (wide >> 16 & 1)) >> 16;
    }
    operator float() const {
        uint32_t wide = uint32_t(bits) << 16;
        float value;
        std::memcpy(&value, &wide, 4);
        return value;
    }
};

inline bool likely(bool condition) { return condition; }
inline bool unlikely(bool condition) { return condition; }
// Scalars of different types, as the device compares them.
template <class A, class B>
constexpr std::common_type_t<A, B> min(A a, B b) { return b < a ? b : a; }
template <class A, class B>
constexpr std::common_type_t<A, B> max(A a, B b) { return a < b ? b : a; }

namespace AscendC {

using ::bfloat16_t;
using ::float16_t;
using ::float32_t;
struct complex64 {
    float real, imag;
};
constexpr float PI = 3.14159265f;
struct int4b_t {  // two in a byte; no tensor of them is offered
    uint8_t bits;
};

// Where a call stands in the person's file. AT is the last parameter of each function below: its default is evaluated at the call.
struct Place {  // no aggregate: the braces of a source are never a place
    const char *file;
    int line;
    constexpr Place(const char *file, int line) : file(file), line(line) {}
    static constexpr Place here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};
#define AT Place at = Place::here()

inline Place latest{"", 0};  // of the last call
// Writes one call down for the machine, which executes the calls in their order, but later. Only `ask` waits until all are done:
// for a number, or because the kernel may read global memory itself from there on. Defined in start.h.
class Arguments;
int64_t send(char kind, const char *name, Place at, const Arguments &arguments);

namespace Std = ::std;  // traits of types, tuples
template <bool condition, class T, class F>
using Conditional = std::conditional<condition, T, F>;
template <class T, class U>
using IsSameType = std::is_same<T, U>;
constexpr uint32_t ONE_BLK_SIZE = 32, ONE_REPEAT_BYTE_SIZE = 256, DEFAULT_C0_SIZE = 32, MAX_REPEAT_TIMES = 255, DEFAULT_BLK_NUM = 8,
                   DEFAULT_BLK_STRIDE = 1, DEFAULT_REPEAT_STRIDE = 8, TOTAL_VEC_LOCAL_SIZE = 184 * 1024, TOTAL_UB_SIZE = 192 * 1024,
                   B16_BYTE_SIZE = 2, B32_BYTE_SIZE = 4, B64_BYTE_SIZE = 8, B16_DATA_NUM_PER_BLOCK = 16, B32_DATA_NUM_PER_BLOCK = 8,
                   B64_DATA_NUM_PER_BLOCK = 4, B16_DATA_NUM_PER_REPEAT = 128, B32_DATA_NUM_PER_REPEAT = 64, ONE_REPEAT_FLOAT_SIZE = 64,
                   ONE_REPEAT_HALF_SIZE = 128, ONE_BLK_FLOAT_NUM = 8, ONE_BLK_HALF_NUM = 16, BRCB_BROADCAST_NUMBER = 8;
constexpr uint64_t FULL_MASK = ~0ull;

template <class T>
constexpr int format() {
    if constexpr (std::is_same_v<T, half>) return 8;
    else if constexpr (std::is_same_v<T, bfloat16_t>) return 9;
    else if constexpr (std::is_same_v<T, float>) return 10;
    else {
        static_assert(std::is_integral_v<T>, "a tensor holds half, bfloat16_t, float or whole numbers of 8 to 64 bits");
        return (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 6) + std::is_unsigned_v<T>;
    }
}

// The arguments of a call: letters, which are the same each time that a line calls, and 8 bytes a number.
class Arguments {
public:
    char letters[512], numbers[512];
    int length = 0, size = 0;

    template <class... C>
    void letter(C... each) { ((letters[length++] = char(each)), ...); }
    void number(int64_t value) { std::memcpy(numbers + size, &value, 8), size += 8; }
    void real(double value) { std::memcpy(numbers + size, &value, 8), size += 8; }
    template <class... Field>
    void fields(int kind, Field... values) { letter('p', '0' + kind, '0' + sizeof...(values)), (real(double(values)), ...); }

    template <class T>
    void put(const T &value) {
        if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>) letter('f'), real(float(value));
        else if constexpr (std::is_floating_point_v<T>) letter('f'), real(value);
        else if constexpr (std::is_integral_v<T>) letter('i'), number(int64_t(value));
        else value.into(*this);
    }
};

template <int kind, class E>
struct Choice {  // one of an enumeration; `kind` is its place in the machine's list of them
    E value;
    void into(Arguments &to) const { to.letter('e', '0' + kind, '0' + int(value)); }
};
template <class T>
struct Format {
    void into(Arguments &to) const { to.letter('t', '0' + format<T>()); }
};
struct Mask {  // bit by bit
    uint64_t low, high;
    void into(Arguments &to) const { to.letter('m'), to.number(int64_t(low)), to.number(int64_t(high)); }
};
struct Handle {
    int64_t number;
    void into(Arguments &to) const { to.letter('h'), to.number(number); }
};
struct Text {
    const char *letters;
    void into(Arguments &to) const {
        to.letter('s');
        for (const char *each = letters; *each; ++each) to.letter(*each);
        to.letter('\n');
    }
};
struct Nothing {
    void into(Arguments &to) const { to.letter('n'); }
};

template <class... A>
void call(const char *name, Place at, const A &...arguments) {
    Arguments all;
    (all.put(arguments), ...), send('c', name, latest = at, all);
}
template <class... A>
int64_t make(const char *name, Place at, const A &...arguments) {  // the number of the pipe, queue, buffer or tensor that it makes
    Arguments all;
    return (all.put(arguments), ...), send('m', name, at, all);
}
template <class... A>
int64_t ask(const char *name, Place at, const A &...arguments) {  // an int64_t, or the bytes of a double
    Arguments all;
    return (all.put(arguments), ...), send('a', name, at, all);
}
inline void all_done() { send('w', "", {"", 0}, {}); }
inline void absent(const char *name, const char *what, Place at);

template <class T>
T number_of(int64_t answer) {  // GetValue answers with the bits of a double for floating formats
    if constexpr (std::is_integral_v<T>) return T(answer);
    double value;
    std::memcpy(&value, &answer, 8);
    return T(float(value));
}

// Enumerations, those of the machine first and in its order; what follows are names of other parts of a core.
enum class HardEvent {
    S_V, S_MTE2, S_MTE3, V_S, V_V, V_MTE2, V_MTE3, MTE2_S, MTE2_V, MTE2_MTE3, MTE3_S, MTE3_V, MTE3_MTE2,
    MTE2_MTE1, MTE1_MTE2, MTE1_M, M_MTE1, M_FIX, FIX_M, MTE2_MTE2, MTE3_MTE3, MTE1_FIX, FIX_MTE1
};
enum class TPosition { VECIN, VECCALC, VECOUT, GM, A1, A2, B1, B2, C1, C2, CO1, CO2, LCM, SPM, SHM, TSCM };
using QuePosition = TPosition;
enum class RoundMode { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class CacheLine { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class DcciDst { CACHELINE_ALL, CACHELINE_UB, CACHELINE_OUT, CACHELINE_ATOMIC };
enum class CacheMode { CACHE_MODE_DISABLE, CACHE_MODE_NORMAL };
enum class CacheRwMode { READ = 1, WRITE = 2, RW = 3 };
enum class Hardware { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF };
enum class MaskMode { NORMAL, COUNTER };
enum class ReduceOrder { ORDER_VALUE_INDEX, ORDER_INDEX_VALUE, ORDER_ONLY_VALUE, ORDER_ONLY_INDEX };
enum class MemDsbT { ALL, DDR, UB, SEQ };
using TEventID = int32_t;
using event_t = int32_t;

}  // namespace AscendC

using AscendC::event_t;
using AscendC::TEventID;

enum pipe_t { PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3, PIPE_ALL, PIPE_MTE1, PIPE_M, PIPE_FIX };
constexpr AscendC::TEventID EVENT_ID0 = 0, EVENT_ID1 = 1, EVENT_ID2 = 2, EVENT_ID3 = 3, EVENT_ID4 = 4, EVENT_ID5 = 5, EVENT_ID6 = 6,
                            EVENT_ID7 = 7;
