// Vector calls: with a count, or with a mask (lanes, or bits), repeats and their strides.
#pragma once

#include "copies.h"

namespace AscendC {

// ---- The mask register --------------------------------------------------------------------------------------------------
// In normal mode its bits choose lanes of each repeat. In counter mode it counts elements in all, and the core works out the
// repeats. A call with isSetMask = false takes what the register holds; a call with a count leaves it full, in normal mode.

struct MaskRegister {
    bool counter = false;
    uint64_t low = ~0ull, high = ~0ull;
};
inline MaskRegister mask_register;

inline void SetMaskCount() { mask_register.counter = true; }
inline void SetMaskNorm() { mask_register.counter = false; }
inline void ResetMask() { mask_register.low = mask_register.high = ~0ull; }
template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(uint64_t high, uint64_t low) { mask_register.high = high, mask_register.low = low; }
template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t length) {
    if (mode == MaskMode::COUNTER || mask_register.counter) mask_register.high = 0, mask_register.low = uint64_t(length);
    else {
        mask_register.low = length >= 64 ? ~0ull : (1ull << length) - 1;
        mask_register.high = length >= 128 ? ~0ull : length > 64 ? (1ull << (length - 64)) - 1 : 0;
    }
}
constexpr uint64_t MASK_PLACEHOLDER = 0;
inline constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

// Sends the instructions of a call with a mask: `part(mask, repeats, done)`, after `done` whole repeats.
template <class T, bool isSetMask, class Part>
void repeated(uint64_t mask, int repeats, Part part) {
    constexpr uint64_t lanes = 256 / sizeof(T);
    if (mask_register.counter) {
        constexpr uint64_t most = 255;  // repeats of one instruction
        uint64_t left = isSetMask ? mask : mask_register.low;
        int done = 0;
        while (left >= lanes) {
            int now = int(left / lanes < most ? left / lanes : most);
            part(lanes, now, done);
            done += now, left -= now * lanes;
        }
        if (left) part(left, 1, done);
    } else if (isSetMask) {
        part(mask, repeats, 0);
    } else {
        part(Mask{mask_register.low, sizeof(T) > 2 ? 0 : mask_register.high}, repeats, 0);
    }
}
template <class T, bool isSetMask, class Part>
void repeated(const uint64_t *mask, int repeats, Part part) {
    if (!isSetMask || mask_register.counter) repeated<T, isSetMask>(mask[0], repeats, part);
    else part(Mask{mask[0], mask[1]}, repeats, 0);
}
template <class T>  // the tensor from behind so many repeats on; the stride is in blocks of 32 bytes
LocalTensor<T> after(const LocalTensor<T> &tensor, int repeats, int stride) {
    return tensor[uint32_t(repeats * stride) * uint32_t(32 / sizeof(T))];
}
// What a call with a count leaves in the mask register; with isSetMask = false it would take its count from there.
template <bool isSetMask = true>
void counted() {
    static_assert(isSetMask, "a count with isSetMask = false is not offered; pass a mask and repeats, or leave isSetMask out");
    mask_register = {};
}
// A mask as a number of lanes, for calls that take the first lanes in a row alone.
template <class T, bool isSetMask, class Lanes>
uint32_t lanes_of(const char *name, Lanes mask, Place at) {
    if (mask_register.counter) absent(name, "a mask that counts elements (SetMaskCount) is not offered", at);
    uint64_t low = mask_register.low, high = mask_register.high;
    if constexpr (std::is_integral_v<Lanes>) {
        if (isSetMask) return uint32_t(mask);
    } else if (isSetMask) low = mask[0], high = mask[1];
    if (sizeof(T) > 2) high = 0;
    if (high ? ~low || high & (high + 1) : low & (low + 1)) absent(name, "bits that leave out lanes between others are not offered", at);
    return uint32_t(__builtin_popcountll(low) + __builtin_popcountll(high));
}

