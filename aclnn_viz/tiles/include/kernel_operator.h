// The names of Ascend C's basic interface for vector cores, for kernels that run on the tile machine of aclnn-viz.
//
// A file that includes this header is compiled for the laptop. Each call below is sent to the machine, with the file and the
// line from which it was made, and the machine does it: it holds the Unified Buffer, the queues and the pipes, and finds the
// hazards. Nothing is computed here, and nothing here is the vendor's code: names, arguments and defaults are those of the
// public documents (asc-devkit, docs/zh/api/SIMD-API).
//
// Global memory is real memory, so pointer arithmetic on kernel arguments works. The Unified Buffer is the machine's, so
// there is no pointer into it (LocalTensor::GetPhyAddr). Parts of Ascend C that are missing are those of the matrix unit and
// of registers (Mmad, LoadData, Fixpipe, LoadAlign, StoreAlign).
#pragma once

#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

#define __aicore__
#define __global__
#define __gm__
#define __ubuf__
#define __vector__
#define __inline__ inline
#define GM_ADDR uint8_t *
#define KERNEL_TASK_TYPE_DEFAULT(type)
#define KERNEL_TASK_TYPE(key, type)
#define ASCENDC_ASSERT(condition, ...) assert(condition)
#define ascendc_assert(condition, ...) assert(condition)
#ifndef ASSERT
#define ASSERT(condition) assert(condition)
#endif

using half = _Float16;

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

namespace AscendC {

// ---- How a call reaches the machine ------------------------------------------------------------------------------------

struct Place {
    const char *file;
    int line;
    static constexpr Place here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) { return {file, line}; }
};
#define AT Place at = Place::here()

// Sends one call and waits for its answer: bytes of an int64_t or a double. Defined in start.h.
int64_t send(const char *name, Place at, const char *arguments, int length);

template <class T>
constexpr int format() {
    if constexpr (std::is_same_v<T, half>) return 8;
    else if constexpr (std::is_same_v<T, bfloat16_t>) return 9;
    else if constexpr (std::is_same_v<T, float>) return 10;
    else {
        static_assert(std::is_integral_v<T>, "a tensor holds numbers");
        return (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 6) + std::is_unsigned_v<T>;
    }
}

// The arguments of a call, each a letter and 8 bytes a number.
class Arguments {
public:
    char bytes[640];
    int length = 0;

    void number(int64_t value) { std::memcpy(bytes + length, &value, 8), length += 8; }
    void letter(char kind) { bytes[length++] = kind; }
    void whole(char kind, int64_t value) { letter(kind), number(value); }
    void real(double value) { letter('f'), std::memcpy(bytes + length, &value, 8), length += 8; }
    template <class... N>
    void fields(int64_t kind, N... values) {
        letter('p'), number(kind), number(sizeof...(values));
        double each[] = {double(values)...};
        std::memcpy(bytes + length, each, sizeof each), length += sizeof each;
    }

    template <class T>
    void put(const T &value) {
        if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>) real(float(value));
        else if constexpr (std::is_floating_point_v<T>) real(value);
        else if constexpr (std::is_integral_v<T>) whole('i', value);
        else value.into(*this);
    }
};

template <int kind, class E>
struct Choice {  // one of an enumeration; `kind` is its place in the machine's list of them
    E value;
    void into(Arguments &to) const { to.letter('e'), to.number(kind), to.number(int64_t(value)); }
};
template <class T>
struct Format {
    void into(Arguments &to) const { to.whole('t', format<T>()); }
};
struct Mask {  // bit by bit
    const uint64_t *bits;
    void into(Arguments &to) const { to.letter('m'), to.number(bits[0]), to.number(bits[1]); }
};
struct Handle {
    int64_t number;
    void into(Arguments &to) const { to.whole('h', number); }
};

template <class... A>
int64_t call(const char *name, Place at, const A &...arguments) {
    Arguments all;
    (all.put(arguments), ...);
    return send(name, at, all.bytes, all.length);
}

