// Calls of the library that work on rows, sort, pad or quantise. Each is one instruction of the machine (rows.py), from the
// vendor's pages. A temporary buffer may be passed or not.
#pragma once

#include "library.h"

#include <algorithm>
#include <array>

namespace AscendC {

template <class T>
struct First {  // so many elements from the beginning of a tensor
    const LocalTensor<T> &tensor;
    uint32_t count;
    void into(Arguments &to) const { to.put(tensor), to.put(count); }
};
template <class T>
First<T> first(const LocalTensor<T> &tensor, uint32_t count) { return {tensor, count}; }
// What a call makes, what it takes, and numbers, in this order.
template <class Buffer, class... A>
void library(const char *name, Place at, const Buffer &tmp, int made, int taken, const A &...each) {
    call("Library", at, Text{name}, tmp, made, taken, each...);
}

#define ASCENDC_OPEN(...) __VA_ARGS__
#define ASCENDC_BOTH(Head, Name, Before, After, ...)                                                                      \
    template <ASCENDC_OPEN Head>                                                                                          \
    void Name(ASCENDC_OPEN Before, const LocalTensor<uint8_t> &tmp, ASCENDC_OPEN After, AT) { __VA_ARGS__; }              \
    template <ASCENDC_OPEN Head>                                                                                          \
    void Name(ASCENDC_OPEN Before, ASCENDC_OPEN After, AT) { Nothing tmp; __VA_ARGS__; }
#define ASCENDC_COMMA ,
#define ASCENDC_ND(Name) static_assert(!nz, #Name ": the format NZ is of the matrix unit, which is not offered")

enum class DataFormat { ND, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0, FRACTAL_Z_3D };

// ---- Softmax: rows and columns; sums and maxima are 32 bytes wide ----------------------------------------------------------

struct SoftMaxShapeInfo {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
};
struct Rows {
    uint32_t m, k, real;
    Rows(const SoftMaxTiling &tiling, const SoftMaxShapeInfo &shape)
        : m(shape.srcM ? shape.srcM : tiling.srcM), k(shape.srcK ? shape.srcK : tiling.srcK), real(shape.oriSrcK ? shape.oriSrcK : k) {}
    template <class T>
    First<T> all(const LocalTensor<T> &tensor) const { return first(tensor, m * k); }
    template <class T>
    First<T> wide(const LocalTensor<T> &tensor) const { return first(tensor, m * uint32_t(32 / sizeof(T))); }
};
#define ASCENDC_ROWS const SoftMaxTiling &tiling, const SoftMaxShapeInfo &shape = {}
#define ASCENDC_SUMS const LocalTensor<T> &dst, const LocalTensor<S> &sum, const LocalTensor<S> &max, const LocalTensor<T> &src

ASCENDC_BOTH((class T, bool reuse = false, bool basic = false, bool nz = false, auto... options, class S), SoftMax, (ASCENDC_SUMS),
             (ASCENDC_ROWS), ASCENDC_ND(SoftMax); Rows of(tiling, shape);
             library("SoftMax", at, tmp, 3, 1, of.all(dst), of.wide(sum), of.wide(max), of.all(src), of.k, of.real))
ASCENDC_BOTH((class T, bool reuse = false, bool basic = false, auto... options), SoftMax,
             (const LocalTensor<T> &dst, const LocalTensor<T> &src), (ASCENDC_ROWS), Rows of(tiling, shape);
             library("SoftMax", at, tmp, 1, 1, of.all(dst), of.all(src), of.k, of.real))
ASCENDC_BOTH((class T, bool reuse = false, bool nz = false, class S), LogSoftMax, (ASCENDC_SUMS), (ASCENDC_ROWS), ASCENDC_ND(LogSoftMax);
             Rows of(tiling, shape);
             library("LogSoftMax", at, tmp, 3, 1, of.all(dst), of.wide(sum), of.wide(max), of.all(src), of.k, of.real))
ASCENDC_BOTH((class T, bool reuse = false, bool basic = false, bool nz = false, auto... options, class S), SimpleSoftMax, (ASCENDC_SUMS),
             (ASCENDC_ROWS), ASCENDC_ND(SimpleSoftMax); Rows of(tiling, shape);
             library("SimpleSoftMax", at, tmp, 1, 3, of.all(dst), of.all(src), of.wide(max), of.wide(sum), of.k))
#define ASCENDC_FLASH                                                                                                     \
    ASCENDC_SUMS, const LocalTensor<T> &expMax, const LocalTensor<S> &inSum, const LocalTensor<S> &inMax
template <class T, class S, class Buffer>
void flash(const char *name, Place at, const Buffer &tmp, bool update, const Rows &of, ASCENDC_FLASH) {
    if (update)
        library(name[12] ? "SoftmaxFlashV2Update" : "SoftmaxFlashUpdate", at, tmp, 4, 3, of.all(dst), of.wide(sum),
                of.wide(max), of.wide(expMax), of.all(src), of.wide(inMax), of.wide(inSum), of.k, of.real);
    else library(name, at, tmp, 3, 1, of.all(dst), of.wide(sum), of.wide(max), of.all(src), of.k, of.real);
}
ASCENDC_BOTH((class T, bool isUpdate = false, bool reuse = false, bool basic = false, bool nz = false, auto... options, class S),
             SoftmaxFlashV2, (ASCENDC_FLASH), (ASCENDC_ROWS), ASCENDC_ND(SoftmaxFlashV2);
             flash("SoftmaxFlashV2", at, tmp, isUpdate, Rows(tiling, shape), dst, sum, max, src, expMax, inSum, inMax))
ASCENDC_BOTH((class T, bool reuse = false, bool basic = false, class S), SoftmaxFlash, (ASCENDC_FLASH),
             (const SoftMaxTiling &tiling, bool isUpdate = false, const SoftMaxShapeInfo &shape = {}),
             flash("SoftmaxFlash", at, tmp, isUpdate, Rows(tiling, shape), dst, sum, max, src, expMax, inSum, inMax))
#define ASCENDC_GRADS const LocalTensor<T> &dst, const LocalTensor<T> &grad, const LocalTensor<T> &src
ASCENDC_BOTH((class T, bool basic = false, bool nz = false), SoftmaxGradFront, (ASCENDC_GRADS), (ASCENDC_ROWS),
             ASCENDC_ND(SoftmaxGradFront); Rows of(tiling, shape);
             library("SoftmaxGradFront", at, tmp, 1, 2, of.wide(dst), of.all(grad), of.all(src), of.k, of.real))
ASCENDC_BOTH((class T, bool reuse = false, bool nz = false), SoftmaxGrad, (ASCENDC_GRADS),
             (const SoftMaxTiling &tiling, bool isFront = false, const SoftMaxShapeInfo &shape = {}), ASCENDC_ND(SoftmaxGrad);
             Rows of(tiling, shape);
             if (isFront) library("SoftmaxGradFront", at, tmp, 1, 2, of.wide(dst), of.all(grad), of.all(src), of.k, of.real);
             else library("SoftmaxGrad", at, tmp, 1, 2, of.all(dst), of.all(grad), of.all(src), of.k, of.real))
template <class T, class S, bool nz = false, uint8_t stepSizeMode = 0>
bool AdjustSoftMaxRes(const LocalTensor<T> &res, const LocalTensor<S> &max, uint32_t from, T to, const SoftMaxShapeInfo &shape, AT) {
    ASCENDC_ND(AdjustSoftMaxRes);
    bool found = false;
    for (uint32_t row = 0; row < shape.srcM; ++row) {
        S value = max.GetValue(row * (stepSizeMode ? 1 : 32 / sizeof(S)), at);
        uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        if (bits != from) continue;
        found = true;
        for (uint32_t column = 0; column < shape.srcK; ++column) res.SetValue(row * shape.srcK + column, to, at);
    }
    return found;
}

struct SoftMaxParams {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0, loopCnt = 1, splitMeanCnt = 8;
    float alpha = 0;
};
ASCENDC_BOTH((class T, class U, bool isUpdate = false, bool reuse = false, bool basic = false, bool nz = false, auto... options), SoftmaxFlashV3,
             (const LocalTensor<T> &dst, const LocalTensor<U> &mean, const LocalTensor<U> &sum, const LocalTensor<U> &max,
              const LocalTensor<T> &src, const LocalTensor<T> &expMax, const LocalTensor<U> &inMean, const LocalTensor<U> &inSum,
              const LocalTensor<U> &inMax),
             (const SoftMaxTiling &tiling, const SoftMaxParams &of), ASCENDC_ND(SoftmaxFlashV3);
             SoftMaxShapeInfo shape{of.srcM ASCENDC_COMMA of.srcK}; Rows rows(tiling, shape);
             if (isUpdate)
                 library("SoftmaxFlashV3Update", at, tmp, 5, 4, rows.all(dst), rows.wide(mean), rows.wide(sum), rows.wide(max), rows.wide(expMax),
                         rows.all(src), rows.wide(inMean), rows.wide(inSum), rows.wide(inMax), rows.k, of.splitMeanCnt, of.alpha, of.loopCnt);
             else
                 library("SoftmaxFlashV3", at, tmp, 4, 1, rows.all(dst), rows.wide(mean), rows.wide(sum), rows.wide(max), rows.all(src),
                         rows.k, of.splitMeanCnt, of.alpha, of.loopCnt))

// ---- Normalisation ---------------------------------------------------------------------------------------------------------

enum class ReducePattern { AR, RA };

#define ASCENDC_NORM(X)                                                                                                   \
    const LocalTensor<T> &dst, const LocalTensor<T> &mean, const LocalTensor<T> &X, const LocalTensor<T> &src
ASCENDC_BOTH((class T, bool reuse = false), LayerNorm, (ASCENDC_NORM(variance), const LocalTensor<T> &gamma, const LocalTensor<T> &beta),
             (T epsilon, const LayerNormTiling &tiling), uint32_t m = tiling.bLength * tiling.sLength; uint32_t h = tiling.hLength;
             library("LayerNorm", at, tmp, 3, 3, first(dst, m * h), first(mean, m), first(variance, m), first(src, m * h), first(gamma, h),
                     first(beta, h), h, tiling.originalHLength, epsilon, 0))
struct LayerNormConfig {
    bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false, isOutputRstd = true;
};
struct LayerNormPara {
    uint32_t aLength, rLength, rLengthWithPadding;
};
constexpr LayerNormConfig LNCFG_NORM = {};
ASCENDC_BOTH((class U, class T, bool reuse = false, const LayerNormConfig &config = LNCFG_NORM), LayerNorm,
             (const LocalTensor<T> &dst, const LocalTensor<float> &mean, const LocalTensor<float> &rstd, const LocalTensor<T> &src,
              const LocalTensor<U> &gamma, const LocalTensor<U> &beta, float epsilon),
             (const LayerNormPara &para, const LayerNormSeparateTiling &),
             static_assert(!config.isNoBeta && !config.isNoGamma && !config.isOnlyOutput, "LayerNorm without gamma, beta or statistics is not offered");
             uint32_t m = para.aLength; uint32_t h = para.rLengthWithPadding;
             library("LayerNorm", at, tmp, 3, 3, first(dst, m * h), first(mean, m), first(rstd, m), first(src, m * h), first(gamma, h),
                     first(beta, h), h, para.rLength, epsilon, config.isOutputRstd))
struct NormalizeConfig {
    ReducePattern reducePattern = ReducePattern::AR;
    int32_t aLength = -1;
    bool isNoBeta = false, isNoGamma = false, isOnlyOutput = false;
};
using NormalizePara = LayerNormPara;
constexpr NormalizeConfig NLCFG_NORM = {};
#define ASCENDC_NORMALIZE(Parameters, tmp)                                                                                \
    template <class U, class T, bool reuse = false, const NormalizeConfig &config = NLCFG_NORM>                           \
    void Normalize(const LocalTensor<T> &dst, const LocalTensor<float> &rstd, const LocalTensor<float> &mean,             \
                   const LocalTensor<float> &variance, const LocalTensor<T> &src, const LocalTensor<U> &gamma,            \
                   const LocalTensor<U> &beta, Parameters float epsilon, const NormalizePara &para, AT) {                 \
        static_assert(!config.isNoBeta && !config.isNoGamma, "Normalize without gamma or beta is not offered");           \
        uint32_t m = para.aLength, h = para.rLengthWithPadding;                                                           \
        library("Normalize", at, tmp, 2, 5, first(dst, m * h), first(rstd, m), first(src, m * h), first(mean, m),         \
                first(variance, m), first(gamma, h), first(beta, h), h, para.rLength, epsilon);                           \
    }
ASCENDC_NORMALIZE(, Nothing()) ASCENDC_NORMALIZE(const LocalTensor<uint8_t> &tmp ASCENDC_COMMA, tmp)
ASCENDC_BOTH((class T, bool reuse = false, bool basic = false), DeepNorm,
             (ASCENDC_NORM(rstd), const LocalTensor<T> &gx, const LocalTensor<T> &beta, const LocalTensor<T> &gamma),
             (T alpha, T epsilon, const DeepNormTiling &tiling), uint32_t m = tiling.bLength * tiling.sLength; uint32_t h = tiling.hLength;
             library("DeepNorm", at, tmp, 3, 4, first(dst, m * h), first(mean, m), first(rstd, m), first(src, m * h), first(gx, m * h),
                     first(gamma, h), first(beta, h), h, tiling.originalHLength, alpha, epsilon))
ASCENDC_BOTH((class T, bool basic = false), RmsNorm, (const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<T> &gamma),
             (T epsilon, const RmsNormTiling &tiling), uint32_t m = tiling.bLength * tiling.sLength; uint32_t h = tiling.hLength;
             library("RmsNorm", at, tmp, 1, 2, first(dst, m * h), first(src, m * h), first(gamma, h), h, tiling.originalHLength, epsilon))
ASCENDC_BOTH((class T, bool reuse = false, bool basic = false), BatchNorm,
             (ASCENDC_NORM(variance), const LocalTensor<T> &gamma, const LocalTensor<T> &beta), (T epsilon, const BatchNormTiling &tiling),
             uint32_t m = tiling.originalBLength; uint32_t h = tiling.meanVarSize;
             library("BatchNorm", at, tmp, 3, 3, first(dst, m * h), first(mean, h), first(variance, h), first(src, m * h), first(gamma, m),
                     first(beta, m), h, epsilon))
ASCENDC_BOTH((class T, bool reuse = false), GroupNorm,
             (ASCENDC_NORM(variance), const LocalTensor<T> &gamma, const LocalTensor<T> &beta), (T epsilon, const GroupNormTiling &tiling),
             uint32_t m = tiling.n * tiling.g; uint32_t h = tiling.d * tiling.hw;
             library("GroupNorm", at, tmp, 3, 3, first(dst, m * h), first(mean, m), first(variance, m), first(src, m * h),
                     first(gamma, tiling.c), first(beta, tiling.c), h, tiling.hw, tiling.g, epsilon))
struct LayerNormGradShapeInfo {
    DataFormat dataFormat = DataFormat::ND;
};
ASCENDC_BOTH((class T, bool reuse = false), LayerNormGrad,
             (const LocalTensor<T> &dx, const LocalTensor<T> &forGamma, const LocalTensor<T> &dy, const LocalTensor<T> &x,
              const LocalTensor<T> &variance, const LocalTensor<T> &mean, const LocalTensor<T> &gamma),
             (T epsilon, const LayerNormGradTiling &tiling, const LayerNormGradShapeInfo & = {}),
             uint32_t m = tiling.bLength * tiling.sLength; uint32_t h = tiling.hLength;
             library("LayerNormGrad", at, tmp, 2, 5, first(dx, m * h), first(forGamma, m * h), first(dy, m * h), first(x, m * h),
                     first(variance, m), first(mean, m), first(gamma, h), h, tiling.originalHLength, epsilon))
ASCENDC_BOTH((class T, bool reuse = false), LayerNormGradBeta,
             (const LocalTensor<T> &dGamma, const LocalTensor<T> &dBeta, const LocalTensor<T> &forGamma, const LocalTensor<T> &dy),
             (const LayerNormGradBetaTiling &tiling), uint32_t m = tiling.bLength * tiling.sLength; uint32_t h = tiling.hLength;
             library("LayerNormGradBeta", at, tmp, 2, 2, first(dGamma, h), first(dBeta, h), first(forGamma, m * h), first(dy, m * h), h))
struct WelfordUpdateConfig {
    bool isInplace = false;
};
struct WelfordUpdateParam {
    uint32_t rnLength = 1, abLength = 0, abComputeLength = 0;
    float nRec = 1;
};
constexpr WelfordUpdateConfig WFUPDATE_DEFAULT_CFG = {};
ASCENDC_BOTH((class T, class U, bool reuse = false, const WelfordUpdateConfig &config = WFUPDATE_DEFAULT_CFG), WelfordUpdate,
             (const LocalTensor<U> &mean, const LocalTensor<U> &variance, const LocalTensor<U> &inMean, const LocalTensor<U> &inVariance,
              const LocalTensor<T> &x),
             (const WelfordUpdateParam &para), uint32_t n = para.abComputeLength;
             library("WelfordUpdate", at, tmp, 2, 3, first(mean, n), first(variance, n), first(inMean, n), first(inVariance, n), first(x, n),
                     para.nRec))
struct WelfordFinalizeConfig {
    bool isCorrection = false;
};
struct WelfordFinalizePara {
    uint32_t rnLength = 1, abLength = 0, headCount = 0, headCountLength = 0, tailCount = 0, tailCountLength = 0;
    float abRec = 0, rRec = 0, rRecWithCorrection = 0;
};
constexpr WelfordFinalizeConfig WFFINALIZE_DEFAULT_CFG = {};
#define ASCENDC_FINAL                                                                                                     \
    const LocalTensor<float> &mean, const LocalTensor<float> &variance, const LocalTensor<float> &inMean, const LocalTensor<float> &inVariance
ASCENDC_BOTH((bool reuse = false, const WelfordFinalizeConfig &config = WFFINALIZE_DEFAULT_CFG), WelfordFinalize, (ASCENDC_FINAL),
             (const WelfordFinalizePara &para), uint32_t n = para.abLength;
             library("WelfordFinalize", at, tmp, 2, 2, first(mean, 1), first(variance, 1), first(inMean, n), first(inVariance, n), para.abRec,
                     para.rRec, para.rnLength))
ASCENDC_BOTH((bool reuse = false, const WelfordFinalizeConfig &config = WFFINALIZE_DEFAULT_CFG), WelfordFinalize,
             (ASCENDC_FINAL, const LocalTensor<int32_t> &counts), (const WelfordFinalizePara &para), uint32_t n = para.abLength;
             library("WelfordCounted", at, tmp, 2, 3, first(mean, 1), first(variance, 1), first(inMean, n), first(inVariance, n),
                     first(counts, n), para.rRec))

// ---- Reductions of an axis ---------------------------------------------------------------------------------------------------

namespace Pattern::Reduce {
struct AR {};
struct RA {};
}  // namespace Pattern::Reduce
template <class T, class pattern, class Buffer>
void reduced(const char *name, Place at, const Buffer &tmp, const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t *shape, bool pad) {
    constexpr uint32_t lanes = 32 / sizeof(T);
    constexpr bool last = std::is_same_v<pattern, Pattern::Reduce::AR>;
    uint32_t stored = pad ? (shape[1] + lanes - 1) / lanes * lanes : shape[1];
    library("Reduce", at, tmp, 1, 1, first(dst, last ? shape[0] : stored), first(src, shape[0] * stored), Text{name}, stored, shape[1], last);
}
#define ASCENDC_REDUCE(Name, numpy)                                                                                       \
    ASCENDC_BOTH((class T, class pattern, bool reuse = false, class = decltype(pattern{})), Name,                         \
                 (const LocalTensor<T> &dst, const LocalTensor<T> &src), (const uint32_t *shape, bool srcInnerPad),       \
                 reduced<T, pattern>(numpy, at, tmp, dst, src, shape, srcInnerPad))
ASCENDC_REDUCE(ReduceSum, "sum") ASCENDC_REDUCE(ReduceMax, "max") ASCENDC_REDUCE(ReduceMin, "min") ASCENDC_REDUCE(ReduceMean, "mean")
ASCENDC_REDUCE(ReduceProd, "prod") ASCENDC_REDUCE(ReduceAny, "any") ASCENDC_REDUCE(ReduceAll, "all")
struct SumParams {
    uint32_t outter = 1, inner = 0, n = 0;
};
struct MeanParams {
    uint32_t outter = 1, inner = 0, n = 0;
};
#define ASCENDC_LAST(Name, Params, numpy)                                                                                 \
    ASCENDC_BOTH((class T, auto... options), Name, (const LocalTensor<T> &dst, const LocalTensor<T> &src), (const Params &of), \
                 library("Reduce", at, tmp, 1, 1, first(dst, of.outter), first(src, of.outter * of.inner), Text{numpy}, of.inner, of.n, 1))
ASCENDC_LAST(Sum, SumParams, "sum") ASCENDC_LAST(Mean, MeanParams, "mean")
template <class T, class Acc, auto... options>
void Mean(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &tmp, const MeanParams &of, AT) {
    Mean<T>(dst, src, tmp, of, at);
}
enum class CumSumAlgorithm { CUMSUM_ALGORITHM_LINEBYLINE, CUMSUM_ALGORITHM_SKLANSKY };
struct CumSumConfig {
    bool isLastAxis = true, isReuseSource = false, outputLastRow = false;
    CumSumAlgorithm algorithm = CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE;
};
struct CumSumInfo {
    uint32_t outter = 0, inner = 0;
};
constexpr CumSumConfig defaultCumSumConfig = {};
ASCENDC_BOTH((class T, const CumSumConfig &config = defaultCumSumConfig), CumSum,
             (const LocalTensor<T> &dst, const LocalTensor<T> &lastRow, const LocalTensor<T> &src), (const CumSumInfo &of),
             uint32_t n = of.outter * of.inner;
             if (config.outputLastRow)
                 library("CumSum", at, tmp, 2, 1, first(dst, n), first(lastRow, of.inner), first(src, n), of.inner, config.isLastAxis);
             else library("CumSum", at, tmp, 1, 1, first(dst, n), first(src, n), of.inner, config.isLastAxis))

// ---- Sorting: pairs of a score and its index, 8 bytes each ---------------------------------------------------------------------

template <class T>
constexpr uint32_t pairs(uint32_t count) { return count * uint32_t(8 / sizeof(T)); }
template <class T>
uint32_t GetSortLen(uint32_t count) { return pairs<T>(count); }
template <class T>
uint32_t GetSortOffset(uint32_t offset) { return pairs<T>(offset); }
template <class P>
uint32_t GetSortTmpSize(const P &, uint32_t count, uint32_t) { return count * 8; }
template <class P>
uint32_t GetConcatTmpSize(const P &, uint32_t count, uint32_t size) { return count * size; }
template <class T>
void Sort32(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &index, int32_t repeats, AT) {
    uint32_t n = uint32_t(repeats) * 32;
    library("Sort", at, Nothing(), 1, 2, first(dst, pairs<T>(n)), first(src, n), first(index, n), 32);
}
template <class T>
void Concat(LocalTensor<T> &concat, const LocalTensor<T> &src, const LocalTensor<T> &, int32_t, AT) { concat = src; }
template <class T, bool isFullSort>
void Sort(const LocalTensor<T> &dst, const LocalTensor<T> &concat, const LocalTensor<uint32_t> &index, const LocalTensor<T> &, int32_t repeats,
          AT) {
    uint32_t n = uint32_t(repeats) * 32;
    library("Sort", at, Nothing(), 1, 2, first(dst, pairs<T>(n)), first(concat, n), first(index, n), isFullSort ? n : 32);
}
template <class T>
void Extract(const LocalTensor<T> &dst, const LocalTensor<uint32_t> &index, const LocalTensor<T> &sorted, int32_t repeats, AT) {
    uint32_t n = uint32_t(repeats) * 32;
    library("Extract", at, Nothing(), 2, 1, first(dst, n), first(index, n), first(sorted, pairs<T>(n)));
}
template <class T>
struct MrgSortSrcList {
    LocalTensor<T> src1, src2, src3, src4;
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T> &a, const LocalTensor<T> &b, const LocalTensor<T> &c, const LocalTensor<T> &d)
        : src1(a), src2(b), src3(c), src4(d) {}
};
struct MrgSort4Info {
    uint16_t elementLengths[4] = {};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0;
    uint16_t repeatTimes = 1;
    MrgSort4Info() = default;
    MrgSort4Info(const uint16_t *lengths, bool suspend, uint16_t valid, uint16_t repeats)
        : ifExhaustedSuspension(suspend), validBit(valid), repeatTimes(repeats) {
        std::copy_n(lengths, 4, elementLengths);
    }
};
template <class T>
void MrgSort(const LocalTensor<T> &dst, const MrgSortSrcList<T> &from, const MrgSort4Info &of, AT) {
    if (of.ifExhaustedSuspension) absent("MrgSort", "merging that stops where one queue is exhausted is not offered", at);
    uint32_t a = of.elementLengths[0], b = of.elementLengths[1], c = of.validBit & 4 ? of.elementLengths[2] : 0,
             d = of.validBit & 8 ? of.elementLengths[3] : 0, all = a + b + c + d;
    for (uint32_t k = 0; k < of.repeatTimes; ++k) {
        uint32_t past = pairs<T>(k * all);
        auto part = [&](const LocalTensor<T> &tensor, uint32_t n) { return First<T>{tensor, pairs<T>(n)}; };
        LocalTensor<T> to = dst[past], q1 = from.src1[past], q2 = from.src2[past], q3 = from.src3[past], q4 = from.src4[past];
        if (d) library("Merge", at, Nothing(), 1, 4, part(to, all), part(q1, a), part(q2, b), part(q3, c), part(q4, d));
        else if (c) library("Merge", at, Nothing(), 1, 3, part(to, all), part(q1, a), part(q2, b), part(q3, c));
        else library("Merge", at, Nothing(), 1, 2, part(to, all), part(q1, a), part(q2, b));
    }
}
template <class T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T> &dst, const MrgSortSrcList<T> &from, const uint16_t lengths[4], uint32_t sorted[4], uint16_t valid,
             int32_t repeats, AT) {
    MrgSort(dst, from, MrgSort4Info(lengths, isExhaustedSuspension, valid, uint16_t(repeats)), at);
    std::copy_n(lengths, 4, sorted);
}
enum class SortType { RADIX_SORT, MERGE_SORT };
struct SortConfig {
    SortType type = SortType::RADIX_SORT;
    bool isDescend = false;
};
struct TopKInfo {
    int32_t outter = 1, inner = 0, n = 0;
};
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool reuse = false, TopKMode mode = TopKMode::TOPK_NORMAL, class Buffer>
void top_k(const LocalTensor<T> &dst, const LocalTensor<int32_t> &index, const LocalTensor<T> &src, const LocalTensor<int32_t> &srcIndex,
           const LocalTensor<bool> &finish, const Buffer &tmp, int32_t k, const TopKInfo &of, bool isLargest, Place at) {
    constexpr uint32_t lanes = mode == TopKMode::TOPK_NORMAL ? 32 / sizeof(T) : 1, wide = mode == TopKMode::TOPK_NORMAL ? 8 : 1;
    uint32_t m = uint32_t(of.outter), n = m * uint32_t(of.inner), each = (k + lanes - 1) / lanes * lanes, places = (k + wide - 1) / wide * wide;
    // of the index and of what is finished only what there is
    auto &given = isInitIndex ? srcIndex : index;
    auto done = finish.template ReinterpretCast<uint8_t>();
    uint32_t indices = isInitIndex ? (mode == TopKMode::TOPK_NORMAL ? uint32_t(of.inner) : n) : 0;
    if (isHasfinish)
        library("TopK", at, tmp, 2, 3, first(dst, m * each), first(index, m * places), first(src, n), first(given, indices), first(done, m), m,
                of.n, k, isLargest);
    else
        library("TopK", at, tmp, 2, 2, first(dst, m * each), first(index, m * places), first(src, n), first(given, indices), m, of.n, k,
                isLargest);
}
#define ASCENDC_TOP                                                                                                       \
    const LocalTensor<T> &dst, const LocalTensor<int32_t> &index, const LocalTensor<T> &src, const LocalTensor<int32_t> &srcIndex, \
        const LocalTensor<bool> &finish