// ---- Arithmetic ---------------------------------------------------------------------------------------------------------

template <class T, class U>
using Wide = std::conditional_t<(sizeof(T) > sizeof(U)), T, U>;

// The last form of each is for its address: a call cannot deduce R. Its place is that of the last call.
#define ASCENDC_BINARY(Name)                                                                                              \
    template <class T, bool isSetMask = true, class U, class V>                                                           \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<V> &src1, int32_t count, AT) {     \
        counted<isSetMask>(), call(#Name, at, dst, src0, src1, count);                                                               \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class U, class V, class Lanes>                                              \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<V> &src1, Lanes mask,              \
              uint8_t repeatTime, const BinaryRepeatParams &params, AT) {                                                 \
        repeated<Wide<T, U>, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {                        \
            call(#Name, at, after(dst, done, params.dstRepStride), after(src0, done, params.src0RepStride),               \
                 after(src1, done, params.src1RepStride), lanes, repeats, params);                                        \
        });                                                                                                               \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class R>                                                                    \
    R Name(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, const int32_t &count) {     \
        return Name<T, isSetMask>(dst, src0, src1, count, latest);                                                        \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class R>                                                                    \
    R Name(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, uint64_t mask,              \
           const uint8_t repeatTime, const BinaryRepeatParams &params) {                                                  \
        return Name<T, isSetMask>(dst, src0, src1, mask, repeatTime, params, latest);                                     \
    }
#define ASCENDC_UNARY(Name)                                                                                               \
    template <class T, bool isSetMask = true>                                                                             \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t count, AT) {                                  \
        counted<isSetMask>(), call(#Name, at, dst, src, count);                                                                      \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class Lanes>                                                                \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, Lanes mask, uint8_t repeatTime,                       \
              const UnaryRepeatParams &params, AT) {                                                                      \
        repeated<T, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {                                 \
            call(#Name, at, after(dst, done, params.dstRepStride), after(src, done, params.srcRepStride), lanes,          \
                 repeats, params);                                                                                        \
        });                                                                                                               \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class R>                                                                    \
    R Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t &count) {                                  \
        return Name<T, isSetMask>(dst, src, count, latest);                                                               \
    }
#define ASCENDC_SCALAR(Name)                                                                                              \
    template <class T, bool isSetMask = true, class U, class Number>                                                      \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, Number scalar, int32_t count, AT) {                   \
        counted<isSetMask>(), call(#Name, at, dst, src, U(scalar), count);                                                           \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class U, class Number, class Lanes>                                         \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, Number scalar, Lanes mask, uint8_t repeatTime,        \
              const UnaryRepeatParams &params, AT) {                                                                      \
        repeated<Wide<T, U>, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {                        \
            call(#Name, at, after(dst, done, params.dstRepStride), after(src, done, params.srcRepStride), U(scalar),      \
                 lanes, repeats, params);                                                                                 \
        });                                                                                                               \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class R>                                                                    \
    R Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalar, const int32_t &count) {                 \
        return Name<T, isSetMask>(dst, src, scalar, count, latest);                                                       \
    }

ASCENDC_BINARY(Add) ASCENDC_BINARY(Sub) ASCENDC_BINARY(Mul) ASCENDC_BINARY(Div) ASCENDC_BINARY(Max) ASCENDC_BINARY(Min)
ASCENDC_BINARY(And) ASCENDC_BINARY(Or) ASCENDC_BINARY(FusedMulAdd)
ASCENDC_UNARY(Abs) ASCENDC_UNARY(Exp) ASCENDC_UNARY(Ln) ASCENDC_UNARY(Sqrt) ASCENDC_UNARY(Rsqrt) ASCENDC_UNARY(Reciprocal)
ASCENDC_UNARY(Not) ASCENDC_UNARY(Relu)
ASCENDC_SCALAR(Adds) ASCENDC_SCALAR(Muls) ASCENDC_SCALAR(Maxs) ASCENDC_SCALAR(Mins) ASCENDC_SCALAR(ShiftLeft)
ASCENDC_SCALAR(ShiftRight) ASCENDC_SCALAR(LeakyRelu)

