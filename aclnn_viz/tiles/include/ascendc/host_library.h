// What a host asks before it tiles calls of the library: sizes of temporary buffers, and their tiling structs.
//
// Temporary buffers of any size fit, since the machine holds nothing there of its own; the largest is that of a tensor of float.
#pragma once

#include <algorithm>

#include "../kernel_tiling/kernel_tiling.h"
#include "securec.h"
#include "../platform.h"
#include "shape.h"

namespace AscendC {

using TensorShape = ge::Shape;
using TensorDataType = ge::DataType;

}  // namespace AscendC

namespace aclnn_viz {

namespace tiling = AscendC::tiling;

// The arguments of such a call: a shape or its sizes come first, then flags, and what is filled comes last.
class Asked {
public:
    bool sized = false;
    int64_t rows = 1, columns = 1, real = 0, numbers = 0;
    std::vector<int64_t> sizes;
    uint32_t *filled[2] = {};

    void see(const ge::Shape &shape) {
        if (sized && shape.GetShapeSize() <= rows * columns) return void(real = real ? real : last(shape));
        sized = true, sizes = shape.GetDims(), columns = last(shape), rows = columns ? shape.GetShapeSize() / columns : 0;
    }
    void see(uint32_t &number) { filled[0] = filled[1], filled[1] = &number, count(number); }
    void see(const int32_t &number) { count(number); }
    void see(const uint32_t &number) { count(number); }
    void see(tiling::SoftMaxTiling &to) { to.srcM = rows, to.srcK = columns, to.srcSize = rows * columns; }
    void see(tiling::RmsNormTiling &to) { norm(to); }
    void see(tiling::LayerNormTiling &to) { norm(to); }
    void see(tiling::DeepNormTiling &to) { norm(to); }
    void see(tiling::LayerNormGradTiling &to) { norm(to); }
    void see(tiling::LayerNormGradBetaTiling &to) { norm(to); }
    void see(tiling::LayerNormSeparateTiling &to) { to.aLength = rows, to.rLength = columns; }
    void see(tiling::BatchNormTiling &to) {  // B, S, H and what B was
        to.originalBLength = at(3), to.meanVarSize = to.shCurLength = at(1) * at(2), to.bshCurLength = at(0);
    }
    void see(tiling::GroupNormTiling &to) {  // N, C, H, W; the number of groups came last
        to.n = at(0), to.c = at(1), to.hw = at(2) * at(3), to.g = latest, to.d = latest ? to.c / latest : 0;
    }
    void see(tiling::TopkTiling &to) { to.allDataSize = rows * columns, to.innerDataSize = columns; }
    void see(tiling::PadTiling &to) { to.srcHeight = rows, to.srcWidth = columns, to.srcOriWidth = real ? real : columns; }
    void see(tiling::UnPadTiling &to) { to.srcHeight = rows, to.srcWidth = columns; }
    void see(tiling::ConfusionTransposeTiling &to) { std::copy_n(sizes.begin(), std::min<size_t>(sizes.size(), 18), to.param); }
    template <class T>
    void see(const T &) { flags = true; }
    uint32_t most() const { return uint32_t(std::max<int64_t>((sized ? rows * columns : numbers) * 4, 256)); }
    uint32_t least() const { return std::min(most(), 8192u); }

private:
    bool flags = false;
    uint32_t latest = 0;
    static int64_t last(const ge::Shape &shape) { return shape.GetDimNum() ? shape.GetDim(shape.GetDimNum() - 1) : 1; }
    int64_t at(size_t place) const { return place < sizes.size() ? sizes[place] : 1; }
    void count(int64_t number) {
        latest = uint32_t(number);
        if (!flags && number > 0) numbers = (numbers ? numbers : 1) * number;
    }
    template <class T>
    void norm(T &to) {  // B, S, H and what H was before it was rounded up
        to.bLength = at(0), to.sLength = at(1), to.hLength = at(2), to.originalHLength = sizes.size() > 3 ? at(3) : real ? real : at(2);
    }
};
template <class... A>
Asked asked(A &&...each) {
    Asked all;
    return (all.see(each), ...), all;
}

}  // namespace aclnn_viz

