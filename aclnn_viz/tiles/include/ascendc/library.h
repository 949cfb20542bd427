// Calls that Ascend C builds from vector instructions: mathematics, activations, softmax, broadcasts, sums of rows.
#pragma once

#include "order.h"
#include "library_tiling.h"

namespace AscendC {

// Each with and without a temporary buffer, of all elements or of a count.
#define ASCENDC_MATHEMATICS_1(Name)                                                                                       \
    template <class T, auto... options, class U, class = std::enable_if_t<!std::is_same_v<T, void>>>                      \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, const LocalTensor<uint8_t> &tmp, uint32_t count, AT) { \
        call("Mathematics", at, Text{#Name}, dst, tmp, count, src);                                                       \
    }                                                                                                                     \
    template <class T, auto... options, class U>                                                                          \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, const LocalTensor<uint8_t> &tmp, AT) {                \
        call("Mathematics", at, Text{#Name}, dst, tmp, src.GetSize(at), src);                                             \
    }                                                                                                                     \
    template <class T, auto... options, class U>                                                                          \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, uint32_t count, AT) {                                 \
        call("Mathematics", at, Text{#Name}, dst, Nothing(), count, src);                                                 \
    }                                                                                                                     \
    template <class T, auto... options, class U>                                                                          \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src, AT) {                                                 \
        call("Mathematics", at, Text{#Name}, dst, Nothing(), src.GetSize(at), src);                                       \
    }                                                                                                                     \
    template <class T, bool isReuseSource = false, class R>                                                               \
    R Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count) {                                  \
        return Name<T>(dst, src, count, latest);  /* for its address, as of Add */                                        \
    }
#define ASCENDC_MATHEMATICS_2(Name)                                                                                       \
    template <class T, auto... options, class U, class S>                                                                 \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const S &src1, const LocalTensor<uint8_t> &tmp,      \
              uint32_t count, AT) { call("Mathematics", at, Text{#Name}, dst, tmp, count, src0, src1); }                  \
    template <class T, auto... options, class U, class S>                                                                 \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const S &src1, const LocalTensor<uint8_t> &tmp, AT) { \
        call("Mathematics", at, Text{#Name}, dst, tmp, src0.GetSize(at), src0, src1);                                     \
    }                                                                                                                     \
    template <class T, auto... options, class U, class S>                                                                 \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const S &src1, uint32_t count, AT) {                 \
        call("Mathematics", at, Text{#Name}, dst, Nothing(), count, src0, src1);                                          \
    }                                                                                                                     \
    template <class T, auto... options, class U, class S>                                                                 \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const S &src1, AT) {                                 \
        call("Mathematics", at, Text{#Name}, dst, Nothing(), src0.GetSize(at), src0, src1);                               \
    }
#define ASCENDC_MATHEMATICS_SCALAR_FIRST(Name)                                                                            \
    template <class T, auto... options>                                                                                   \
    void Name(const LocalTensor<T> &dst, const T &src0, const LocalTensor<T> &src1, const LocalTensor<uint8_t> &tmp,      \
              uint32_t count, AT) { call("Mathematics", at, Text{#Name}, dst, tmp, count, src0, src1); }                  \
    template <class T, auto... options>                                                                                   \
    void Name(const LocalTensor<T> &dst, const T &src0, const LocalTensor<T> &src1, uint32_t count, AT) {                 \
        call("Mathematics", at, Text{#Name}, dst, Nothing(), count, src0, src1);                                          \
    }                                                                                                                     \
    template <class T, auto... options>                                                                                   \
    void Name(const LocalTensor<T> &dst, const T &src0, const LocalTensor<T> &src1, const LocalTensor<uint8_t> &tmp, AT) { \
        call("Mathematics", at, Text{#Name}, dst, tmp, src1.GetSize(at), src0, src1);                                     \
    }                                                                                                                     \
    template <class T, auto... options>                                                                                   \
    void Name(const LocalTensor<T> &dst, const T &src0, const LocalTensor<T> &src1, AT) {                                 \
        call("Mathematics", at, Text{#Name}, dst, Nothing(), src1.GetSize(at), src0, src1);                               \
    }
#define ASCENDC_MATHEMATICS_3(Name)                                                                                       \
    template <class T, auto... options, class U, class S, class R>                                                        \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const S &src1, const R &src2,                        \
              const LocalTensor<uint8_t> &tmp, uint32_t count, AT) {                                                      \
        call("Mathematics", at, Text{#Name}, dst, tmp, count, src0, src1, src2);                                          \
    }                                                                                                                     \
    template <class T, auto... options, class U, class S, class R>                                                        \
    void Name(const LocalTensor<T> &dst, const LocalTensor<U> &src0, const S &src1, const R &src2, uint32_t count, AT) {  \
        call("Mathematics", at, Text{#Name}, dst, Nothing(), count, src0, src1, src2);                                    \
    }
ASCENDC_MATHEMATICS_1(Sigmoid) ASCENDC_MATHEMATICS_1(Silu) ASCENDC_MATHEMATICS_1(Gelu) ASCENDC_MATHEMATICS_1(FasterGelu)
ASCENDC_MATHEMATICS_1(Tanh) ASCENDC_MATHEMATICS_1(Sin) ASCENDC_MATHEMATICS_1(Cos) ASCENDC_MATHEMATICS_1(Tan)
ASCENDC_MATHEMATICS_1(Sinh) ASCENDC_MATHEMATICS_1(Cosh) ASCENDC_MATHEMATICS_1(Asin) ASCENDC_MATHEMATICS_1(Acos)
ASCENDC_MATHEMATICS_1(Atan) ASCENDC_MATHEMATICS_1(Asinh) ASCENDC_MATHEMATICS_1(Acosh) ASCENDC_MATHEMATICS_1(Atanh)
ASCENDC_MATHEMATICS_1(Erf) ASCENDC_MATHEMATICS_1(Erfc) ASCENDC_MATHEMATICS_1(Floor) ASCENDC_MATHEMATICS_1(Ceil)
ASCENDC_MATHEMATICS_1(Rint) ASCENDC_MATHEMATICS_1(Round) ASCENDC_MATHEMATICS_1(Trunc) ASCENDC_MATHEMATICS_1(Frac)
ASCENDC_MATHEMATICS_1(Sign) ASCENDC_MATHEMATICS_1(Log) ASCENDC_MATHEMATICS_1(Log2) ASCENDC_MATHEMATICS_1(Log10)
ASCENDC_MATHEMATICS_1(LogicalNot) ASCENDC_MATHEMATICS_1(IsNan) ASCENDC_MATHEMATICS_1(IsInf) ASCENDC_MATHEMATICS_1(IsFinite)
ASCENDC_MATHEMATICS_2(Power) ASCENDC_MATHEMATICS_SCALAR_FIRST(Power) ASCENDC_MATHEMATICS_2(Fmod) ASCENDC_MATHEMATICS_2(Hypot) ASCENDC_MATHEMATICS_2(Xor)
ASCENDC_MATHEMATICS_2(GeGLU) ASCENDC_MATHEMATICS_2(ReGlu)
ASCENDC_MATHEMATICS_2(LogicalAnd) ASCENDC_MATHEMATICS_2(LogicalOr) ASCENDC_MATHEMATICS_2(LogicalXor)
ASCENDC_MATHEMATICS_2(AddRelu) ASCENDC_MATHEMATICS_2(SubRelu)
#define ASCENDC_CLAMP(Name)  /* its number comes behind the temporary buffer */                                            \
    template <class T, auto... options, class Number>                                                                     \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint8_t> &tmp, Number scalar,       \
              uint32_t count, AT) { call("Mathematics", at, Text{#Name}, dst, tmp, count, src, T(scalar)); }               \
    template <class T, auto... options, class Number>                                                                     \
    void Name(const LocalTensor<T> &dst, const LocalTensor<T> &src, Number scalar, uint32_t count, AT) {                  \
        call("Mathematics", at, Text{#Name}, dst, Nothing(), count, src, T(scalar));                                      \
    }
ASCENDC_CLAMP(ClampMax) ASCENDC_CLAMP(ClampMin)
ASCENDC_MATHEMATICS_3(Fma) ASCENDC_MATHEMATICS_3(Where) ASCENDC_MATHEMATICS_3(Clamp)

template <class T, auto... options, class Number>
void Swish(const LocalTensor<T> &dst, const LocalTensor<T> &src, uint32_t count, Number beta, AT) {
    call("Mathematics", at, Text{"Swish"}, dst, Nothing(), count, src, T(beta));
}
#define ASCENDC_SWIGLU(Parameters, tmp, count)                                                                            \
    template <class T, auto... options>                                                                                   \
    void SwiGLU(const LocalTensor<T> &dst, const LocalTensor<T> &src0, const LocalTensor<T> &src1, const float &beta Parameters, AT) { \
        call("Mathematics", at, Text{"SwiGLU"}, dst, tmp, count, src0, src1, beta);                                       \
    }
#define ASCENDC_BUFFER , const LocalTensor<uint8_t> &tmp
#define ASCENDC_COUNT , uint32_t count
ASCENDC_SWIGLU(, Nothing(), src0.GetSize(at)) ASCENDC_SWIGLU(ASCENDC_COUNT, Nothing(), count)
ASCENDC_SWIGLU(ASCENDC_BUFFER, tmp, src0.GetSize(at)) ASCENDC_SWIGLU(ASCENDC_BUFFER ASCENDC_COUNT, tmp, count)
template <class T, class Number>
void Arange(const LocalTensor<T> &dst, Number first, Number step, int32_t count, AT) {
    call("CreateVecIndex", at, dst, T(0), count);
    call("Muls", at, dst, dst, T(step), count), call("Adds", at, dst, dst, T(first), count);
}
template <class T, class First, class Step>
void ArithProgression(const LocalTensor<T> &dst, First first, Step step, int32_t count, AT) { Arange(dst, T(first), T(step), count, at); }

// dst and src have `dim` dimensions, 1 or 2, and the size of src along `axis` is 1.
template <class T, int32_t dim, int32_t axis, bool reuse = false>
void Broadcast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t *to, const uint32_t *of, AT) {
    if (dim == 1) call("Broadcast", at, dst, src, Nothing(), to[0], of[0]);
    else call("Broadcast", at, dst, src, Nothing(), to[0], to[1], of[0], of[1]);
}
template <class T, int32_t dim, int32_t axis, bool reuse = false>
void Broadcast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t *to, const uint32_t *of,
               const LocalTensor<uint8_t> &tmp, AT) {
    if (dim == 1) call("Broadcast", at, dst, src, tmp, to[0], of[0]);
    else call("Broadcast", at, dst, src, tmp, to[0], to[1], of[0], of[1]);
}
template <class T, int32_t dim, int32_t axis, bool reuse = false, class... A>
void BroadCast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t *to, const uint32_t *of, AT) {
    Broadcast<T, dim, axis>(dst, src, to, of, at);
}
template <class T, int32_t dim, int32_t axis, bool reuse = false>
void BroadCast(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t *to, const uint32_t *of,
               const LocalTensor<uint8_t> &tmp, AT) {
    Broadcast<T, dim, axis>(dst, src, to, of, tmp, at);
}

}  // namespace AscendC