template <class T, class U, bool isSetMask = true, class Number>
void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, Number scalar, int32_t count, AT) {
    counted<isSetMask>(), call("Axpy", at, dst, src, U(scalar), count);
}
template <class T, class U, bool isSetMask = true, class Number, class Lanes>
void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, Number scalar, Lanes mask, uint8_t repeatTime,
          const UnaryRepeatParams &params, AT) {
    repeated<Wide<T, U>, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {
        call("Axpy", at, after(dst, done, params.dstRepStride), after(src, done, params.srcRepStride), U(scalar), lanes, repeats,
             params);
    });
}
template <class T, class U, bool isSetMask = true>
void MulAddDst(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<U> &src1, int32_t count, AT) {
    counted<isSetMask>(), call("MulAddDst", at, dst, src0, src1, count);
}
template <class T, class U, bool isSetMask = true, class Lanes>
void MulAddDst(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const LocalTensor<U> &src1, Lanes mask, uint8_t repeatTime,
               const BinaryRepeatParams &params, AT) {
    repeated<Wide<T, U>, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {
        call("MulAddDst", at, after(dst, done, params.dstRepStride), after(src0, done, params.src0RepStride),
             after(src1, done, params.src1RepStride), lanes, repeats, params);
    });
}

template <class T, class Number>
void Duplicate(const LocalTensor<T> &dst, Number scalar, int32_t count, AT) {
    counted(), call("Duplicate", at, dst, T(scalar), count);
}
template <class T, bool isSetMask = true, class Number, class Lanes>
void Duplicate(const LocalTensor<T> &dst, Number scalar, Lanes mask, uint8_t repeatTime, uint16_t dstBlkStride,
               uint8_t dstRepStride, AT) {
    repeated<T, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {
        call("Duplicate", at, after(dst, done, dstRepStride), T(scalar), lanes, repeats, dstBlkStride, dstRepStride);
    });
}
template <class T, class Number>
void CreateVecIndex(const LocalTensor<T> &dst, Number firstValue, uint32_t count, AT) {
    counted(), call("CreateVecIndex", at, dst, T(firstValue), count);
}
template <class T, class Number>
void CreateVecIndex(LocalTensor<T> dst, Number firstValue, uint64_t mask, uint8_t repeatTime, uint16_t dstBlkStride,
                    uint8_t dstRepStride, AT) {
    if (mask != 256 / sizeof(T) || dstBlkStride != 1 || dstRepStride != 8)
        absent("CreateVecIndex", "a mask or strides that leave lanes out", at);
    CreateVecIndex(dst, firstValue, uint32_t(mask * repeatTime), at);
}
template <class T, bool isSetMask = true, class Lanes>
void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, Lanes mask, uint8_t repeatTime, const CopyRepeatParams &params,
          AT) {
    repeated<T, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {
        call("Copy", at, after(dst, done, params.dstRepeatSize), after(src, done, params.srcRepeatSize), lanes, repeats, params);
    });
}
template <class T>
void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint32_t count, AT) { call("DataCopy", at, dst, src, count); }

template <class T, class U>
void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, RoundMode mode, uint32_t count, AT) {
    counted(), call("Cast", at, dst, src, Choice<2, RoundMode>{mode}, count);
}
template <class T, class U, bool isSetMask = true, class Lanes>
void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, RoundMode mode, Lanes mask, uint8_t repeatTime,
          const UnaryRepeatParams &params, AT) {
    repeated<Wide<T, U>, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {
        call("Cast", at, after(dst, done, params.dstRepStride), after(src, done, params.srcRepStride),
             Choice<2, RoundMode>{mode}, lanes, repeats, params);
    });
}