ASCENDC_BOTH((class T, bool isInitIndex = false, bool isHasfinish = false, bool reuse = false, TopKMode mode = TopKMode::TOPK_NORMAL), TopK,
             (ASCENDC_TOP), (int32_t k, const TopkTiling &, const TopKInfo &of, bool isLargest = true),
             (top_k<T, isInitIndex, isHasfinish, reuse, mode>(dst, index, src, srcIndex, finish, tmp, k, of, isLargest, at)))

// ---- Choices, paddings, turning ------------------------------------------------------------------------------------------------

struct SelectWithBytesMaskShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};
// Where the mask is 0 src0, else src1; one of them is a number.
template <class T, class U, bool reuseMask = true>
void Select(const LocalTensor<T> &dst, const LocalTensor<T> &src, T number, const LocalTensor<U> &mask, const LocalTensor<uint8_t> &tmp,
            const SelectWithBytesMaskShapeInfo &of, AT) {
    uint32_t n = of.firstAxis * of.srcLastAxis;
    library("SelectBytes", at, tmp, 1, 2, first(dst, n), first(src, n), first(mask.template ReinterpretCast<bytes_of<U>>(), of.firstAxis * of.maskLastAxis),
            of.srcLastAxis, number, 1);
}
template <class T, class U, bool reuseMask = true>
void Select(const LocalTensor<T> &dst, T number, const LocalTensor<T> &src, const LocalTensor<U> &mask, const LocalTensor<uint8_t> &tmp,
            const SelectWithBytesMaskShapeInfo &of, AT) {
    uint32_t n = of.firstAxis * of.srcLastAxis;
    library("SelectBytes", at, tmp, 1, 2, first(dst, n), first(src, n), first(mask.template ReinterpretCast<bytes_of<U>>(), of.firstAxis * of.maskLastAxis),
            of.srcLastAxis, number, 0);
}
template <class T, class U, bool reuseMask = true, class A, class B>
void SelectWithBytesMask(const LocalTensor<T> &dst, const A &src0, const B &src1, const LocalTensor<U> &mask, const LocalTensor<uint8_t> &tmp,
                         const SelectWithBytesMaskShapeInfo &of, AT) {
    if constexpr (std::is_convertible_v<B, float>) Select<T, U>(dst, src0, T(src1), mask, tmp, of, at);
    else Select<T, U>(dst, T(src0), src1, mask, tmp, of, at);
}
struct DropOutShapeInfo {
    uint32_t firstAxis = 0, srcLastAxis = 0, maskLastAxis = 0;
};
// Modes 1 and 2 take a byte an element, 3 and 4 a bit; 0 goes by the lengths.
ASCENDC_BOTH((class T, bool isInitBitMode = false, uint32_t dropOutMode = 0), DropOut,
             (const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &mask), (float keepProb, const DropOutShapeInfo &of),
             uint32_t n = of.firstAxis * of.srcLastAxis;
             bool bits = dropOutMode > 2 || (dropOutMode == 0 && of.maskLastAxis < of.srcLastAxis);
             library(bits ? "DropOutBits" : "DropOut", at, tmp, 1, 2, first(dst, n), first(src, n),
                     first(mask, of.firstAxis * of.maskLastAxis), of.srcLastAxis, keepProb))
