#include "register/tilingdata_base.h"

namespace optiling {
constexpr int32_t AXES = 3;
BEGIN_TILING_DATA_DEF(HardswishGradTilingData)
TILING_DATA_FIELD_DEF(uint8_t, flag);
TILING_DATA_FIELD_DEF(uint32_t, totalLength);
TILING_DATA_FIELD_DEF(float, factor);
TILING_DATA_FIELD_DEF_ARR(int64_t, AXES, axes);
END_TILING_DATA_DEF;

REGISTER_TILING_DATA_CLASS(HardswishGrad, HardswishGradTilingData)
}  // namespace optiling
