// Names that this machine has no unit for. A source that uses one gets a sentence from the compiler, at its own line.
#pragma once

#include "tiling.h"

// One overload for template arguments that are types, one for values. The condition depends on A, so it fails only where a call is.
#define ASCENDC_ABSENT(Name, sentence)                                                              \
    template <class T = void, class... A>                                                           \
    Anything Name(A &&...) { static_assert(sizeof...(A) > 99, #Name ": " sentence); return {}; }    \
    template <auto first, auto... more, class... A>                                                 \
    Anything Name(A &&...) { static_assert(sizeof...(A) > 99, #Name ": " sentence); return {}; }

namespace matmul {}  // named by kernels that use nothing of it

namespace AscendC {

struct Anything {  // so that the sentence is the only error where a result is used
    template <class T>
    operator T() const;
};

#define MATRIX "the matrix unit is not offered; the kit runs kernels of vector cores, and av.check judges a matrix kernel's results"
ASCENDC_ABSENT(Mmad, MATRIX) ASCENDC_ABSENT(Gemm, MATRIX) ASCENDC_ABSENT(Conv2D, MATRIX) ASCENDC_ABSENT(Fixpipe, MATRIX)
ASCENDC_ABSENT(LoadData, MATRIX) ASCENDC_ABSENT(LoadDataWithTranspose, MATRIX) ASCENDC_ABSENT(LoadDataWithSparse, MATRIX)
ASCENDC_ABSENT(BroadCastVecToMM, MATRIX) ASCENDC_ABSENT(SetFixPipeConfig, MATRIX) ASCENDC_ABSENT(SetHF32Mode, MATRIX)
#undef MATRIX

#define REGISTERS "registers of Atlas 950 are not offered; the kit runs kernels of Atlas A2 and A3, with tensors in the Unified Buffer"
ASCENDC_ABSENT(LoadAlign, REGISTERS) ASCENDC_ABSENT(StoreAlign, REGISTERS) ASCENDC_ABSENT(CreateMask, REGISTERS)
ASCENDC_ABSENT(UpdateMask, REGISTERS) ASCENDC_ABSENT(Scatter, REGISTERS) ASCENDC_ABSENT(Subs, REGISTERS)
ASCENDC_ABSENT(Divs, REGISTERS) ASCENDC_ABSENT(Interleave, REGISTERS) ASCENDC_ABSENT(DeInterleave, REGISTERS)
#undef REGISTERS

#define LOOPS "loops of copies, of Atlas 950, are not offered; copy in a loop"
ASCENDC_ABSENT(SetLoopModePara, LOOPS) ASCENDC_ABSENT(ResetLoopModePara, LOOPS)
#undef LOOPS

#define SORTING "sorting of region proposals is not offered; use Sort32 and MrgSort, read elements with GetValue, or judge the results of the device with av.check"
ASCENDC_ABSENT(MrgSort4, SORTING) ASCENDC_ABSENT(GetMrgSortResult, SORTING) ASCENDC_ABSENT(RpSort16, SORTING) ASCENDC_ABSENT(ProposalConcat, SORTING)
ASCENDC_ABSENT(ProposalExtract, SORTING)
#undef SORTING

ASCENDC_ABSENT(TransDataTo5HD, "turning of blocks by their addresses is not offered; use Transpose of 16 x 16 elements")

#define CONTROL "control registers are not offered"
ASCENDC_ABSENT(GetCtrlSpr, CONTROL) ASCENDC_ABSENT(SetCtrlSpr, CONTROL) ASCENDC_ABSENT(ResetCtrlSpr, CONTROL)
#undef CONTROL

#define QUANTISATION "conversions with a scale are not offered; cast int32_t to float, multiply, and cast to half"
ASCENDC_ABSENT(SetDeqScale, QUANTISATION) ASCENDC_ABSENT(CastDequant, QUANTISATION) ASCENDC_ABSENT(AddDeqRelu, QUANTISATION)
#undef QUANTISATION

#define SCALARS "atomic access by the scalar unit is not offered; copy with SetAtomicAdd"
ASCENDC_ABSENT(AtomicAdd, SCALARS) ASCENDC_ABSENT(AtomicCas, SCALARS) ASCENDC_ABSENT(AtomicExch, SCALARS)
ASCENDC_ABSENT(AtomicMax, SCALARS) ASCENDC_ABSENT(AtomicMin, SCALARS)
#undef SCALARS

}  // namespace AscendC