struct PadParams {
    uint16_t leftPad = 0, rightPad = 0;
    int32_t padValue = 0;
};
struct UnPadParams {
    uint16_t leftPad = 0, rightPad = 0;
};
template <class T>
constexpr uint32_t whole_blocks(uint32_t count) { return (count + 32 / sizeof(T) - 1) / (32 / sizeof(T)) * (32 / sizeof(T)); }
// A row of whole blocks holds what pads it already; another is spread to whole blocks.
#define ASCENDC_PAD(Buffer, tmp)                                                                                          \
    template <class T>                                                                                                    \
    void Pad(const LocalTensor<T> &dst, const LocalTensor<T> &src, const PadParams &of, Buffer const PadTiling &tiling, AT) { \
        uint32_t m = tiling.srcHeight, w = tiling.srcWidth, to = whole_blocks<T>(w + of.leftPad + of.rightPad);            \
        if (w % (32 / sizeof(T)) == 0) to = w;                                                                            \
        uint32_t held = to == w ? tiling.srcOriWidth : w;                                                                 \
        library("Pad", at, tmp, 1, 1, first(dst, m * to), first(src, m * w), w, held, of.leftPad, to - held - of.leftPad, of.padValue); \
    }                                                                                                                     \
    template <class T>                                                                                                    \
    void UnPad(const LocalTensor<T> &dst, const LocalTensor<T> &src, const UnPadParams &of, Buffer const UnPadTiling &tiling, AT) { \
        uint32_t m = tiling.srcHeight, w = tiling.srcWidth, to = w - of.rightPad;                                         \
        library("UnPad", at, tmp, 1, 1, first(dst, m * to), first(src, m * w), w, to);                                   \
    }
