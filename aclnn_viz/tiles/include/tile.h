// The program of a project's host side: it describes each operator, and tiles one call.
//
// PROGRAM REPORT prints what OpDef says; PROGRAM REPORT OP reads one call from its input, and prints what the tiling function
// decides. Both print to the descriptor REPORT, for the host's own text goes to the first two.
// A call: the numbers of "aiv aic ub", then for each input of the definition "type dimensions size... bytes" (-1 for one that
// is absent), for each output "type dimensions size..." (-1 dimensions where the host must infer them), for each attribute "-" for
// its default or a letter and its value; then the content of the inputs.
#pragma once

#include "host.h"

namespace aclnn_viz {

inline int report = 1;

inline void print(const char *kind, const ops::OpParamDef &one) {
    dprintf(report, "%s %s %d", kind, one.name.c_str(), int(one.kind));
    for (ge::DataType type : one.types) dprintf(report, " %d", int(type));
    dprintf(report, "\n");
}

inline void describe() {
    for (auto &[name, op] : definitions()) {
        dprintf(report, "op %s %d\n", name.c_str(), op->core.tiling || functions()[name].tiling);
        for (auto &one : op->inputs) print("input", *one);
        for (auto &one : op->outputs) print("output", *one);
        for (auto &one : op->attributes)
            dprintf(report, "attribute %s %c %d\n", one->name.c_str(), one->standing.kind ? one->standing.kind : '-', one->has_default);
    }
}

class Reader {
public:
    template <class T>
    T take() {
        T value{};
        std::cin >> value;
        return value;
    }
    std::string text() {  // its length, one space, its bytes
        std::string value(take<size_t>(), '\0');
        std::cin.get();
        std::cin.read(value.data(), std::streamsize(value.size()));
        return value;
    }
    gert::Attribute attribute(const ops::OpAttrDef &of) {
        gert::Attribute one = of.standing;
        char letter = take<char>();
        if (letter == '-') {
            if (!of.has_default) one.kind = 0;
            return one;
        }
        switch (letter) {
        case 'b': one.flag = take<int>(); break;
        case 'i': one.whole = take<int64_t>(); break;
        case 'f': one.real = take<float>(); break;
        case 's': one.text = text(); break;
        case 'I': one.wholes.held.resize(take<size_t>()); for (auto &each : one.wholes.held) each = take<int64_t>(); break;
        case 'F': one.reals.held.resize(take<size_t>()); for (auto &each : one.reals.held) each = take<float>(); break;
        }
        one.kind = letter;
        return one;
    }
    size_t tensor(gert::Tensor &one, bool sized) {
        one.desc.type = ge::DataType(take<int>());
        int dimensions = take<int>();
        one.present = dimensions >= 0;
        for (int k = 0; k < dimensions; ++k) one.shape.MutableOriginShape().AppendDim(take<int64_t>());
        one.shape.MutableStorageShape() = one.shape.GetOriginShape();
        return sized ? take<size_t>() : 0;
    }
};

inline int tile(const std::string &name) {
    auto found = definitions().find(name);
    if (found == definitions().end()) return 1;
    const ops::OpDef &op = *found->second;
    const Functions &more = functions()[name];
    gert::Call call;
    Reader from;
    call.name = name;
    soc.aiv = from.take<uint32_t>(), soc.aic = from.take<uint32_t>(), soc.ub = from.take<uint64_t>();
    std::vector<size_t> sizes;
    call.inputs.resize(op.inputs.size()), call.outputs.resize(op.outputs.size());
    for (auto &one : call.inputs) sizes.push_back(from.tensor(one, true));
    for (auto &one : call.outputs) from.tensor(one, false);
    for (auto &one : op.attributes) call.attributes.held.push_back(from.attribute(*one));
    std::cin.get();
    for (size_t k = 0; k < sizes.size(); ++k) {
        call.inputs[k].content.resize(sizes[k]);
        std::cin.read(call.inputs[k].content.data(), std::streamsize(sizes[k]));
    }

    bool known = true;
    for (auto &one : call.outputs) known = known && one.present;
    ShapeFunction shape = op.shape ? op.shape : more.shape;
    if (!known && shape) {
        gert::InferShapeContext context(&call);
        for (auto &one : call.outputs) one.present = true;
        if (shape(&context) != ge::GRAPH_SUCCESS) return dprintf(report, "failed the shape function\n"), 0;
        for (auto &one : call.outputs) one.shape.MutableStorageShape() = one.shape.GetOriginShape();
        known = true;
    }
    for (size_t k = 0; k < call.outputs.size() && known; ++k) {
        const gert::Shape &made = call.outputs[k].shape.GetOriginShape();
        dprintf(report, "shape");
        for (size_t d = 0; d < made.GetDimNum(); ++d) dprintf(report, " %lld", (long long)made.GetDim(d));
        dprintf(report, "\n");
    }

    if (more.parse) {
        gert::TilingParseContext context(&call);
        if (more.parse(&context) != ge::GRAPH_SUCCESS) return dprintf(report, "failed the TilingParse function\n"), 0;
    }
    TilingFunction tiling = op.core.tiling ? op.core.tiling : more.tiling;
    if (!tiling) return dprintf(report, "failed the search for a tiling function, since none is registered\n"), 0;
    gert::TilingContext context(&call);
    ge::graphStatus status = tiling(&context);
    if (status != ge::GRAPH_SUCCESS) return dprintf(report, "failed the tiling function, which returned %u\n", status), 0;
    size_t workspace = std::accumulate(call.workspaces.begin(), call.workspaces.end(), size_t(0));
    if (soc.system_workspace && workspace >= SYSTEM_WORKSPACE) workspace -= SYSTEM_WORKSPACE;
    dprintf(report, "tiling %u %llu %zu ", call.cores, (unsigned long long)call.key, workspace);
    for (size_t k = 0; k < call.tiling.size; ++k) dprintf(report, "%02x", (unsigned char)call.tiling.bytes[k]);
    dprintf(report, "\n");
    return 0;
}

}  // namespace aclnn_viz

int main(int count, char **words) {
    aclnn_viz::report = std::atoi(words[1]);
    if (count == 3) return aclnn_viz::tile(words[2]);
    aclnn_viz::describe();
    return 0;
}