template <class T>
T number_of(int64_t answer) {  // GetValue answers with the bits of a double for floating formats
    if constexpr (std::is_integral_v<T>) return T(answer);
    double value;
    std::memcpy(&value, &answer, 8);
    return T(float(value));
}

// ---- Enumerations, in the machine's order -------------------------------------------------------------------------------

enum class HardEvent { S_V, S_MTE2, S_MTE3, V_S, V_V, V_MTE2, V_MTE3, MTE2_S, MTE2_V, MTE2_MTE3, MTE3_S, MTE3_V, MTE3_MTE2 };
enum class TPosition { VECIN, VECCALC, VECOUT };
using QuePosition = TPosition;
enum class RoundMode { CAST_NONE, CAST_RINT, CAST_FLOOR, CAST_CEIL, CAST_ROUND, CAST_TRUNC, CAST_ODD };
enum class CMPMODE { LT, GT, EQ, LE, GE, NE };
enum class SELMODE { VSEL_CMPMASK_SPR, VSEL_TENSOR_SCALAR_MODE, VSEL_TENSOR_TENSOR_MODE };
enum class CacheLine { SINGLE_CACHE_LINE, ENTIRE_DATA_CACHE };
enum class Hardware { UB };
using TEventID = int32_t;
using event_t = int32_t;

}  // namespace AscendC

enum pipe_t { PIPE_S, PIPE_V, PIPE_MTE2, PIPE_MTE3, PIPE_ALL };
constexpr AscendC::TEventID EVENT_ID0 = 0, EVENT_ID1 = 1, EVENT_ID2 = 2, EVENT_ID3 = 3, EVENT_ID4 = 4, EVENT_ID5 = 5, EVENT_ID6 = 6,
                            EVENT_ID7 = 7;

namespace AscendC {

// ---- Tensors ------------------------------------------------------------------------------------------------------------

template <class T>
class LocalTensor {
public:
    using PrimType = T;
    int64_t handle = -1, offset = 0;  // of what AllocTensor, DeQue or Get gave; bytes from its start on

    LocalTensor() = default;
    LocalTensor(int64_t handle, int64_t offset = 0) : handle(handle), offset(offset) {}
    LocalTensor(TPosition, uint32_t address, uint32_t elements, AT) : handle(call("static", at, Format<T>(), address, elements)) {}
    LocalTensor operator[](uint32_t elements) const { return {handle, offset + int64_t(elements) * int64_t(sizeof(T))}; }
    template <class U>
    LocalTensor<U> ReinterpretCast() const { return {handle, offset}; }
    uint32_t GetSize(AT) const { return call("LocalTensor.GetSize", at, *this); }
    uint32_t GetLength(AT) const { return GetSize(at) * sizeof(T); }
    T GetValue(uint32_t index, AT) const { return number_of<T>(call("LocalTensor.GetValue", at, *this, index)); }
    template <class U>
    void SetValue(uint32_t index, U value, AT) const { call("LocalTensor.SetValue", at, *this, index, T(value)); }
    template <class U = T>
    U *GetPhyAddr(uint32_t = 0) const {
        static_assert(sizeof(U) == 0, "GetPhyAddr: the Unified Buffer is the machine's; use GetValue, SetValue or vector calls");
        return nullptr;
    }
    void into(Arguments &to) const { to.letter('l'), to.number(handle), to.number(format<T>()), to.number(offset); }
};

template <class T>
class GlobalTensor {
public:
    using PrimType = T;
    T *address = nullptr;
    int64_t size = -1;  // elements; for checks alone