ASCENDC_PAD(, Nothing()) ASCENDC_PAD(const LocalTensor<uint8_t> &tmp ASCENDC_COMMA, tmp)

// ---- Quantisation --------------------------------------------------------------------------------------------------------------

// int8_t of half(src) * half(scale) + half(offset), each step rounded to half; a scale and an offset are numbers, or one a column.
template <class T, class Buffer, class S, class O>
void quant(Place at, const Buffer &tmp, const LocalTensor<int8_t> &dst, const LocalTensor<T> &src, const S &scale, const O &offset, uint32_t n) {
    if constexpr (std::is_convertible_v<S, float>) library("QuantScalar", at, tmp, 1, 1, first(dst, n), first(src, n), scale, offset);
    else {
        uint32_t columns = scale.GetSize(at);
        if constexpr (std::is_convertible_v<O, float>)
            library("QuantRows", at, tmp, 1, 2, first(dst, n), first(src, n), first(scale, columns), columns, float(offset));
        else library("QuantRowsBoth", at, tmp, 1, 3, first(dst, n), first(src, n), first(scale, columns), first(offset, columns), columns);
    }
}
#define ASCENDC_QUANT(Head)                                                                                               \
    ASCENDC_BOTH(Head, AscendQuant, (const LocalTensor<int8_t> &dst, const LocalTensor<T> &src),                          \
                 (const S &scale, const O &offset, uint32_t calCount), quant(at, tmp, dst, src, scale, offset, calCount)) \
    ASCENDC_BOTH(Head, AscendQuant, (const LocalTensor<int8_t> &dst, const LocalTensor<T> &src), (const S &scale, const O &offset), \
                 quant(at, tmp, dst, src, scale, offset, src.GetSize(at)))
