// Reductions: of a count, of repeats to one result, of each repeat, of each block, of neighbours.
#pragma once

#include "vector.h"

namespace AscendC {

template <class T>
void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &tmp, int32_t count, AT) {
    counted(), call("ReduceSum", at, dst, src, tmp, count);
}
template <class T, bool isSetMask = true, class Lanes>
void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &tmp, Lanes mask, int32_t repeatTime,
               int32_t srcRepStride, AT) {
    call("ReduceSum", at, dst, src, tmp, lanes_of<T, isSetMask>("ReduceSum", mask, at), repeatTime, srcRepStride);
}

// What the last ReduceSum of a count has left in a register.
template <class T>
T GetReduceRepeatSumSpr(AT) { return number_of<T>(ask("GetReduceRepeatSumSpr", at)); }

// What the last WholeReduceMax or WholeReduceMin with an index has left: the extreme of all repeats, and its index as bits of T.
template <class T>
void GetReduceRepeatMaxMinSpr(T &value, T &index, AT) {
    value = number_of<T>(ask("GetReduceRepeatMaxMinSpr", at, 0)), index = number_of<T>(ask("GetReduceRepeatMaxMinSpr", at, 1));
}
template <class T>
void GetReduceRepeatMaxMinSpr(T &value, AT) { value = number_of<T>(ask("GetReduceRepeatMaxMinSpr", at, 0)); }
template <class T>
void GetReduceMaxMinCount(T &value, T &index, AT) { GetReduceRepeatMaxMinSpr(value, index, at); }
template <class T>
void GetReduceMaxMinCount(T &value, AT) { GetReduceRepeatMaxMinSpr(value, at); }

#define ASCENDC_EXTREME(Name, index)                                                                                      \
    template <class T>                                                                                                    \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &tmp, int32_t count,             \
              bool calIndex = false, AT) {                                                                                \
        counted();                                                                                                        \
        if (calIndex) call("ReduceIndex", at, Text{index}, dst, src, tmp, count, 1, 8);                                   \
        else call(#Name, at, dst, src, tmp, count);                                                                       \
    }                                                                                                                     \
    template <class T, bool isSetMask = true, class Lanes>                                                                \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &tmp, Lanes mask,                \
              int32_t repeatTime, int32_t srcRepStride, bool calIndex = false, AT) {                                      \
        if constexpr (!std::is_integral_v<Lanes>)                                                                         \
            if (calIndex && isSetMask && (mask[0] & (mask[0] + 1)))                                                       \
                return call("ReduceIndex", at, Text{index}, dst, src, tmp, Mask{mask[0], mask[1]}, repeatTime, srcRepStride); \
        uint32_t lanes = lanes_of<T, isSetMask>(#Name, mask, at);                                                         \
        if (calIndex) call("ReduceIndex", at, Text{index}, dst, src, tmp, lanes, repeatTime, srcRepStride);               \
        else call(#Name, at, dst, src, tmp, lanes, repeatTime, srcRepStride);                                             \
    }
ASCENDC_EXTREME(ReduceMax, "argmax") ASCENDC_EXTREME(ReduceMin, "argmin")

template <class T, bool isSetMask = true, class Lanes>
void WholeReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, Lanes mask, int32_t repeatTime, int32_t dstRepStride,
                    int32_t srcBlkStride, int32_t srcRepStride, AT) {
    repeated<T, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {
        call("WholeReduceSum", at, dst[uint32_t(done * dstRepStride)], after(src, done, srcRepStride), lanes, repeats, dstRepStride,
             srcBlkStride, srcRepStride);
    });
}
// The lanes of each repeat; a count of elements decides how many repeats there are, and how many elements the last one has.
template <class T, bool isSetMask, class Lanes>
uint32_t counted_lanes(const char *name, Lanes mask, int32_t &repeats, uint32_t &last, Place at) {
    if (!mask_register.counter) return lanes_of<T, isSetMask>(name, mask, at);
    uint64_t count = mask_register.low;
    if constexpr (isSetMask && std::is_integral_v<Lanes>) count = uint64_t(mask);
    else if constexpr (isSetMask) count = mask[0];
    constexpr uint32_t lanes = 256 / sizeof(T);
    repeats = int32_t((count + lanes - 1) / lanes), last = uint32_t(count % lanes);
    return count < lanes ? last : lanes;
}
#define ASCENDC_WHOLE(Name, extreme)                                                                                      \
    template <class T, bool isSetMask = true, class Lanes>                                                                \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, Lanes mask, int32_t repeatTime, int32_t dstRepStride, \
              int32_t srcBlkStride, int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, AT) {       \
        if (order == ReduceOrder::ORDER_ONLY_VALUE)                                                                       \
            repeated<T, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {                             \
                call(#Name, at, dst[uint32_t(done * dstRepStride)], after(src, done, srcRepStride), lanes, repeats,       \
                     dstRepStride, srcBlkStride, srcRepStride);                                                           \
            });                                                                                                           \
        else {                                                                                                            \
            uint32_t last = 0, lanes = counted_lanes<T, isSetMask>(#Name, mask, repeatTime, last, at);                    \
            call("WholeReduceIndex", at, Text{extreme}, dst, src, lanes, repeatTime, dstRepStride, srcBlkStride,          \
                 srcRepStride, int(order), last);                                                                         \
        }                                                                                                                 \
    }
