// Copies between global memory and the Unified Buffer, and parameters of repeats.
#pragma once

#include "queues.h"

namespace AscendC {

struct DataCopyParams {
    uint16_t blockCount = 1, blockLen = 0;
    union { uint16_t srcStride = 0, srcGap; };  // one field, two names
    union { uint16_t dstStride = 0, dstGap; };
    DataCopyParams() = default;
    DataCopyParams(uint16_t count, uint16_t length, uint16_t from, uint16_t to)
        : blockCount(count), blockLen(length), srcStride(from), dstStride(to) {}
    void into(Arguments &to) const { to.fields(0, blockCount, blockLen, srcStride, dstStride); }
};
struct DataCopyExtParams {
    uint16_t blockCount = 1;
    uint32_t blockLen = 0, srcStride = 0, dstStride = 0, rsv = 0;
    DataCopyExtParams() = default;
    DataCopyExtParams(uint16_t count, uint32_t length, uint32_t from, uint32_t to, uint32_t rsv = 0)
        : blockCount(count), blockLen(length), srcStride(from), dstStride(to), rsv(rsv) {}
    void into(Arguments &to) const { to.fields(1, blockCount, blockLen, srcStride, dstStride, rsv); }
};
template <class T>
struct DataCopyPadExtParams {
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    T paddingValue = T(0);
    DataCopyPadExtParams() = default;
    template <class U>
    DataCopyPadExtParams(bool pad, uint8_t left, uint8_t right, U value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(T(value)) {}
    void into(Arguments &to) const { to.fields(2, isPad, leftPadding, rightPadding, double(paddingValue)); }
};
template <class U>
DataCopyPadExtParams(bool, uint8_t, uint8_t, U) -> DataCopyPadExtParams<U>;
struct DataCopyPadParams {  // the older form: the value as bits
    bool isPad = false;
    uint8_t leftPadding = 0, rightPadding = 0;
    uint64_t paddingValue = 0;
    DataCopyPadParams() = default;
    DataCopyPadParams(bool pad, uint8_t left, uint8_t right, uint64_t value)
        : isPad(pad), leftPadding(left), rightPadding(right), paddingValue(value) {}
};
struct UnaryRepeatParams {
    uint16_t dstBlkStride = 1, srcBlkStride = 1, dstRepStride = 8, srcRepStride = 8;
    UnaryRepeatParams() = default;
    UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep), srcRepStride(srcRep) {}
    void into(Arguments &to) const { to.fields(3, dstBlkStride, srcBlkStride, dstRepStride, srcRepStride); }
};
struct CopyRepeatParams {
    uint16_t dstStride = 1, srcStride = 1, dstRepeatSize = 8, srcRepeatSize = 8;
    CopyRepeatParams() = default;
    CopyRepeatParams(uint16_t dst, uint16_t src, uint16_t dstRepeat, uint16_t srcRepeat)
        : dstStride(dst), srcStride(src), dstRepeatSize(dstRepeat), srcRepeatSize(srcRepeat) {}
    void into(Arguments &to) const { to.fields(3, dstStride, srcStride, dstRepeatSize, srcRepeatSize); }
};
struct BinaryRepeatParams {
    uint8_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1, dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    BinaryRepeatParams() = default;
    BinaryRepeatParams(uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep, uint8_t src0Rep, uint8_t src1Rep)
        : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk), dstRepStride(dstRep), src0RepStride(src0Rep),
          src1RepStride(src1Rep) {}
    void into(Arguments &to) const {
        to.fields(4, dstBlkStride, src0BlkStride, src1BlkStride, dstRepStride, src0RepStride, src1RepStride);
    }
};
struct BrcbRepeatParams {
    uint16_t dstBlkStride = 1, dstRepStride = 8;
    BrcbRepeatParams() = default;
    BrcbRepeatParams(uint16_t dstBlk, uint16_t dstRep) : dstBlkStride(dstBlk), dstRepStride(dstRep) {}
    void into(Arguments &to) const { to.fields(5, dstBlkStride, dstRepStride); }
};

template <class T, template <class> class To, template <class> class From>
void DataCopy(const To<T> &dst, const From<T> &src, uint32_t count, AT) { call("DataCopy", at, dst, src, count); }
template <class T, template <class> class To, template <class> class From>
void DataCopy(const To<T> &dst, const From<T> &src, const DataCopyParams &params, AT) { call("DataCopy", at, dst, src, params); }