// ---- Comparisons and choices --------------------------------------------------------------------------------------------
// Atlas A2 ignores the mask of a comparison. Selections and gathers with a mask are offered where they take all lanes in a row.

// Whether strides leave out no block: of one repeat those of blocks, of several those of repeats as well.
inline bool together(int, bool) { return true; }
inline bool together(const BinaryRepeatParams &one, bool once) {
    return one.dstBlkStride == 1 && one.src0BlkStride == 1 && one.src1BlkStride == 1 &&
           (once || (one.dstRepStride == 8 && one.src0RepStride == 8 && one.src1RepStride == 8));
}
inline bool together(const UnaryRepeatParams &one, bool once) {
    return one.dstBlkStride == 1 && one.srcBlkStride == 1 && (once || (one.dstRepStride == 8 && one.srcRepStride == 8));
}
template <class T, bool isSetMask = true, class Lanes, class P>
uint32_t all_lanes(const char *name, Lanes mask, int repeatTime, const P &params, Place at) {
    if (!together(params, repeatTime <= 1 && !mask_register.counter)) absent(name, "strides that leave lanes out", at);
    if (mask_register.counter) {
        if (!isSetMask) return uint32_t(mask_register.low);
        if constexpr (std::is_integral_v<Lanes>) return uint32_t(mask);
        else return uint32_t(mask[0]);
    }
    if (lanes_of<T, isSetMask>(name, mask, at) != 256 / sizeof(T)) absent(name, "a mask that leaves lanes out", at);
    return uint32_t(repeatTime) * uint32_t(256 / sizeof(T));
}
template <class U, class T>
void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE mode, uint32_t count, AT) {
    counted(), call("Compare", at, dst.template ReinterpretCast<uint8_t>(), src0, src1, Choice<3, CMPMODE>{mode}, count);
}
template <class U, class T, bool isSetMask = true, class Lanes>
void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE mode, Lanes mask,
             uint8_t repeatTime, const BinaryRepeatParams &params, AT) {
    if (mask_register.counter)
        return Compare(dst, src0, src1, mode, all_lanes<T, isSetMask>("Compare", mask, repeatTime, params, at), at);
    call("CompareRepeats", at, dst.template ReinterpretCast<uint8_t>(), src0, src1, Choice<3, CMPMODE>{mode}, repeatTime,
         params.src0BlkStride, params.src0RepStride, params.src1BlkStride, params.src1RepStride);
}
// The register that holds the bits of one repeat.
template <class T, bool isSetMask = true, class Lanes>
void Compare(const LocalTensor<T> &src0, const LocalTensor<T> &src1, CMPMODE mode, Lanes mask, const BinaryRepeatParams &params, AT) {
    call("CompareRegister", at, src0, src1, Choice<3, CMPMODE>{mode}, all_lanes<T, isSetMask>("Compare", mask, 1, params, at));
}
template <class U>
void GetCmpMask(const LocalTensor<U> &dst, AT) { call("GetCmpMask", at, dst.template ReinterpretCast<uint8_t>()); }
template <class U>
void SetCmpMask(const LocalTensor<U> &src, AT) { call("SetCmpMask", at, src.template ReinterpretCast<uint8_t>()); }

