// What the host's tiling functions of the library fill for the kernel: sizes of the tensor. Names and sizes of the structs are the
// vendor's; fields that nothing here reads have none.
#pragma once

#include <cstdint>

namespace AscendC {
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
}

namespace AscendC::tiling {

struct SoftMaxTiling {
    uint32_t srcM = 0, srcK = 0, srcSize = 0, outMaxM = 0, outMaxK = 0, outMaxSize = 0, splitM = 0, splitK = 0, splitSize = 0, reduceM = 0,
             reduceK = 0, reduceSize = 0, rangeM = 0, tailM = 0, tailSplitSize = 0, tailReduceSize = 0;
};
using LogSoftMaxTiling = SoftMaxTiling;
struct RmsNormTiling {
    uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0;
    float reciprocalOfHLength = 0;
    uint32_t mainBshLength = 0, mainBsLength = 0, mainBsLengthAlign = 0, loopRound = 0, inputTailPos = 0, tailBshLength = 0, tailBsLength = 0;
};
struct LayerNormTiling {
    uint32_t bLength = 0, sLength = 0, hLength = 0, originalHLength = 0, others[22] = {};
};
struct DeepNormTiling : LayerNormTiling {};
struct LayerNormGradTiling {
    uint32_t stackBufferSize = 0, bLength = 0, sLength = 0, hLength = 0, originalHLength = 0, others[25] = {};
};
struct LayerNormGradBetaTiling {
    uint32_t stackBufferSize = 0, bLength = 0, sLength = 0, hLength = 0, originalHLength = 0, others[15] = {};
};
struct LayerNormSeparateTiling {
    uint32_t aLength = 0, rLength = 0, others[24] = {};
};
struct BatchNormTiling {
    uint32_t originalBLength = 0, meanVarSize = 0, others[12] = {}, bshCurLength = 0, shCurLength = 0, more[4] = {};
};
struct GroupNormTiling {
    uint32_t n = 0, c = 0, hw = 0, g = 0, d = 0, hwAlignSize = 0, others[24] = {};
};
struct TopkTiling {
    uint32_t tmpLocalSize = 0, allDataSize = 0, innerDataSize = 0, others[25] = {};
};
struct PadTiling {
    uint32_t srcHeight = 0, srcWidth = 0, srcOriWidth = 0, others[10] = {};
};
struct UnPadTiling {
    uint32_t srcHeight = 0, srcWidth = 0, others[5] = {};
};
struct ConfusionTransposeTiling {
    uint32_t param[18] = {};  // sizes of the dimensions first
};

}  // namespace AscendC::tiling

using AscendC::tiling::BatchNormTiling;
using AscendC::tiling::ConfusionTransposeTiling;
using AscendC::tiling::DeepNormTiling;
using AscendC::tiling::GroupNormTiling;
using AscendC::tiling::LayerNormGradBetaTiling;
using AscendC::tiling::LayerNormGradTiling;
using AscendC::tiling::LayerNormSeparateTiling;
using AscendC::tiling::LayerNormTiling;
using AscendC::tiling::LogSoftMaxTiling;
using AscendC::tiling::PadTiling;
using AscendC::tiling::RmsNormTiling;
using AscendC::tiling::SoftMaxTiling;
using AscendC::tiling::TopkTiling;
using AscendC::tiling::UnPadTiling;

namespace optiling {  // as hosts name them
using namespace AscendC::tiling;
}