ASCENDC_QUANT((class T, bool reuse = false, class S, class O))
struct DequantParams {
    uint32_t m = 1, n = 0, calCount = 0;
};
enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };
template <class T, class S, DeQuantMode mode, class Buffer>
void dequant(Place at, const Buffer &tmp, const LocalTensor<T> &dst, const LocalTensor<int32_t> &src, const S &scale, DequantParams of) {
    if (mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW && of.m == 1 && of.calCount && of.calCount % (32 / sizeof(T)) == 0 && of.n % of.calCount == 0)
        of = {of.n / of.calCount, of.calCount, of.calCount};
    uint32_t to = whole_blocks<T>(of.n);
    if constexpr (std::is_convertible_v<S, float>)
        library("Dequant", at, tmp, 1, 1, first(dst, of.m * to), first(src, of.m * of.n), of.n, of.calCount, float(scale));
    else
        library("DequantRows", at, tmp, 1, 2, first(dst, of.m * to), first(src, of.m * of.n), first(scale, of.calCount), of.n, of.calCount);
}
ASCENDC_BOTH((class T, class S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW), AscendDequant,
             (const LocalTensor<T> &dst, const LocalTensor<int32_t> &src, const LocalTensor<S> &scale), (const DequantParams &of),
             (dequant<T, LocalTensor<S>, mode>(at, tmp, dst, src, scale, of)))