template <class U, class T, class Number>
void CompareScalar(const LocalTensor<U> &dst, const LocalTensor<T> &src0, Number scalar, CMPMODE mode, uint32_t count, AT) {
    counted(), call("CompareScalar", at, dst.template ReinterpretCast<uint8_t>(), src0, T(scalar), Choice<3, CMPMODE>{mode}, count);
}
template <class U, class T, class Number, bool isSetMask = true, class Lanes>
void CompareScalar(const LocalTensor<U> &dst, const LocalTensor<T> &src0, Number scalar, CMPMODE mode, Lanes mask,
                   uint8_t repeatTime, const UnaryRepeatParams &params, AT) {
    if (mask_register.counter)
        return CompareScalar(dst, src0, scalar, mode, all_lanes<T, isSetMask>("CompareScalar", mask, repeatTime, params, at), at);
    call("CompareRepeats", at, dst.template ReinterpretCast<uint8_t>(), src0, T(scalar), Choice<3, CMPMODE>{mode}, repeatTime,
         params.srcBlkStride, params.srcRepStride);
}
template <class U, class T, class Number>
void Compares(const LocalTensor<U> &dst, const LocalTensor<T> &src0, Number scalar, CMPMODE mode, uint32_t count, AT) {
    CompareScalar(dst, src0, scalar, mode, count, at);
}
template <class U, class T, class Number, bool isSetMask = true, class Lanes>
void Compares(const LocalTensor<U> &dst, const LocalTensor<T> &src0, Number scalar, CMPMODE mode, Lanes mask, uint8_t repeatTime,
              const UnaryRepeatParams &params, AT) {
    CompareScalar<U, T, Number, isSetMask>(dst, src0, scalar, mode, mask, repeatTime, params, at);
}

template <class T, class U>
void Select(const LocalTensor<T> &dst, const LocalTensor<U> &bits, const LocalTensor<T> &src0, const LocalTensor<T> &src1,
            SELMODE mode, uint32_t count, AT) {
    counted(), call("Select", at, dst, bits, src0, src1, Choice<4, SELMODE>{mode}, count);
}
template <class T, class U, class Number, class = std::enable_if_t<std::is_convertible_v<Number, float>>>
void Select(const LocalTensor<T> &dst, const LocalTensor<U> &bits, const LocalTensor<T> &src0, Number scalar, SELMODE mode,
            uint32_t count, AT) {
    counted(), call("Select", at, dst, bits, src0, T(scalar), Choice<4, SELMODE>{mode}, count);
}
template <class T, class U, class S, bool isSetMask = true, class Lanes>
void Select(const LocalTensor<T> &dst, const LocalTensor<U> &bits, const LocalTensor<T> &src0, S src1, SELMODE mode, Lanes mask,
            uint8_t repeatTime, const BinaryRepeatParams &params, AT) {
    uint32_t count;
    if constexpr (std::is_convertible_v<S, float>) {  // a number has no strides
        UnaryRepeatParams strides(params.dstBlkStride, params.src0BlkStride, params.dstRepStride, params.src0RepStride);
        count = all_lanes<T, isSetMask>("Select", mask, repeatTime, strides, at);
    } else {
        count = all_lanes<T, isSetMask>("Select", mask, repeatTime, params, at);
    }
    Select(dst, bits, src0, src1, mode, count, at);
}

// ---- Gathering, spreading, turning --------------------------------------------------------------------------------------