    void SetGlobalBuffer(T *buffer, uint64_t elements) { address = buffer, size = elements; }
    void SetGlobalBuffer(T *buffer) { address = buffer, size = -1; }
    GlobalTensor operator[](uint64_t elements) const {
        GlobalTensor part;
        part.address = address + elements;
        part.size = size < 0 ? -1 : size - int64_t(elements);
        return part;
    }
    T *GetPhyAddr(uint64_t elements = 0) const { return address + elements; }
    uint64_t GetSize() const { return size; }
    T GetValue(uint64_t index, AT) const { return number_of<T>(call("GlobalTensor.GetValue", at, *this, index)); }
    template <class U>
    void SetValue(uint64_t index, U value, AT) const { call("GlobalTensor.SetValue", at, *this, index, T(value)); }
    template <class... A>
    void SetL2CacheHint(A...) {}  // about time, which is not modelled here
    void into(Arguments &to) const {
        to.letter('g'), to.number(int64_t(address)), to.number(format<T>()), to.number(address == nullptr ? -1 : size);
    }
};

// ---- Queues and buffers -------------------------------------------------------------------------------------------------

class Queue {
public:
    TPosition from, to;  // what fills a block, and what empties it
    int depth;
    int64_t handle = -1;
    Queue(TPosition from, TPosition to, int depth) : from(from), to(to), depth(depth) {}
    Handle made(Place at) {
        if (handle < 0) handle = call("TQueBind", at, Choice<1, TPosition>{from}, Choice<1, TPosition>{to}, depth);
        return {handle};
    }
    template <class T>
    LocalTensor<T> AllocTensor(AT) { return {call("TQue.AllocTensor", at, made(at), Format<T>())}; }
    template <class T>
    void AllocTensor(LocalTensor<T> &tensor, AT) { tensor = AllocTensor<T>(at); }
    template <class T>
    bool EnQue(const LocalTensor<T> &tensor, AT) { return call("TQue.EnQue", at, made(at), tensor), true; }
    template <class T>
    LocalTensor<T> DeQue(AT) { return {call("TQue.DeQue", at, made(at), Format<T>())}; }
    template <class T>
    void DeQue(LocalTensor<T> &tensor, AT) {
        if (depth == 0) call("TQue.DeQue", at, made(at), tensor);
        else tensor = DeQue<T>(at);
    }
    template <class T>
    void FreeTensor(const LocalTensor<T> &tensor, AT) { call("TQue.FreeTensor", at, made(at), tensor); }
    void FreeAllEvent(AT) { call("TQue.FreeAllEvent", at, made(at)); }
};
template <TPosition src, TPosition dst, int length = 1>
class TQueBind : public Queue {
public:
    TQueBind() : Queue(src, dst, length) {}
};
template <TPosition position, int length = 1>
class TQue : public Queue {
public:
    TQue() : Queue(position, position, length) {}
};

template <TPosition position = TPosition::VECCALC>
class TBuf {
public:
    int64_t handle = -1;
    Handle made(Place at) {
        if (handle < 0) handle = call("TBuf", at, Choice<1, TPosition>{position});
        return {handle};
    }
    template <class T>
    LocalTensor<T> Get(AT) { return {call("TBuf.Get", at, made(at), Format<T>())}; }
    template <class T>
    LocalTensor<T> Get(uint32_t size, AT) { return {call("TBuf.GetWithOffset", at, made(at), Format<T>(), size, 0)}; }
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bytes, AT) {
        return {call("TBuf.GetWithOffset", at, made(at), Format<T>(), size, bytes)};
    }
};

class TPipe {
public:
    inline static TPipe *newest = nullptr;
    int64_t handle;
    TPipe(AT) : handle(call("TPipe", at)) { newest = this; }
    bool InitBuffer(Queue &queue, uint8_t num, uint32_t length, AT) {
        return call("TPipe.InitBuffer", at, Handle{handle}, queue.made(at), num, length), true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint32_t length, AT) {
        return call("TPipe.InitBuffer", at, Handle{handle}, buffer.made(at), length), true;
    }
    template <HardEvent event>
    TEventID AllocEventID(AT) { return call("TPipe.AllocEventID", at, Handle{handle}, Choice<0, HardEvent>{event}); }
    template <HardEvent event>
    void ReleaseEventID(TEventID id, AT) { call("TPipe.ReleaseEventID", at, Handle{handle}, Choice<0, HardEvent>{event}, id); }
    template <HardEvent event>
    TEventID FetchEventID(AT) { return FetchEventID(event, at); }
    TEventID FetchEventID(HardEvent event, AT) { return call("TPipe.FetchEventID", at, Handle{handle}, Choice<0, HardEvent>{event}); }
};
inline TPipe *GetTPipePtr() { return TPipe::newest; }

