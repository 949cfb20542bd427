// The host side of an operator project: what its definition, its shape functions and its tiling function call.
//
// A project's op_host is compiled against this header into a program that describes the operator (OpDef), and that answers for
// given shapes, types and attributes what the tiling function decides: cores, tiling key, workspace, and the bytes of the
// struct. Names, arguments and layouts are those of the public documents (metadef, exe_graph; asc-devkit, Utils-API).
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ascendc/host_library.h"
#include "ascendc/securec.h"

// ---- Types and shapes ---------------------------------------------------------------------------------------------------

namespace ge {

using graphStatus = uint32_t;
constexpr int64_t UNKNOWN_DIM = -1, UNKNOWN_DIM_NUM = -2;
constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 0xFFFFFFFF, GRAPH_PARAM_INVALID = 50331649;

enum Format {
    FORMAT_NCHW = 0, FORMAT_NHWC = 1, FORMAT_ND = 2, FORMAT_NC1HWC0 = 3, FORMAT_FRACTAL_Z = 4, FORMAT_HWCN = 16,
    FORMAT_NCDHW = 30, FORMAT_FRACTAL_NZ = 29, FORMAT_NDHWC = 27, FORMAT_NCL = 47
};

inline Format GetPrimaryFormat(int format) { return Format(format & 0xFF); }  // without the sub-format in the higher bits

inline int GetSizeByDataType(DataType type) {
    switch (type) {
    case DT_INT8: case DT_UINT8: case DT_BOOL: return 1;
    case DT_FLOAT16: case DT_BF16: case DT_INT16: case DT_UINT16: return 2;
    case DT_FLOAT: case DT_INT32: case DT_UINT32: return 4;
    case DT_INT64: case DT_UINT64: case DT_DOUBLE: case DT_COMPLEX64: return 8;
    case DT_COMPLEX128: return 16;
    default: return -1;
    }
}

class TypeUtils {
public:
    static bool GetDataTypeLength(DataType type, uint32_t &length) {
        int size = GetSizeByDataType(type);
        if (size > 0) length = uint32_t(size);
        return size > 0;
    }
    static std::string FormatToSerialString(Format format) { return std::to_string(int(format)); }
    static std::string DataTypeToSerialString(DataType type) { return "DT_" + std::to_string(int(type)); }
};

class AscendString {
public:
    AscendString(const char *text = "") : text(text) {}
    const char *GetString() const { return text.c_str(); }
    bool operator==(const AscendString &other) const { return text == other.text; }
    bool operator<(const AscendString &other) const { return text < other.text; }

private:
    std::string text;
};

// What a constant and its operator are in functions of a graph, which no call here makes.
class Tensor {
public:
    const uint8_t *GetData() const { return content.data(); }
    size_t GetSize() const { return content.size(); }

private:
    std::vector<uint8_t> content;
};
class Operator {
public:
    graphStatus GetName(AscendString &name) const { return name = AscendString(), GRAPH_SUCCESS; }
};

}  // namespace ge

namespace gert {

class Shape {
public:
    static constexpr size_t kMaxDimNum = 25;
    static constexpr int64_t kInvalidDimValue = std::numeric_limits<int64_t>::min();
    Shape() = default;
    Shape(std::initializer_list<int64_t> dims) {
        for (int64_t dim : dims) AppendDim(dim);
    }
    size_t GetDimNum() const { return count; }
    int64_t GetDim(size_t place) const { return place < count ? sizes[place] : std::numeric_limits<int64_t>::min(); }
    int64_t operator[](size_t place) const { return sizes[place]; }
    int64_t &operator[](size_t place) { return sizes[place]; }
    int64_t GetShapeSize() const { return std::accumulate(sizes, sizes + count, int64_t(1), std::multiplies<>()); }
    void SetDimNum(size_t number) { count = std::min(number, kMaxDimNum); }
    void SetDim(size_t place, int64_t size) {
        if (place < kMaxDimNum) sizes[place] = size;
    }
    Shape &AppendDim(int64_t size) {
        if (count < kMaxDimNum) sizes[count++] = size;
        return *this;
    }
    void SetScalar() { count = 0; }
    bool IsScalar() const { return count == 0; }
    bool operator==(const Shape &other) const { return count == other.count && std::equal(sizes, sizes + count, other.sizes); }
    bool operator!=(const Shape &other) const { return !(*this == other); }

private:
    size_t count = 0;
    int64_t sizes[kMaxDimNum] = {};
};

}  // namespace gert