template <class T>
void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset, uint32_t srcBaseAddr,
            uint32_t count, AT) {
    counted(), call("Gather", at, dst, src, srcOffset, srcBaseAddr, count);
}
template <class T, class Lanes>
void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &srcOffset, uint32_t srcBaseAddr,
            Lanes mask, uint8_t repeatTime, uint16_t dstRepStride, AT) {
    if (dstRepStride != 8) absent("Gather", "a dstRepStride other than 8", at);
    Gather(dst, src, srcOffset, srcBaseAddr, all_lanes<T>("Gather", mask, repeatTime, 0, at), at);
}
struct GatherRepeatParams {
    uint8_t dstBlkStride = 1, dstRepStride = 8;
    GatherRepeatParams() = default;
    GatherRepeatParams(uint8_t dstBlk, uint8_t dstRep) : dstBlkStride(dstBlk), dstRepStride(dstRep) {}
};
template <class T>
void Gatherb(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &offset, uint8_t repeatTime,
             const GatherRepeatParams &params, AT) {
    call("Gatherb", at, dst, src, offset, repeatTime, params.dstBlkStride, params.dstRepStride);
}
struct GatherMaskParams {
    uint8_t src0BlockStride = 1;
    uint16_t repeatTimes = 1, src0RepeatStride = 8;
    uint8_t src1RepeatStride = 0;
    GatherMaskParams() = default;
    GatherMaskParams(uint8_t block, uint16_t repeats, uint16_t src0Rep, uint8_t src1Rep)
        : src0BlockStride(block), repeatTimes(repeats), src0RepeatStride(src0Rep), src1RepeatStride(src1Rep) {}
};
template <class T, class Pattern>  // a number, or a tensor of bits
void gather_mask(const LocalTensor<T> &dst, const LocalTensor<T> &src, const Pattern &pattern, bool reduceMode, uint32_t mask,
                 const GatherMaskParams &params, uint64_t &rsvdCnt, Place at) {
    rsvdCnt = uint64_t(ask("GatherMask", at, dst, src, pattern, reduceMode ? mask : uint32_t(256 / sizeof(T)), params.repeatTimes,
                           params.src0BlockStride, params.src0RepeatStride, params.src1RepeatStride));
    mask_register.counter = false;
}
template <class T>
void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint8_t pattern, bool reduceMode, uint32_t mask,
                const GatherMaskParams &params, uint64_t &rsvdCnt, AT) {
    gather_mask(dst, src, pattern, reduceMode, mask, params, rsvdCnt, at);
}
template <class T, class U>
void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<U> &pattern, bool reduceMode, uint32_t mask,
                const GatherMaskParams &params, uint64_t &rsvdCnt, AT) {
    static_assert(sizeof(U) == sizeof(T), "the bits of a pattern are uint16_t for 16-bit elements, uint32_t for 32-bit ones");
    gather_mask(dst, src, pattern, reduceMode, mask, params, rsvdCnt, at);
}
template <class T>
void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint8_t repeatTime, const BrcbRepeatParams &params, AT) {
    call("Brcb", at, dst, src, repeatTime, params);
}
enum class TransposeType {
    TRANSPOSE_TYPE_NONE, TRANSPOSE_NZ2ND_0213, TRANSPOSE_ND2ND_B16 = 8, TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW
};
struct TransposeParamsExt {
    uint16_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
    TransposeParamsExt() = default;
    TransposeParamsExt(uint16_t n, uint16_t c, uint16_t h, uint16_t w, TransposeType type)
        : nSize(n), cSize(c), hSize(h), wSize(w), transposeType(type) {}
};
template <class T>
void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &tmp,
               const TransposeParamsExt &params, AT) {
    uint32_t c = params.cSize, hw = params.hSize * params.wSize;
    if (params.transposeType == TransposeType::TRANSPOSE_ND2ND_B16) call("Transposed", at, dst, src, tmp, 1, 16, 16);
    else if (params.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC) call("Transposed", at, dst, src, tmp, params.nSize, c, hw);
    else if (params.transposeType == TransposeType::TRANSPOSE_NHWC2NCHW) call("Transposed", at, dst, src, tmp, params.nSize, hw, c);
    else absent("Transpose", "this TransposeType is not offered", at);
}
struct TransDataTo5HDParams {
    bool dstHighHalf = false, srcHighHalf = false;
    uint8_t repeatTimes = 1;
    uint16_t dstRepStride = 0, srcRepStride = 0;
    TransDataTo5HDParams() = default;
    TransDataTo5HDParams(bool dst, bool src, uint8_t repeats, uint16_t dstRep, uint16_t srcRep)
        : dstHighHalf(dst), srcHighHalf(src), repeatTimes(repeats), dstRepStride(dstRep), srcRepStride(srcRep) {}
};
constexpr int NCHW_CONV_ADDR_LIST_SIZE = 16;
template <class T>
void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, AT) { call("Transposed", at, dst, src, Nothing(), 1, 16, 16); }

}  // namespace AscendC