template <Hardware place = Hardware::UB>
class LocalMemAllocator {
public:
    int64_t handle;
    LocalMemAllocator(AT) : handle(call("LocalMemAllocator", at)) {}
    template <class T, uint32_t size>
    LocalTensor<T> Alloc(AT) { return Alloc<T>(size, at); }
    template <class T>
    LocalTensor<T> Alloc(uint32_t size, AT) { return {call("LocalMemAllocator.Alloc", at, Handle{handle}, Format<T>(), size)}; }
    uint32_t GetCurAddr(AT) const { return call("LocalMemAllocator.GetCurAddr", at, Handle{handle}); }
};

// ---- Parameters of copies and repeats -----------------------------------------------------------------------------------

struct DataCopyParams {
    uint16_t blockCount = 1, blockLen = 0, srcStride = 0, dstStride = 0;
    void into(Arguments &to) const { to.fields(0, blockCount, blockLen, srcStride, dstStride); }
};
struct DataCopyExtParams {
    uint16_t blockCount = 1;
    uint32_t blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;
    void into(Arguments &to) const { to.fields(1, blockCount, blockLen, srcStride, dstStride, rsv); }
};
template <class T>
struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
    void into(Arguments &to) const { to.fields(2, isPad, leftPadding, rightPadding, double(paddingValue)); }
};
struct UnaryRepeatParams {
    uint16_t dstBlkStride = 1, srcBlkStride = 1, dstRepStride = 8, srcRepStride = 8;
    void into(Arguments &to) const { to.fields(3, dstBlkStride, srcBlkStride, dstRepStride, srcRepStride); }
};
using CopyRepeatParams = UnaryRepeatParams;
struct BinaryRepeatParams {
    uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1, dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    void into(Arguments &to) const {
        to.fields(4, dstBlkStride, src0BlkStride, src1BlkStride, dstRepStride, src0RepStride, src1RepStride);
    }
};
struct BrcbRepeatParams {
    uint16_t dstBlkStride = 1, dstRepStride = 8;
};

// ---- Copies -------------------------------------------------------------------------------------------------------------

template <class To, class From>
constexpr bool tensors = !std::is_arithmetic_v<To> && !std::is_arithmetic_v<From>;

template <class T, template <class> class To, template <class> class From>
void DataCopy(const To<T> &dst, const From<T> &src, uint32_t count, AT) { call("DataCopy", at, dst, src, count); }
template <class T, template <class> class To, template <class> class From>
void DataCopy(const To<T> &dst, const From<T> &src, const DataCopyParams &params, AT) { call("DataCopy", at, dst, src, params); }

template <class T>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params,
                 const DataCopyPadExtParams<T> &pad, AT) { call("DataCopyPad", at, dst, src, params, pad); }
template <class T>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params, AT) {
    call("DataCopyPad", at, dst, src, params);
}
template <class T>
void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &params, AT) {
    call("DataCopyPad", at, dst, src, params);
}

// ---- Vector calls: with a count, or with a mask (lanes, or bits), repeats and their strides -----------------------------
// isSetMask, the vendor's second template argument, is read by nothing here: each call brings its mask.