namespace gert {

class StorageShape {
public:
    StorageShape() = default;
    StorageShape(std::initializer_list<int64_t> origin, std::initializer_list<int64_t> storage) : origin(origin), storage(storage) {}
    const Shape &GetOriginShape() const { return origin; }
    const Shape &GetStorageShape() const { return storage; }
    Shape &MutableOriginShape() { return origin; }
    Shape &MutableStorageShape() { return storage; }
    bool operator==(const StorageShape &other) const { return origin == other.origin && storage == other.storage; }
    bool operator!=(const StorageShape &other) const { return !(*this == other); }

private:
    Shape origin, storage;
};

class StorageFormat {
public:
    ge::Format format = ge::FORMAT_ND;
    ge::Format GetStorageFormat() const { return format; }
    ge::Format GetOriginFormat() const { return format; }
};

class CompileTimeTensorDesc {
public:
    ge::DataType type = ge::DT_UNDEFINED;
    StorageFormat format;
    ge::DataType GetDataType() const { return type; }
    const StorageFormat &GetFormat() const { return format; }
    ge::Format GetStorageFormat() const { return format.format; }
    ge::Format GetOriginFormat() const { return format.format; }
};

class Tensor {
public:
    StorageShape shape;
    CompileTimeTensorDesc desc;
    std::vector<char> content;
    bool present = false;
    const StorageShape &GetShape() const { return shape; }
    const Shape &GetStorageShape() const { return shape.GetStorageShape(); }
    const Shape &GetOriginShape() const { return shape.GetOriginShape(); }
    int64_t GetShapeSize() const { return GetStorageShape().GetShapeSize(); }
    ge::DataType GetDataType() const { return desc.type; }
    ge::Format GetStorageFormat() const { return desc.format.format; }
    size_t GetSize() const { return content.size(); }
    const void *GetAddr() const { return content.empty() ? nullptr : content.data(); }
    template <class T>
    const T *GetData() const { return reinterpret_cast<const T *>(GetAddr()); }
};

template <class T>
class TypedContinuousVector {
public:
    std::vector<T> held;
    size_t GetSize() const { return held.size(); }
    const T *GetData() const { return held.data(); }
};
using ContinuousVector = TypedContinuousVector<int64_t>;

struct Attribute {
    char kind = 0;  // of b, i, f, s, and of lists I and F; 0 for none
    bool flag = false;
    int64_t whole = 0;
    float real = 0;
    std::string text;
    TypedContinuousVector<int64_t> wholes;
    TypedContinuousVector<float> reals;
};

class RuntimeAttrs {
public:
    std::vector<Attribute> held;
    size_t GetAttrNum() const { return held.size(); }
    template <class T>
    const T *GetAttrPointer(size_t place) const {
        if (place >= held.size() || !held[place].kind) return nullptr;
        const Attribute &one = held[place];
        if constexpr (std::is_same_v<T, bool>) return &one.flag;
        else if constexpr (std::is_same_v<T, float>) return &one.real;
        else if constexpr (std::is_same_v<T, char>) return one.text.c_str();
        else if constexpr (std::is_same_v<T, TypedContinuousVector<float>>) return &one.reals;
        else if constexpr (std::is_integral_v<T>) return reinterpret_cast<const T *>(&one.whole);
        else return reinterpret_cast<const T *>(&one.wholes);
    }
    const int64_t *GetInt(size_t place) const { return GetAttrPointer<int64_t>(place); }
    const float *GetFloat(size_t place) const { return GetAttrPointer<float>(place); }
    const bool *GetBool(size_t place) const { return GetAttrPointer<bool>(place); }
    const char *GetStr(size_t place) const { return GetAttrPointer<char>(place); }
    const TypedContinuousVector<int64_t> *GetListInt(size_t place) const {
        return GetAttrPointer<TypedContinuousVector<int64_t>>(place);
    }
    const TypedContinuousVector<float> *GetListFloat(size_t place) const {
        return GetAttrPointer<TypedContinuousVector<float>>(place);
    }
};

// ---- Contexts -----------------------------------------------------------------------------------------------------------

class TilingData {
public:
    alignas(8) char bytes[1 << 16] = {};
    size_t size = 0;
    void *GetData() { return bytes; }
    size_t GetCapacity() const { return sizeof bytes; }
    size_t GetDataSize() const { return size; }
    void SetDataSize(size_t length) { size = length; }
    template <class T>
    ge::graphStatus Append(const T &value) {
        if (size + sizeof value > sizeof bytes) return ge::GRAPH_FAILED;
        std::memcpy(bytes + size, &value, sizeof value), size += sizeof value;
        return ge::GRAPH_SUCCESS;
    }
};

// All that one call of an operator is about; each context shows a part of it.
class Call {
public:
    std::string name;
    std::vector<Tensor> inputs, outputs;
    RuntimeAttrs attributes;
    TilingData tiling;
    std::vector<size_t> workspaces;
    uint32_t cores = 1;
    uint64_t key = 0;
    std::shared_ptr<void> parsed;  // what a TilingParse function has filled
};

class ComputeNodeInfo {
public:
    explicit ComputeNodeInfo(const Call *call) : call(call) {}
    size_t GetInputsNum() const { return call->inputs.size(); }
    size_t GetOutputsNum() const { return call->outputs.size(); }

private:
    const Call *call;
};

class Context {
public:
    explicit Context(Call *call) : call(call), node(call) {}
    const ComputeNodeInfo *GetComputeNodeInfo() const { return &node; }
    const char *GetNodeName() const { return call->name.c_str(); }
    const char *GetNodeType() const { return call->name.c_str(); }
    const RuntimeAttrs *GetAttrs() const { return &call->attributes; }
    size_t GetComputeNodeInputNum() const { return call->inputs.size(); }
    size_t GetComputeNodeOutputNum() const { return call->outputs.size(); }
    const CompileTimeTensorDesc *GetInputDesc(size_t place) const {
        const Tensor *one = GetInputTensor(place);
        return one ? &one->desc : nullptr;
    }
    const CompileTimeTensorDesc *GetOptionalInputDesc(size_t place) const { return GetInputDesc(place); }
    const CompileTimeTensorDesc *GetRequiredInputDesc(size_t place) const { return GetInputDesc(place); }
    const CompileTimeTensorDesc *GetDynamicInputDesc(size_t place, size_t relative) const { return GetInputDesc(place + relative); }
    int32_t GetDeterministic() const { return 0; }
    const CompileTimeTensorDesc *GetOutputDesc(size_t place) const {
        return place < call->outputs.size() ? &call->outputs[place].desc : nullptr;
    }
    const Tensor *GetInputTensor(size_t place) const {
        return place < call->inputs.size() && call->inputs[place].present ? &call->inputs[place] : nullptr;
    }
    const Tensor *GetOptionalInputTensor(size_t place) const { return GetInputTensor(place); }
    const Tensor *GetRequiredInputTensor(size_t place) const { return GetInputTensor(place); }
    const Tensor *GetDynamicInputTensor(size_t place, size_t relative) const { return GetInputTensor(place + relative); }

protected:
    Call *call;
    ComputeNodeInfo node;
};

class TilingContext : public Context {
public:
    using Context::Context;
    const StorageShape *GetInputShape(size_t place) const {
        const Tensor *one = GetInputTensor(place);
        return one ? &one->shape : nullptr;
    }
    const StorageShape *GetOptionalInputShape(size_t place) const { return GetInputShape(place); }
    const StorageShape *GetRequiredInputShape(size_t place) const { return GetInputShape(place); }
    const StorageShape *GetDynamicInputShape(size_t place, size_t relative) const { return GetInputShape(place + relative); }
    const StorageShape *GetOutputShape(size_t place) const {
        return place < call->outputs.size() ? &call->outputs[place].shape : nullptr;
    }
    TilingData *GetRawTilingData() { return &call->tiling; }
    template <class T>
    T *GetTilingData() {
        call->tiling.size = sizeof(T);
        return reinterpret_cast<T *>(call->tiling.bytes);
    }
    size_t GetWorkspaceNum() const { return call->workspaces.size(); }
    size_t *GetWorkspaceSizes(size_t count) {
        call->workspaces.resize(std::max(call->workspaces.size(), count));
        return call->workspaces.data();
    }
    ge::graphStatus SetBlockDim(uint32_t cores) { return call->cores = cores, ge::GRAPH_SUCCESS; }
    ge::graphStatus SetSimdNumBlocks(uint32_t cores) { return SetBlockDim(cores); }
    uint32_t GetBlockDim() const { return call->cores; }
    ge::graphStatus SetTilingKey(uint64_t key) { return call->key = key, ge::GRAPH_SUCCESS; }
    uint64_t GetTilingKey() const { return call->key; }
    ge::graphStatus SetScheduleMode(uint32_t) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetLocalMemorySize(uint32_t) { return ge::GRAPH_SUCCESS; }
    ge::graphStatus SetNeedAtomic(bool) { return ge::GRAPH_SUCCESS; }
    fe::PlatFormInfos *GetPlatformInfo() const {
        static fe::PlatFormInfos one;
        return &one;
    }
    template <class T>
    const T *GetCompileInfo() const { return static_cast<const T *>(call->parsed.get()); }
    const void *GetCompileInfo() const { return call->parsed.get(); }
};

class TilingParseContext : public TilingContext {
public:
    using TilingContext::TilingContext;
    template <class T>
    T *GetCompiledInfo() {
        if (!call->parsed) call->parsed = std::make_shared<T>();
        return static_cast<T *>(call->parsed.get());
    }
};

class InferShapeContext : public Context {
public:
    using Context::Context;
    const Shape *GetInputShape(size_t place) const {
        const Tensor *one = GetInputTensor(place);
        return one ? &one->shape.GetOriginShape() : nullptr;
    }
    const Shape *GetOptionalInputShape(size_t place) const { return GetInputShape(place); }
    const Shape *GetRequiredInputShape(size_t place) const { return GetInputShape(place); }
    const Shape *GetDynamicInputShape(size_t place, size_t relative) const { return GetInputShape(place + relative); }
    Shape *GetOutputShape(size_t place) {
        return place < call->outputs.size() ? &call->outputs[place].shape.MutableOriginShape() : nullptr;
    }
};

class InferDataTypeContext : public Context {
public:
    using Context::Context;
    ge::DataType GetInputDataType(size_t place) const {
        const CompileTimeTensorDesc *one = GetInputDesc(place);
        return one ? one->type : ge::DT_UNDEFINED;
    }
    ge::DataType GetDynamicInputDataType(size_t place, size_t relative) const { return GetInputDataType(place + relative); }
    ge::DataType GetOptionalInputDataType(size_t place) const { return GetInputDataType(place); }
    ge::DataType GetRequiredInputDataType(size_t place) const { return GetInputDataType(place); }
    ge::graphStatus SetOutputDataType(size_t place, ge::DataType type) {
        if (place >= call->outputs.size()) return ge::GRAPH_FAILED;
        call->outputs[place].desc.type = type;
        return ge::GRAPH_SUCCESS;
    }
};
class InferShapeRangeContext : public InferShapeContext {
public:
    using InferShapeContext::InferShapeContext;
};

}  // namespace gert