// What fills the lanes beside a block where isPad is false.
inline double pad_value = 0;
inline bool pad_set = false;
template <class T, TPosition = TPosition::VECIN>
void SetPadValue(T value) { pad_value = double(value), pad_set = true; }
enum class PaddingMode { Normal, Compact };

#define NORMAL_PADDING                                                                                                    \
    static_assert(mode == PaddingMode::Normal, "DataCopyPad: PaddingMode::Compact is of Atlas 950; Atlas A2 begins each block at 32 bytes")
template <class T, PaddingMode mode = PaddingMode::Normal, class Pad>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params,
                 const DataCopyPadExtParams<Pad> &pad, AT) {
    NORMAL_PADDING;
    call("DataCopyPad", at, dst, src, params, DataCopyPadExtParams<T>(pad.isPad || pad_set, pad.leftPadding, pad.rightPadding,
         pad.isPad ? double(pad.paddingValue) : pad_value));
}
template <class T, PaddingMode mode = PaddingMode::Normal>  // of braces
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params,
                 const DataCopyPadExtParams<T> &pad, AT) {
    DataCopyPad<T, mode, T>(dst, src, params, pad, at);
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params, AT) {
    NORMAL_PADDING;
    call("DataCopyPad", at, dst, src, params);
}
template <class T, class Older, class = std::enable_if_t<std::is_same_v<Older, DataCopyPadParams>>>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params, const Older &pad, AT) {
    T value;
    std::memcpy(&value, &pad.paddingValue, sizeof value);
    DataCopyPad(dst, src, params, DataCopyPadExtParams<T>(pad.isPad, pad.leftPadding, pad.rightPadding, value), at);
}
// Braces are taken for the newer form: the parameters of the older ones are deduced.
template <class T, class Older, class = std::enable_if_t<std::is_same_v<Older, DataCopyParams>>>
void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const Older &params, const DataCopyPadParams &pad, AT) {
    T value;
    std::memcpy(&value, &pad.paddingValue, sizeof value);
    call("DataCopyPad", at, dst, src, params, DataCopyPadExtParams<T>(pad.isPad, pad.leftPadding, pad.rightPadding, value));
}
template <class T, PaddingMode mode = PaddingMode::Normal>
void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &params, AT) {
    NORMAL_PADDING;
    call("DataCopyPad", at, dst, src, params);
}
template <class T, class Older, class = std::enable_if_t<std::is_same_v<Older, DataCopyParams>>>
void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const Older &params, AT) {
    call("DataCopyPad", at, dst, src, params);
}

// Slices of a tensor: in each dimension, innermost first, from start to end in steps of burstLen blocks and stride elements.
struct SliceInfo {
    uint32_t startIndex = 0, endIndex = 0, stride = 0, burstLen = 0, shapeValue = 0;
};

// Where each burst begins, in elements.
inline std::vector<uint64_t> slices(const SliceInfo *info, uint32_t dimensions, uint32_t lanes) {
    std::vector<uint64_t> found{0};
    for (uint32_t k = dimensions; k-- > 0;) {
        std::vector<uint64_t> inner;
        uint64_t burst = k == 0 ? info[0].burstLen * lanes : 1;
        for (uint64_t outer : found)
            for (uint64_t at = info[k].startIndex; burst && at + burst <= uint64_t(info[k].endIndex) + 1; at += burst + info[k].stride)
                inner.push_back(outer * info[k].shapeValue + at);
        found = inner;
    }
    return found;
}
template <class T, template <class> class To, template <class> class From>
void DataCopy(const To<T> &dst, const From<T> &src, const SliceInfo dstInfo[], const SliceInfo srcInfo[], uint32_t dimensions = 1, AT) {
    auto to = slices(dstInfo, dimensions, 32 / sizeof(T)), from = slices(srcInfo, dimensions, 32 / sizeof(T));
    for (size_t k = 0; k < to.size() && k < from.size(); ++k)
        call("DataCopy", at, dst[to[k]], src[from[k]], srcInfo[0].burstLen * uint32_t(32 / sizeof(T)));
}

template <class T>
void InitOutput(const GlobalTensor<T> &tensor, uint32_t count, T value = T(0), AT) {
    call("Fill", at, tensor, count, value), call("PipeBarrier", at, Choice<5, pipe_t>{PIPE_ALL});
}
template <class T>
void InitGlobalMemory(const GlobalTensor<T> &tensor, uint64_t count, T value, AT) { InitOutput(tensor, uint32_t(count), value, at); }
template <class T>
void Fill(const GlobalTensor<T> &tensor, uint64_t count, T value, AT) { InitOutput(tensor, uint32_t(count), value, at); }

}  // namespace AscendC