#define ASCENDC_BINARY(Name)                                                                                              \
    template <class T, bool isSetMask = true, class U>                                                                    \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<U> &src1, int32_t count, AT) {     \
        call(#Name, at, dst, src0, src1, count);                                                                          \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class U>                                                                    \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<U> &src1, uint64_t mask,           \
              uint8_t repeatTime, const BinaryRepeatParams &params, AT) {                                                 \
        call(#Name, at, dst, src0, src1, mask, repeatTime, params);                                                       \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class U>                                                                    \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<U> &src1, const uint64_t *mask,    \
              uint8_t repeatTime, const BinaryRepeatParams &params, AT) {                                                 \
        call(#Name, at, dst, src0, src1, Mask{mask}, repeatTime, params);                                                 \
    }
#define ASCENDC_UNARY(Name)                                                                                               \
    template <class T, bool isSetMask = true>                                                                             \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t count, AT) { call(#Name, at, dst, src, count); } \
    template <class T, bool isSetMask = true>                                                                             \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t mask, uint8_t repeatTime,                    \
              const UnaryRepeatParams &params, AT) { call(#Name, at, dst, src, mask, repeatTime, params); }               \
    template <class T, bool isSetMask = true>                                                                             \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint64_t *mask, uint8_t repeatTime,             \
              const UnaryRepeatParams &params, AT) { call(#Name, at, dst, src, Mask{mask}, repeatTime, params); }
#define ASCENDC_SCALAR(Name)                                                                                              \
    template <class T, bool isSetMask = true, class U, class N>                                                           \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, N scalar, int32_t count, AT) {                        \
        call(#Name, at, dst, src, U(scalar), count);                                                                      \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class U, class N>                                                           \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, N scalar, uint64_t mask, uint8_t repeatTime,          \
              const UnaryRepeatParams &params, AT) { call(#Name, at, dst, src, U(scalar), mask, repeatTime, params); }    \
    template <class T, bool isSetMask = true, class U, class N>                                                           \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, N scalar, const uint64_t *mask, uint8_t repeatTime,   \
              const UnaryRepeatParams &params, AT) { call(#Name, at, dst, src, U(scalar), Mask{mask}, repeatTime, params); }

ASCENDC_BINARY(Add) ASCENDC_BINARY(Sub) ASCENDC_BINARY(Mul) ASCENDC_BINARY(Div) ASCENDC_BINARY(Max) ASCENDC_BINARY(Min)
ASCENDC_BINARY(And) ASCENDC_BINARY(Or) ASCENDC_BINARY(MulAddDst) ASCENDC_BINARY(FusedMulAdd)
ASCENDC_UNARY(Abs) ASCENDC_UNARY(Exp) ASCENDC_UNARY(Ln) ASCENDC_UNARY(Sqrt) ASCENDC_UNARY(Rsqrt) ASCENDC_UNARY(Reciprocal)
ASCENDC_UNARY(Not) ASCENDC_UNARY(Relu)
ASCENDC_SCALAR(Adds) ASCENDC_SCALAR(Muls) ASCENDC_SCALAR(Maxs) ASCENDC_SCALAR(Mins) ASCENDC_SCALAR(ShiftLeft)
ASCENDC_SCALAR(ShiftRight) ASCENDC_SCALAR(LeakyRelu) ASCENDC_SCALAR(Axpy)

template <class T, class N>
void Duplicate(const LocalTensor<T> &dst, N scalar, int32_t count, AT) { call("Duplicate", at, dst, T(scalar), count); }
template <class T, bool isSetMask = true, class N>
void Duplicate(const LocalTensor<T> &dst, N scalar, uint64_t mask, uint8_t repeatTime, uint16_t dstBlkStride, uint8_t dstRepStride,
               AT) { call("Duplicate", at, dst, T(scalar), mask, repeatTime, dstBlkStride, dstRepStride); }
template <class T, bool isSetMask = true, class N>
void Duplicate(const LocalTensor<T> &dst, N scalar, const uint64_t *mask, uint8_t repeatTime, uint16_t dstBlkStride,
               uint8_t dstRepStride, AT) { call("Duplicate", at, dst, T(scalar), Mask{mask}, repeatTime, dstBlkStride, dstRepStride); }
template <class T, class N>
void CreateVecIndex(const LocalTensor<T> &dst, N firstValue, uint32_t count, AT) { call("CreateVecIndex", at, dst, T(firstValue), count); }
template <class T>
void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint64_t mask, uint8_t repeatTime, const CopyRepeatParams &params, AT) {
    call("Copy", at, dst, src, mask, repeatTime, params);
}

template <class T, class U>
void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, RoundMode mode, uint32_t count, AT) {
    call("Cast", at, dst, src, Choice<2, RoundMode>{mode}, count);
}
template <class T, class U>
void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, RoundMode mode, uint64_t mask, uint8_t repeatTime,
          const UnaryRepeatParams &params, AT) { call("Cast", at, dst, src, Choice<2, RoundMode>{mode}, mask, repeatTime, params); }

template <class U, class T>
void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE mode, uint32_t count, AT) {
    call("Compare", at, dst, src0, src1, Choice<3, CMPMODE>{mode}, count);
}
template <class U, class T, class N>
void CompareScalar(const LocalTensor<U> &dst, const LocalTensor<T> &src0, N scalar, CMPMODE mode, uint32_t count, AT) {
    call("CompareScalar", at, dst, src0, T(scalar), Choice<3, CMPMODE>{mode}, count);
}
template <class T, class U>
void Select(const LocalTensor<T> &dst, const LocalTensor<U> &bits, const LocalTensor<T> &src0, const LocalTensor<T> &src1, SELMODE mode,
            uint32_t count, AT) { call("Select", at, dst, bits, src0, src1, Choice<4, SELMODE>{mode}, count); }
template <class T, class U, class N, class = std::enable_if_t<std::is_convertible_v<N, float>>>
void Select(const LocalTensor<T> &dst, const LocalTensor<U> &bits, const LocalTensor<T> &src0, N scalar, SELMODE mode, uint32_t count,
            AT) { call("Select", at, dst, bits, src0, T(scalar), Choice<4, SELMODE>{mode}, count); }
template <class T>
void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset, uint32_t srcBaseAddr,
            uint32_t count, AT) { call("Gather", at, dst, src, srcOffset, srcBaseAddr, count); }
struct GatherMaskParams {
    uint8_t src0BlockStride = 1;
    uint16_t repeatTimes = 1, src0RepeatStride = 8;
    uint8_t src1RepeatStride = 0;
};
template <class T>
void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint8_t pattern, bool reduceMode, uint32_t mask,
                const GatherMaskParams &params, uint64_t &rsvdCnt, AT) {
    assert(reduceMode && params.src0BlockStride == 1 && params.repeatTimes == 1 && "GatherMask: a count of elements in one repeat");
    rsvdCnt = call("GatherMask", at, dst, src, pattern, mask);
}
template <class T>
void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint8_t repeatTime, const BrcbRepeatParams &, AT) {
    call("Brcb", at, dst, src, repeatTime);
}

// ---- Reductions ---------------------------------------------------------------------------------------------------------

#define ASCENDC_REDUCE(Name)                                                                                              \
    template <class T, bool isSetMask = true>                                                                             \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &tmp, int32_t count, AT) {       \
        call(#Name, at, dst, src, tmp, count);                                                                            \
    }                                                                                                                     \
    template <class T, bool isSetMask = true>                                                                             \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &tmp, int32_t mask,              \
              int32_t repeatTime, int32_t srcRepStride, AT) { call(#Name, at, dst, src, tmp, mask, repeatTime, srcRepStride); }
#define ASCENDC_WHOLE(Name)                                                                                               \
    template <class T, bool isSetMask = true>                                                                             \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t mask, int32_t repeatTime, int32_t dstRepStride, \
              int32_t srcBlkStride, int32_t srcRepStride, AT) {                                                           \
        call(#Name, at, dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride);                            \
    }
#define ASCENDC_BLOCKS(Name)                                                                                              \
    template <class T, bool isSetMask = true>                                                                             \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t repeatTime, int32_t mask, int32_t dstRepStride, \
              int32_t srcBlkStride, int32_t srcRepStride, AT) {                                                           \
        call(#Name, at, dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride);                            \
    }
ASCENDC_REDUCE(ReduceSum) ASCENDC_REDUCE(ReduceMax) ASCENDC_REDUCE(ReduceMin)
ASCENDC_WHOLE(WholeReduceSum) ASCENDC_WHOLE(WholeReduceMax) ASCENDC_WHOLE(WholeReduceMin)
ASCENDC_BLOCKS(BlockReduceSum) ASCENDC_BLOCKS(BlockReduceMax) ASCENDC_BLOCKS(BlockReduceMin) ASCENDC_BLOCKS(PairReduceSum)

template <class T>
void RepeatReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t repeatTime, int32_t elemsInOneRepeat,
                     int32_t dstBlkStride, int32_t srcBlkStride, int32_t dstRepStride, int32_t srcRepStride, AT) {
    call("RepeatReduceSum", at, dst, src, repeatTime, elemsInOneRepeat, dstBlkStride, srcBlkStride, dstRepStride, srcRepStride);
}

// ---- Order --------------------------------------------------------------------------------------------------------------

template <HardEvent event>
void SetFlag(TEventID id, AT) { call("SetFlag", at, Choice<0, HardEvent>{event}, id); }
template <HardEvent event>
void WaitFlag(TEventID id, AT) { call("WaitFlag", at, Choice<0, HardEvent>{event}, id); }
template <pipe_t pipe>
void PipeBarrier(AT) { call("PipeBarrier", at, Choice<5, pipe_t>{pipe}); }
template <bool isAIVOnly = true>
void SyncAll(AT) { call("SyncAll", at); }
template <class T>
void SetAtomicAdd(AT) { call("SetAtomicAdd", at, Format<T>()); }
inline void SetAtomicNone(AT) { call("SetAtomicNone", at); }
template <class T, CacheLine lines>
void DataCacheCleanAndInvalid(const GlobalTensor<T> &tensor, AT) {
    call("DataCacheCleanAndInvalid", at, tensor, Choice<6, CacheLine>{lines});
}
inline int64_t GetBlockIdx(AT) { return call("GetBlockIdx", at); }
inline int64_t GetBlockNum(AT) { return call("GetBlockNum", at); }
inline int64_t GetSubBlockIdx() { return 0; }
inline void InitSocState() {}
constexpr uint32_t GetVecLen() { return 256; }

// ---- What helps to look inside ------------------------------------------------------------------------------------------

using ::printf;
template <class... A>
void PRINTF(const char *text, A... values) { std::printf(text, values...); }
template <template <class> class Tensor, class T>
void DumpTensor(const Tensor<T> &tensor, uint32_t desc, uint32_t count, AT) {
    std::printf("DumpTensor %u, line %d:", desc, at.line);
    for (uint32_t i = 0; i < count; ++i) std::printf(" %g", double(tensor.GetValue(i, at)));
    std::printf("\n");
}

// ---- Tiling and workspace -----------------------------------------------------------------------------------------------

template <class T>
T read_tiling(const void *tiling) {
    T data;
    std::memcpy(&data, tiling, sizeof data);
    return data;
}
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }

}  // namespace AscendC

#define REGISTER_TILING_DEFAULT(Struct) using RegisteredTiling = Struct;
#define GET_TILING_DATA(name, tiling) RegisteredTiling name = AscendC::read_tiling<RegisteredTiling>(tiling)
#define GET_TILING_DATA_WITH_STRUCT(Struct, name, tiling) Struct name = AscendC::read_tiling<Struct>(tiling)
#define GET_TILING_DATA_MEMBER(Struct, member, name, tiling) \
    decltype(Struct::member) name = AscendC::read_tiling<Struct>(tiling).member
#define GET_TILING_DATA_PTR_WITH_STRUCT(Struct, name, tiling) \
    Struct name##_copy = AscendC::read_tiling<Struct>(tiling), *name = &name##_copy
#define REGISTER_TILING_FOR_TILINGKEY(expression, Struct)
inline uint64_t g_tilingKey = 0;  // what the host chose; start.h takes it over
#define TILING_KEY_VAR g_tilingKey
#define TILING_KEY_IS(key) ((key) == TILING_KEY_VAR)

#undef AT