// ---- The definition of an operator --------------------------------------------------------------------------------------

using UINT8 = uint8_t;
enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class DependScope { ALL, TILING };
using TilingFunction = ge::graphStatus (*)(gert::TilingContext *);
using ShapeFunction = ge::graphStatus (*)(gert::InferShapeContext *);
using TypeFunction = ge::graphStatus (*)(gert::InferDataTypeContext *);

namespace ops {

enum class ScalarType { UINT64, INT64, UINT32, INT32, UINT16, INT16, UINT8, INT8, FLOAT32, FLOAT16 };
struct ScalarVar {
    ScalarType type;
    double value;
};
class OpParamDef {
public:
    std::string name;
    Option kind = REQUIRED;
    std::vector<ge::DataType> types;
    explicit OpParamDef(const char *name) : name(name) {}
    OpParamDef &ParamType(Option option) { return kind = option, *this; }
    OpParamDef &DataType(std::vector<ge::DataType> list) { return types = std::move(list), *this; }
    OpParamDef &DataTypeList(std::vector<ge::DataType> list) { return types = std::move(list), *this; }
    OpParamDef &Format(std::vector<ge::Format>) { return *this; }
    OpParamDef &FormatList(std::vector<ge::Format>) { return *this; }
    OpParamDef &UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
    OpParamDef &ValueDepend(Option, DependScope = DependScope::ALL) { return *this; }
    OpParamDef &IgnoreContiguous() { return *this; }
    OpParamDef &AutoContiguous() { return *this; }
    OpParamDef &Scalar() { return *this; }
    OpParamDef &ScalarList() { return *this; }
    OpParamDef &To(ge::DataType) { return *this; }
    OpParamDef &To(const char *) { return *this; }
    OpParamDef &Version(uint32_t) { return *this; }
    OpParamDef &InitValue(uint64_t) { return *this; }
    OpParamDef &InitValue(const std::vector<ScalarVar> &) { return *this; }
    OpParamDef &OutputShapeDependOnCompute() { return *this; }
    OpParamDef &Follow(const char *) { return *this; }
};

class OpAttrDef {
public:
    std::string name;
    Option kind = REQUIRED;
    gert::Attribute standing;  // its default
    bool has_default = false;
    explicit OpAttrDef(const char *name) : name(name) {}
    OpAttrDef &AttrType(Option option) { return kind = option, *this; }
    OpAttrDef &Bool() { return standing.kind = 'b', *this; }
    OpAttrDef &Bool(bool value) { return standing.flag = value, given('b'); }
    OpAttrDef &Int() { return standing.kind = 'i', *this; }
    OpAttrDef &Int(int64_t value) { return standing.whole = value, given('i'); }
    OpAttrDef &Float() { return standing.kind = 'f', *this; }
    OpAttrDef &Float(float value) { return standing.real = value, given('f'); }
    OpAttrDef &String() { return standing.kind = 's', *this; }
    OpAttrDef &String(const char *value) { return standing.text = value, given('s'); }
    OpAttrDef &ListInt() { return standing.kind = 'I', *this; }
    OpAttrDef &ListInt(std::vector<int64_t> value) { return standing.wholes.held = std::move(value), given('I'); }
    OpAttrDef &ListFloat() { return standing.kind = 'F', *this; }
    OpAttrDef &ListFloat(std::vector<float> value) { return standing.reals.held = std::move(value), given('F'); }
    OpAttrDef &Version(uint32_t) { return *this; }

private:
    OpAttrDef &given(char letter) { return standing.kind = letter, has_default = true, *this; }
};

class OpAICoreConfig {
public:
    OpParamDef &Input(const char *name) { return unused.emplace_back(name); }
    OpParamDef &Output(const char *name) { return unused.emplace_back(name); }
    OpAICoreConfig &DynamicCompileStaticFlag(bool) { return *this; }
    OpAICoreConfig &DynamicFormatFlag(bool) { return *this; }
    OpAICoreConfig &DynamicRankSupportFlag(bool) { return *this; }
    OpAICoreConfig &DynamicShapeSupportFlag(bool) { return *this; }
    OpAICoreConfig &NeedCheckSupportFlag(bool) { return *this; }
    OpAICoreConfig &PrecisionReduceFlag(bool) { return *this; }
    OpAICoreConfig &ExtendCfgInfo(const char *, const char *) { return *this; }

private:
    std::vector<OpParamDef> unused;
};

class OpAICoreDef {
public:
    TilingFunction tiling = nullptr;
    OpAICoreDef &SetTiling(TilingFunction function) { return tiling = function, *this; }
    OpAICoreDef &SetCheckSupport(void *) { return *this; }
    OpAICoreDef &AddConfig(const char *) { return *this; }
    OpAICoreDef &AddConfig(const char *, const OpAICoreConfig &) { return *this; }
    template <class F>
    OpAICoreDef &SetParamGeneralize(F) { return *this; }
};

class OpMC2Def {
public:
    OpMC2Def &HcclGroup(const char *) { return *this; }
};

class OpDef {
public:
    std::string name;
    std::vector<std::unique_ptr<OpParamDef>> inputs, outputs;
    std::vector<std::unique_ptr<OpAttrDef>> attributes;
    OpAICoreDef core;
    OpMC2Def links;
    ShapeFunction shape = nullptr;
    TypeFunction type = nullptr;
    explicit OpDef(const char *name) : name(name) {}
    virtual ~OpDef() = default;
    OpParamDef &Input(const char *name) { return found(inputs, name); }
    OpParamDef &Output(const char *name) { return found(outputs, name); }
    OpAttrDef &Attr(const char *name) { return found(attributes, name); }
    OpDef &SetInferShape(ShapeFunction function) { return shape = function, *this; }
    OpDef &SetInferDataType(TypeFunction function) { return type = function, *this; }
    template <class F>
    OpDef &SetInferShapeRange(F) { return *this; }
    OpAICoreDef &AICore() { return core; }
    OpMC2Def &MC2() { return links; }
    OpDef &Comment(...) { return *this; }

private:
    template <class T>
    static T &found(std::vector<std::unique_ptr<T>> &list, const char *name) {
        for (auto &one : list)
            if (one->name == name) return *one;
        return *list.emplace_back(std::make_unique<T>(name));
    }
};

}  // namespace ops

