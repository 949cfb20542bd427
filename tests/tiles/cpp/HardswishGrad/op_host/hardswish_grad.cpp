#include "hardswish_grad_tiling.h"
#include "register/op_def_registry.h"
#include "tiling/platform/platform_ascendc.h"

namespace optiling {
static ge::graphStatus TilingFunc(gert::TilingContext *context) {
    HardswishGradTilingData tiling;
    auto platform = platform_ascendc::PlatformAscendC(context->GetPlatformInfo());
    const gert::RuntimeAttrs *attrs = context->GetAttrs();
    int64_t count = context->GetInputShape(1)->GetStorageShape().GetShapeSize();
    const auto *axes = attrs->GetListInt(2);
    if (*attrs->GetFloat(0) < 0) return ge::GRAPH_FAILED;
    int64_t all[AXES] = {};
    for (size_t k = 0; k < axes->GetSize() && k < AXES; ++k) all[k] = axes->GetData()[k];
    tiling.set_totalLength(count);
    tiling.set_factor(*attrs->GetFloat(0));
    tiling.set_flag(std::string(attrs->GetStr(1)) == "a b");
    tiling.set_axes(all);
    context->SetBlockDim(std::min<int64_t>(platform.GetCoreNumAiv(), std::max<int64_t>(count / 64, 1)));
    context->SetTilingKey(7);
    context->GetWorkspaceSizes(1)[0] = platform.GetLibApiWorkSpaceSize() + 256;
    tiling.SaveToBuffer(context->GetRawTilingData()->GetData(), context->GetRawTilingData()->GetCapacity());
    context->GetRawTilingData()->SetDataSize(tiling.GetDataSize());
    std::cout << "tiled " << count << std::endl;
    return ge::GRAPH_SUCCESS;
}
}  // namespace optiling

namespace ge {
static graphStatus InferShape(gert::InferShapeContext *context) {
    *context->GetOutputShape(0) = *context->GetInputShape(1);
    return GRAPH_SUCCESS;
}
}  // namespace ge

namespace ops {
class HardswishGrad : public OpDef {
public:
    explicit HardswishGrad(const char *name) : OpDef(name) {
        for (const char *input : {"grad_output", "self"})
            this->Input(input).ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).UnknownShapeFormat({ge::FORMAT_ND});
        this->Output("out").ParamType(REQUIRED).DataType({ge::DT_FLOAT}).Format({ge::FORMAT_ND}).UnknownShapeFormat({ge::FORMAT_ND});
        this->Attr("factor").AttrType(OPTIONAL).Float(1.5);
        this->Attr("mode").AttrType(OPTIONAL).String("none");
        this->Attr("axes").AttrType(OPTIONAL).ListInt({4, 5});
        this->SetInferShape(ge::InferShape);
        this->AICore().SetTiling(optiling::TilingFunc);
        this->AICore().AddConfig("ascend910b");
    }
};
OP_ADD(HardswishGrad);
}  // namespace ops
