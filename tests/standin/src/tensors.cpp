// Tensors: shapes, and elements read and written through views.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "sim.h"

namespace standin {

int64_t product_of(const std::vector<int64_t> &dims, size_t first) {
    int64_t product = 1;
    for (size_t axis = first; axis < dims.size(); axis++) product *= dims[axis];
    return product;
}

std::string text(const std::vector<int64_t> &dims) {
    std::string text;
    for (int64_t dim : dims) text += (text.empty() ? "(" : ", ") + std::to_string(dim);
    return text.empty() ? "()" : text + ")";
}

std::vector<int64_t> dense_strides(const std::vector<int64_t> &dims) {
    std::vector<int64_t> strides(dims.size());
    for (size_t axis = 0; axis < dims.size(); axis++) strides[axis] = product_of(dims, axis + 1);
    return strides;
}

int64_t Tensor::size() const { return product_of(dims); }

bool Tensor::contiguous() const {
    auto dense = dense_strides(dims);
    for (size_t axis = 0; axis < rank(); axis++)
        if (dims[axis] != 1 && strides[axis] != dense[axis]) return false;
    return true;
}

static double decode(const uint8_t *bytes, aclDataType type) {
    auto as = [&](auto value) { return memcpy(&value, bytes, sizeof value), value; };
    switch (type) {
        case ACL_FLOAT: return as(float());
        case ACL_DOUBLE: return as(double());
        case ACL_FLOAT16: return unpack16(as(uint16_t()), 10, 15);
        case ACL_BF16: return unpack16(as(uint16_t()), 7, 127);
        case ACL_INT32: return as(int32_t());
        case ACL_INT64: return double(as(int64_t()));
        default: return NAN;  // no kernel takes another type
    }
}

static void encode(uint8_t *bytes, aclDataType type, double value) {
    auto put = [&](auto stored) { memcpy(bytes, &stored, sizeof stored); };
    if (product() == P910 || product() == P310P || product() == P310B) {  // these saturate
        double largest = type == ACL_FLOAT16 ? 65504 : type == ACL_FLOAT ? 3.4028234663852886e38 : HUGE_VAL;
        value = std::isnan(value) ? 0 : std::clamp(value, -largest, largest);
    }
    switch (type) {
        case ACL_FLOAT: return put(float(value));
        case ACL_DOUBLE: return put(value);
        case ACL_FLOAT16: return put(pack16(value, 10, 15));
        case ACL_BF16: return put(pack16(value, 7, 127));
        default: return;
    }
}

// Calls visit(bytes) for each element in row-major order; bytes is null for an element outside live memory.
static void visit(const Tensor &tensor, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                  const char *verb, const std::function<void(uint8_t *)> &visit) {
    int64_t count = product_of(dims), item = aclDataTypeSize(tensor.type), address = *tensor.data;
    if (!count) return;
    Block *block = find_block(address);
    if (!block) {
        misuse("a kernel %s a tensor at %#lx, which is no device address", verb, address);
        throw Failure{ACL_ERROR_RT_AICORE_EXCEPTION};
    }
    if (address % 32) misuse("a tensor starts at %#lx, not at a multiple of 32", address);
    bool outside = false;
    for (int64_t i = 0; i < count; i++) {
        int64_t element = tensor.offset, rest = i;
        for (size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) element += rest % dims[axis] * strides[axis];
        int64_t at = address - int64_t(block->address) + element * item;
        bool inside = block->bytes && at >= 0 && at + item <= int64_t(block->size);
        outside = outside || !inside;
        visit(inside ? block->bytes + at : nullptr);
    }
    if (outside && block->bytes)
        misuse("a kernel %s a tensor %s beyond its allocation of %zu bytes", verb, text(dims).c_str(), block->size);
    else if (outside)
        misuse("a kernel %s a tensor at %#lx, which was freed", verb, address);
}

std::vector<double> read(const Tensor &tensor) {
    std::vector<double> values;
    uint8_t poison[8];
    memset(poison, POISON, sizeof poison);
    visit(tensor, tensor.dims, tensor.strides, "reads",
          [&](uint8_t *bytes) { values.push_back(decode(bytes ? bytes : poison, tensor.type)); });
    return values;
}

static void store(const Tensor &tensor, const std::vector<int64_t> &dims, const std::vector<int64_t> &strides,
                  const std::vector<double> &values) {
    size_t i = 0;
    visit(tensor, dims, strides, "writes", [&](uint8_t *bytes) {
        if (bytes) encode(bytes, tensor.type, values[i]);
        i++;
    });
}

void write(const Tensor &tensor, const std::vector<double> &values) {
    store(tensor, tensor.dims, tensor.strides, values);
}

void write_dense(const Tensor &tensor, const std::vector<double> &values) {
    if (!tensor.contiguous()) misuse("the strides of an output are ignored: it is written densely");
    if (int64_t(values.size()) != tensor.size())
        misuse("an output of %s gets %zu elements", text(tensor.dims).c_str(), values.size());
    store(tensor, {int64_t(values.size())}, {1}, values);
}

Tensor as(aclDataType type, Tensor tensor) {
    tensor.type = type;
    return tensor;
}

}  // namespace standin