// ---- What a project registers -------------------------------------------------------------------------------------------

namespace aclnn_viz {

// Functions that are registered beside the definition (IMPL_OP_OPTILING, IMPL_OP_INFERSHAPE).
struct Functions {
    TilingFunction tiling = nullptr;
    std::function<ge::graphStatus(gert::TilingParseContext *)> parse;
    ShapeFunction shape = nullptr;
    TypeFunction type = nullptr;
};
inline std::map<std::string, std::unique_ptr<ops::OpDef>> &definitions() {
    static std::map<std::string, std::unique_ptr<ops::OpDef>> all;
    return all;
}
inline std::map<std::string, Functions> &functions() {
    static std::map<std::string, Functions> all;
    return all;
}

class Registered {
public:
    explicit Registered(const char *name) : of(functions()[name]) {}
    Registered &Tiling(TilingFunction function) { return of.tiling = function, *this; }
    template <class Info>
    Registered &TilingParse(ge::graphStatus (*function)(gert::TilingParseContext *)) {
        of.parse = [function](gert::TilingParseContext *context) { return context->GetCompiledInfo<Info>(), function(context); };
        return *this;
    }
    Registered &InferShape(ShapeFunction function) { return of.shape = function, *this; }
    Registered &InferDataType(TypeFunction function) { return of.type = function, *this; }
    Registered &TilingInputsDataDependency(std::initializer_list<int32_t>) { return *this; }
    Registered &InputsDataDependency(std::initializer_list<int32_t>) { return *this; }

private:
    Functions &of;
};

}  // namespace aclnn_viz