ASCENDC_BOTH((class T, class S, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW, class = std::enable_if_t<std::is_convertible_v<S, float>>),
             AscendDequant, (const LocalTensor<T> &dst, const LocalTensor<int32_t> &src, const S scale), (const DequantParams &of),
             (dequant<T, S, mode>(at, tmp, dst, src, scale, of)))
struct AntiQuantShapeInfo {
    uint32_t offsetHeight = 0, offsetWidth = 0, scaleHeight = 0, scaleWidth = 0;
};
// (src + offset) * scale, of groups of rows (of columns where it is transposed).
template <class I, class T, bool isTranspose>
void AscendAntiQuant(const LocalTensor<T> &dst, const LocalTensor<I> &src, const LocalTensor<T> &offset, const LocalTensor<T> &scale,
                     const LocalTensor<uint8_t> &tmp, uint32_t k, const AntiQuantShapeInfo &of = {}, AT) {
    auto info = offset.GetShapeInfo();
    uint32_t height = of.scaleHeight ? of.scaleHeight : info.shape[0], width = of.scaleWidth ? of.scaleWidth : info.shape[1];
    uint32_t n = src.GetSize(at);
    library(std::is_same_v<T, half> ? "AntiQuantHalf" : "AntiQuant", at, tmp, 1, 3, first(dst, n), first(src, n), first(offset, height * width), first(scale, height * width),
            isTranspose ? k : n / k, height, width);
}