ASCENDC_WHOLE(WholeReduceMax, "Max") ASCENDC_WHOLE(WholeReduceMin, "Min")

#define ASCENDC_BLOCKS(Name)                                                                                              \
    template <class T, bool isSetMask = true, class Lanes>                                                                \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t repeatTime, Lanes mask, int32_t dstRepStride, \
              int32_t srcBlkStride, int32_t srcRepStride, AT) {                                                           \
        constexpr int32_t made = std::string_view(#Name)[0] == 'P' ? 128 / sizeof(T) : 8;                                 \
        repeated<T, isSetMask>(mask, repeatTime, [&](auto lanes, int repeats, int done) {                                 \
            call(#Name, at, dst[uint32_t(done * dstRepStride * made)], after(src, done, srcRepStride), repeats, lanes,    \
                 dstRepStride, srcBlkStride, srcRepStride);                                                               \
        });                                                                                                               \
    }
ASCENDC_BLOCKS(BlockReduceSum) ASCENDC_BLOCKS(BlockReduceMax) ASCENDC_BLOCKS(BlockReduceMin) ASCENDC_BLOCKS(PairReduceSum)

template <class T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, int32_t repeatTime, int32_t elemsInOneRepeat,
                     int32_t dstBlkStride, int32_t srcBlkStride, int32_t dstRepStride, int32_t srcRepStride, AT) {
    repeated<T, isSetMask>(elemsInOneRepeat, repeatTime, [&](auto lanes, int repeats, int done) {
        call("RepeatReduceSum", at, dst[uint32_t(done * dstRepStride)], after(src, done, srcRepStride), repeats, lanes, dstBlkStride,
             srcBlkStride, dstRepStride, srcRepStride);
    });
}

// The newer names, with the kind of reduction as a template argument.
enum class ReduceType { SUM, MAX, MIN };
template <ReduceType type, class T, class U, bool isSetMask = true, class Lanes>
void ReduceRepeat(const LocalTensor<T> &dst, const LocalTensor<U> &src, Lanes mask, int32_t repeatTime, int32_t dstRepStride,
                  int32_t srcBlkStride, int32_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX, AT) {
    auto to = dst.template ReinterpretCast<U>();
    if constexpr (type == ReduceType::SUM)
        WholeReduceSum<T, isSetMask>(dst, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, at);
    else if constexpr (type == ReduceType::MAX)
        WholeReduceMax<U, isSetMask>(to, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order, at);
    else
        WholeReduceMin<U, isSetMask>(to, src, mask, repeatTime, dstRepStride, srcBlkStride, srcRepStride, order, at);
}
template <ReduceType type, class T, class U = T, bool isSetMask = true, class Lanes>
void ReduceDataBlock(const LocalTensor<T> &dst, const LocalTensor<U> &src, Lanes mask, int32_t repeatTime, int32_t dstRepStride,
                     int32_t srcBlkStride, int32_t srcRepStride, AT) {
    if constexpr (type == ReduceType::SUM)
        BlockReduceSum<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);
    else if constexpr (type == ReduceType::MAX)
        BlockReduceMax<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);
    else
        BlockReduceMin<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);
}
template <ReduceType type, class T, class U = T, bool isSetMask = true, class Lanes>
void ReducePairElem(const LocalTensor<T> &dst, const LocalTensor<U> &src, Lanes mask, int32_t repeatTime, int32_t dstRepStride,
                    int32_t srcBlkStride, int32_t srcRepStride, AT) {
    PairReduceSum<T, isSetMask>(dst, src, repeatTime, mask, dstRepStride, srcBlkStride, srcRepStride, at);
}

}  // namespace AscendC