#define ACLNN_VIZ_JOINED(a, b) a##b
#define ACLNN_VIZ_NAMED(a, b) ACLNN_VIZ_JOINED(a, b)
#define OP_ADD(Op, ...)                                                                                                    \
    static const bool ACLNN_VIZ_NAMED(added_##Op, __LINE__) =                                                              \
        (aclnn_viz::definitions()[#Op] = std::make_unique<Op>(#Op)) != nullptr
#define IMPL_OP_OPTILING(Op) \
    static aclnn_viz::Registered ACLNN_VIZ_NAMED(tiling_##Op, __LINE__) = aclnn_viz::Registered(#Op)
#define IMPL_OP_INFERSHAPE(Op) \
    static aclnn_viz::Registered ACLNN_VIZ_NAMED(shape_##Op, __LINE__) = aclnn_viz::Registered(#Op)
#define IMPL_OP(Op) IMPL_OP_OPTILING(Op)

namespace ops {

inline ge::graphStatus InferShape4Elewise(gert::InferShapeContext *context) {
    return *context->GetOutputShape(0) = *context->GetInputShape(0), ge::GRAPH_SUCCESS;
}

}  // namespace ops

// ---- Logs and checks ----------------------------------------------------------------------------------------------------

namespace aclnn_viz {

inline std::string named(const char *name) { return name ? name : ""; }
inline std::string named(const std::string &name) { return name; }
template <class C>
std::string named(const C *context) { return context ? context->GetNodeName() : ""; }
template <class Who>
void log(const char *level, const Who &who, const char *format, ...) {
    std::va_list rest;
    va_start(rest, format);
    std::fprintf(stderr, "[%s] %s: ", level, named(who).c_str());
    std::vfprintf(stderr, format, rest);
    std::fputc('\n', stderr);
    va_end(rest);
}

}  // namespace aclnn_viz

#define OP_LOGE(who, ...) aclnn_viz::log("ERROR", who, __VA_ARGS__)
#define OP_LOGW(who, ...) aclnn_viz::log("WARNING", who, __VA_ARGS__)
#define OP_LOGI(who, ...) ((void)0)
#define OP_LOGD(who, ...) ((void)0)
#define OP_CHECK_IF(condition, log, leave) \
    do {                                   \
        if (condition) {                   \
            log;                           \
            leave;                         \
        }                                  \
    } while (0)
#define OP_CHECK(condition, log, leave) OP_CHECK_IF(condition, log, leave)
#define OP_TILING_CHECK(condition, log, leave) OP_CHECK_IF(condition, log, leave)
#define OPS_CHECK_NULL_WITH_CONTEXT(who, pointer) OP_CHECK_IF((pointer) == nullptr, OP_LOGE(who, #pointer " is null"), return ge::GRAPH_FAILED)
#define OP_CHECK_NULL_WITH_CONTEXT(who, pointer) OPS_CHECK_NULL_WITH_CONTEXT(who, pointer)
#define VECTOR_INNER_ERR_REPORT_TILIING(who, ...) OP_LOGE(who, __VA_ARGS__)
#define CUBE_INNER_ERR_REPORT(who, ...) OP_LOGE(who, __VA_ARGS__)

namespace Ops::Base {
template <class T>
T CeilDiv(T a, T b) { return b == 0 ? a : (a + b - 1) / b; }
template <class T>
T CeilAlign(T a, T b) { return CeilDiv(a, b) * b; }
template <class T>
T FloorDiv(T a, T b) { return b == 0 ? a : a / b; }
template <class T>
T FloorAlign(T a, T b) { return FloorDiv(a, b) * b; }
inline uint32_t GetUbBlockSize(const gert::TilingContext *) { return 32; }
inline const gert::Shape &EnsureNotScalar(const gert::Shape &shape) {
    static const gert::Shape one{1};
    return shape.IsScalar() ? one : shape;
}
}  // namespace Ops::Base