// ---- Forms of other calls with a temporary buffer --------------------------------------------------------------------------------

template <class T, uint8_t taylorExpandLevel, bool reuse = false>
void Exp(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &tmp, uint32_t count, AT) {
    call("Mathematics", at, Text{"Exp"}, dst, tmp, count, src);
}
template <class T, uint8_t taylorExpandLevel, bool reuse = false>
void Exp(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint32_t count, AT) {
    call("Mathematics", at, Text{"Exp"}, dst, Nothing(), count, src);
}
template <class T, class U, bool reuse = false>
void Axpy(const LocalTensor<T> &dst, const LocalTensor<U> &src, const U scalar, const LocalTensor<uint8_t> &, uint32_t count, AT) {
    counted(), call("Axpy", at, dst, src, scalar, count);
}
template <class T>
void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, TransposeType type, const ConfusionTransposeTiling &tiling, AT) {
    const uint32_t *size = tiling.param;
    if (type != TransposeType::TRANSPOSE_NZ2ND_0213) absent("Transpose", "this TransposeType is not offered", at);
    uint32_t n = size[0] * size[1] * size[2] * size[3];
    library("FromNz", at, Nothing(), 1, 1, first(dst, n), first(src, n), size[0], size[1], size[2], size[3]);
}
template <class T>
void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &, TransposeType type,
               const ConfusionTransposeTiling &tiling, AT) { Transpose(dst, src, type, tiling, at); }