#define ASCENDC_TMP_SIZE(Name)                                                                                            \
    template <class... A>                                                                                                 \
    bool Get##Name##MaxMinTmpSize(A &&...each) {                                                                          \
        auto all = aclnn_viz::asked(each...);                                                                             \
        return *all.filled[0] = all.most(), *all.filled[1] = all.least(), true;                                           \
    }                                                                                                                     \
    template <class... A>                                                                                                 \
    uint32_t Get##Name##MinTmpSize(A &&...each) { return aclnn_viz::asked(each...).least(); }                             \
    template <class... A>                                                                                                 \
    uint32_t Get##Name##MaxTmpSize(A &&...each) { return aclnn_viz::asked(each...).most(); }                             \
    template <class... A>                                                                                                 \
    bool Get##Name##TmpSize(A &&...each) { return Get##Name##MaxMinTmpSize(each...); }                                    \
    inline void Get##Name##TmpBufferFactorSize(uint32_t, uint32_t &factor, uint32_t &extra) { factor = 1, extra = 0; }
#define ASCENDC_TILES(Name)                                                                                               \
    template <class... A>                                                                                                 \
    bool Name(A &&...each) { return aclnn_viz::asked(each...), true; }

namespace AscendC {

ASCENDC_TMP_SIZE(Sigmoid) ASCENDC_TMP_SIZE(Silu) ASCENDC_TMP_SIZE(Swish) ASCENDC_TMP_SIZE(Gelu) ASCENDC_TMP_SIZE(FasterGelu)
ASCENDC_TMP_SIZE(FasterGeluV2) ASCENDC_TMP_SIZE(GeGLU) ASCENDC_TMP_SIZE(SwiGLU) ASCENDC_TMP_SIZE(ReGlu) ASCENDC_TMP_SIZE(Tanh)
ASCENDC_TMP_SIZE(Sin) ASCENDC_TMP_SIZE(Cos) ASCENDC_TMP_SIZE(Tan) ASCENDC_TMP_SIZE(Sinh) ASCENDC_TMP_SIZE(Cosh) ASCENDC_TMP_SIZE(Asin)
ASCENDC_TMP_SIZE(Acos) ASCENDC_TMP_SIZE(Atan) ASCENDC_TMP_SIZE(Asinh) ASCENDC_TMP_SIZE(Acosh) ASCENDC_TMP_SIZE(Atanh)
ASCENDC_TMP_SIZE(Erf) ASCENDC_TMP_SIZE(Erfc) ASCENDC_TMP_SIZE(Floor) ASCENDC_TMP_SIZE(Ceil) ASCENDC_TMP_SIZE(Round) ASCENDC_TMP_SIZE(Rint)
ASCENDC_TMP_SIZE(Trunc) ASCENDC_TMP_SIZE(Frac) ASCENDC_TMP_SIZE(Sign) ASCENDC_TMP_SIZE(Log) ASCENDC_TMP_SIZE(Log2) ASCENDC_TMP_SIZE(Log10)
ASCENDC_TMP_SIZE(Exp) ASCENDC_TMP_SIZE(Power) ASCENDC_TMP_SIZE(Fmod) ASCENDC_TMP_SIZE(Hypot) ASCENDC_TMP_SIZE(Xor) ASCENDC_TMP_SIZE(Clamp)
ASCENDC_TMP_SIZE(Fma) ASCENDC_TMP_SIZE(Axpy) ASCENDC_TMP_SIZE(CumSum) ASCENDC_TMP_SIZE(Lgamma) ASCENDC_TMP_SIZE(Digamma)
ASCENDC_TMP_SIZE(LogicalAnd) ASCENDC_TMP_SIZE(LogicalOr) ASCENDC_TMP_SIZE(LogicalXor) ASCENDC_TMP_SIZE(LogicalNot) ASCENDC_TMP_SIZE(Where)
ASCENDC_TMP_SIZE(IsNan) ASCENDC_TMP_SIZE(IsInf) ASCENDC_TMP_SIZE(IsFinite) ASCENDC_TMP_SIZE(BitwiseAnd) ASCENDC_TMP_SIZE(BitwiseOr)
ASCENDC_TMP_SIZE(BitwiseXor) ASCENDC_TMP_SIZE(BitwiseNot) ASCENDC_TMP_SIZE(SoftMax) ASCENDC_TMP_SIZE(SoftMaxFlash)
ASCENDC_TMP_SIZE(SoftMaxFlashV2) ASCENDC_TMP_SIZE(SoftMaxFlashV3) ASCENDC_TMP_SIZE(SoftMaxGrad) ASCENDC_TMP_SIZE(LogSoftMax)
ASCENDC_TMP_SIZE(LayerNorm) ASCENDC_TMP_SIZE(LayerNormGrad) ASCENDC_TMP_SIZE(LayerNormGradBeta) ASCENDC_TMP_SIZE(RmsNorm)
ASCENDC_TMP_SIZE(DeepNorm) ASCENDC_TMP_SIZE(BatchNorm) ASCENDC_TMP_SIZE(GroupNorm) ASCENDC_TMP_SIZE(Normalize)
ASCENDC_TMP_SIZE(WelfordUpdate) ASCENDC_TMP_SIZE(WelfordFinalize) ASCENDC_TMP_SIZE(Sum) ASCENDC_TMP_SIZE(Mean) ASCENDC_TMP_SIZE(ReduceSum)
ASCENDC_TMP_SIZE(ReduceMax) ASCENDC_TMP_SIZE(ReduceMin) ASCENDC_TMP_SIZE(ReduceMean) ASCENDC_TMP_SIZE(ReduceProd) ASCENDC_TMP_SIZE(ReduceAny)
ASCENDC_TMP_SIZE(ReduceAll) ASCENDC_TMP_SIZE(ReduceXorSum) ASCENDC_TMP_SIZE(TopK) ASCENDC_TMP_SIZE(Sort) ASCENDC_TMP_SIZE(Concat)
ASCENDC_TMP_SIZE(Pad) ASCENDC_TMP_SIZE(UnPad) ASCENDC_TMP_SIZE(BroadCast) ASCENDC_TMP_SIZE(Broadcast) ASCENDC_TMP_SIZE(Transpose)
ASCENDC_TMP_SIZE(ConfusionTranspose) ASCENDC_TMP_SIZE(TransData) ASCENDC_TMP_SIZE(DropOut) ASCENDC_TMP_SIZE(Select)
ASCENDC_TMP_SIZE(SelectWithBytesMask) ASCENDC_TMP_SIZE(AscendQuant) ASCENDC_TMP_SIZE(AscendDequant) ASCENDC_TMP_SIZE(AscendAntiQuant)
ASCENDC_TMP_SIZE(Quantize) ASCENDC_TMP_SIZE(Dequantize) ASCENDC_TMP_SIZE(AntiQuantize) ASCENDC_TMP_SIZE(Arange)
ASCENDC_TMP_SIZE(ArithProgression)

ASCENDC_TILES(SoftMaxTilingFunc) ASCENDC_TILES(SoftMaxFlashTilingFunc) ASCENDC_TILES(SoftMaxFlashV2TilingFunc)
ASCENDC_TILES(SoftMaxFlashV3TilingFunc) ASCENDC_TILES(SoftMaxGradTilingFunc) ASCENDC_TILES(LogSoftMaxTilingFunc)
ASCENDC_TILES(GetLayerNormNDTilingInfo) ASCENDC_TILES(GetLayerNormNDTillingInfo) ASCENDC_TILES(GetLayerNormGradNDTilingInfo)
ASCENDC_TILES(GetLayerNormGradBetaNDTilingInfo) ASCENDC_TILES(GetRmsNormTilingInfo) ASCENDC_TILES(GetDeepNormTilingInfo)
ASCENDC_TILES(GetBatchNormNDTilingInfo) ASCENDC_TILES(GetGroupNormNDTilingInfo)
ASCENDC_TILES(GetTransposeTilingInfo) ASCENDC_TILES(GetConfusionTransposeTilingInfo)
ASCENDC_TILES(PadTilingFunc) ASCENDC_TILES(UnPadTilingFunc)
template <class P, class D>
bool TopKTilingFunc(const P &, int32_t inner, int32_t outter, int32_t, D, bool, TopKMode, bool, tiling::TopkTiling &to) {
    return aclnn_viz::asked(ge::Shape::of(outter, inner), to), true;
}

}  // namespace AscendC

#undef ASCENDC_TMP_SIZE
#undef ASCENDC_TILES