// Layouts of the host: sizes alone, as arrays.
template <class... T>
constexpr std::array<int64_t, sizeof...(T)> MakeShape(T... sizes) { return {int64_t(sizes)...}; }
template <class... T>
constexpr std::array<int64_t, sizeof...(T)> MakeStride(T... steps) { return {int64_t(steps)...}; }
template <class S, class D>
struct Layout {
    S shape;
    D stride;
};
template <class S, class D>
constexpr Layout<S, D> MakeLayout(const S &shape, const D &stride) { return {shape, stride}; }
struct TransDataConfig {
    DataFormat srcFormat, dstFormat;
};
template <class S, class D>
struct TransDataParams {
    S srcLayout;
    D dstLayout;
};
// NCDHW, whose planes are filled up to 16 elements, to or from a form with channels (and batches) by 16.
ASCENDC_BOTH((const TransDataConfig &config, class T, class S, class D), TransData, (const LocalTensor<T> &dst, const LocalTensor<T> &src),
             (const TransDataParams<S ASCENDC_COMMA D> &of),
             static_assert(sizeof(T) == 2, "TransData takes formats of 16 bits");
             constexpr bool into = config.srcFormat == DataFormat::NCDHW;
             constexpr DataFormat other = into ? config.dstFormat : config.srcFormat;
             static_assert((into || config.dstFormat == DataFormat::NCDHW) && (other == DataFormat::NDC1HWC0 || other == DataFormat::FRACTAL_Z_3D),
                           "TransData turns NCDHW into NDC1HWC0 or FRACTAL_Z_3D, or back");
             constexpr bool fractal = other == DataFormat::FRACTAL_Z_3D;
             const int64_t *size = into ? of.srcLayout.shape.data() : of.dstLayout.shape.data();
             uint32_t n = size[0]; uint32_t c = size[1]; uint32_t d = size[2]; uint32_t plane = size[3] * size[4];
             uint32_t flat = n * c * d * ((plane + 15) / 16 * 16);
             uint32_t split = (fractal ? (n + 15) / 16 * 16 : n) * ((c + 15) / 16 * 16) * d * plane;
             library(fractal ? into ? "ToFractal" : "FromFractal" : into ? "ToNdc1hwc0" : "FromNdc1hwc0", at, tmp, 1, 1,
                     first(dst, into ? split : flat), first(src, into ? flat : split), n, c, d, plane))
template <class T, TPosition>
bool PopStackBuffer(LocalTensor<T> &buffer, AT) {
    return buffer = LocalTensor<T>(make("TPipe.Stack", at, Handle{TPipe::newest->handle}, Format<T>())), true;
}
struct AscendCUtils {
    static void SetOverflow(uint64_t) {}
    static constexpr int32_t GetC0Count(int32_t bytes) { return 32 / bytes; }
    static constexpr int32_t GetBitSize(int32_t bytes) { return bytes * 8; }
    static void SetMaskCount() { AscendC::SetMaskCount(); }
    static void SetMaskNorm() { AscendC::SetMaskNorm(); }
    template <class T>
    static void SetMask(uint64_t high, uint64_t low) { SetVectorMask<T>(high, low); }
    template <class T>
    static void SetMask(int32_t length) { SetVectorMask<T>(length); }
};

}  // namespace AscendC
