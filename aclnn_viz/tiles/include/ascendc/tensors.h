// Tensors: a part of the Unified Buffer by the machine's number, a part of global memory by its address.
#pragma once

#include "base.h"

namespace AscendC {

// The address of the Unified Buffer's first byte. No memory is mapped there; the low 32 bits of a pointer are the offset.
constexpr uint64_t UNIFIED_BUFFER = 0x5A0000000000;

template <class T>  // a mask's elements as numbers
using bytes_of = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

constexpr uint8_t K_MAX_DIM = 8;
class ShapeInfo {
public:
    uint8_t shapeDim = 0, originalShapeDim = 0;
    uint32_t shape[K_MAX_DIM] = {}, originalShape[K_MAX_DIM] = {};
    ShapeInfo() = default;
    template <class Format = int>
    ShapeInfo(uint8_t dimensions, const uint32_t *sizes, Format = {}) : shapeDim(dimensions), originalShapeDim(dimensions) {
        for (int k = 0; k < dimensions; ++k) shape[k] = originalShape[k] = sizes[k];
    }
    template <class Format = int>
    ShapeInfo(uint8_t dimensions, const uint32_t *sizes, uint8_t originals, const uint32_t *before, Format = {}) : ShapeInfo(dimensions, sizes) {
        originalShapeDim = originals;
        for (int k = 0; k < originals; ++k) originalShape[k] = before[k];
    }
};

template <class Tensor>
class Element {  // x(i) reads, x(i) = value writes
public:
    Element(const Tensor &tensor, uint64_t index, Place at) : tensor(tensor), index(index), at(at) {}
    operator typename Tensor::PrimType() const { return tensor.GetValue(index, at); }
    template <class Number>
    Element &operator=(Number value) { return tensor.SetValue(index, value, at), *this; }
    Element &operator=(const Element &other) { return *this = typename Tensor::PrimType(other); }

private:
    const Tensor tensor;
    uint64_t index;
    Place at;
};

template <class T>
class LocalTensor {
public:
    using PrimType = T;
    int64_t handle = -1, offset = 0;  // of what AllocTensor, DeQue or Get gave; bytes from its start on
    int64_t set_size = -1;            // elements, where SetSize gave them

    LocalTensor() = default;
    explicit LocalTensor(int64_t handle) : handle(handle) {}  // so that no number is taken for a tensor
    LocalTensor(int64_t handle, int64_t offset, int64_t size) : handle(handle), offset(offset), set_size(size) {}
    LocalTensor(TPosition, uint32_t address, uint32_t elements, AT) : handle(make("static", at, Format<T>(), address, elements)) {}
    LocalTensor operator[](uint32_t elements) const {
        return {handle, offset + int64_t(elements) * int64_t(sizeof(T)), set_size < 0 ? -1 : set_size - int64_t(elements)};
    }
    template <class U>
    LocalTensor<U> ReinterpretCast() const {
        return {handle, offset, set_size < 0 ? -1 : set_size * int64_t(sizeof(T)) / int64_t(sizeof(U))};
    }
    uint32_t GetSize(AT) const { return set_size >= 0 ? uint32_t(set_size) : uint32_t(ask("LocalTensor.GetSize", at, *this)); }
    uint32_t GetLength(AT) const { return GetSize(at) * sizeof(T); }
    void SetSize(uint32_t elements) { set_size = elements; }
    void SetShapeInfo(const ShapeInfo &info) { shape = info; }
    ShapeInfo GetShapeInfo() const { return shape; }
    TPosition GetPosition() const { return TPosition::VECCALC; }
    T GetValue(uint32_t index, AT) const { return number_of<T>(ask("LocalTensor.GetValue", at, *this, index)); }
    template <class U>
    void SetValue(uint32_t index, U value, AT) const { call("LocalTensor.SetValue", at, *this, index, T(value)); }

    Element<LocalTensor> operator()(uint32_t index, AT) const { return {*this, index, at}; }

    template <class U = T>
    U *GetPhyAddr(uint32_t elements = 0, AT) const {  // an address to compute with: reading through it ends the kernel
        return reinterpret_cast<U *>(UNIFIED_BUFFER + uint64_t(ask("GetPhyAddr", at, *this)) + elements * sizeof(T));
    }
    void into(Arguments &to) const { to.letter('l', '0' + format<T>()), to.number(handle), to.number(offset); }

    // dst = a + b: a call for all elements of dst, at the line in which it stands.
    struct Second {
        const LocalTensor &tensor;
        Place at;
        Second(const LocalTensor &tensor, AT) : tensor(tensor), at(at) {}
    };
    struct Pair {
        const char *name;
        int mode;  // of a comparison, else -1
        LocalTensor first, second;
        Place at;
    };
#define ASCENDC_OPERATOR(sign, name, mode) \
    friend Pair operator sign(const LocalTensor &a, Second b) { return {name, mode, a, b.tensor, b.at}; }
    ASCENDC_OPERATOR(+, "Add", -1) ASCENDC_OPERATOR(-, "Sub", -1) ASCENDC_OPERATOR(*, "Mul", -1) ASCENDC_OPERATOR(/, "Div", -1)
    ASCENDC_OPERATOR(|, "Or", -1) ASCENDC_OPERATOR(&, "And", -1) ASCENDC_OPERATOR(<, "Compare", 0) ASCENDC_OPERATOR(>, "Compare", 1)
    ASCENDC_OPERATOR(==, "Compare", 2) ASCENDC_OPERATOR(<=, "Compare", 3) ASCENDC_OPERATOR(>=, "Compare", 4)
    ASCENDC_OPERATOR(!=, "Compare", 5)
#undef ASCENDC_OPERATOR
    template <class P, class = decltype(P::mode)>
    const LocalTensor &operator=(const P &of) const {
        if (of.mode < 0) call(of.name, of.at, *this, of.first, of.second, GetSize(of.at));
        else call(of.name, of.at, ReinterpretCast<uint8_t>(), of.first, of.second, Choice<3, CMPMODE>{CMPMODE(of.mode)}, of.first.GetSize(of.at));
        return *this;
    }

private:
    ShapeInfo shape;
};

template <class T>
class GlobalTensor {
public:
    using PrimType = T;
    T *address = nullptr;
    int64_t size = -1;  // elements; for checks alone

    void SetGlobalBuffer(T *buffer, uint64_t elements) { address = buffer, size = int64_t(elements); }
    void SetGlobalBuffer(T *buffer) { address = buffer, size = -1; }
    GlobalTensor operator[](uint64_t elements) const {
        GlobalTensor part;
        part.address = address + elements;
        part.size = size < 0 ? -1 : size - int64_t(elements);
        return part;
    }
    template <class U>
    GlobalTensor<U> ReinterpretCast() const {
        GlobalTensor<U> same;
        same.address = reinterpret_cast<U *>(address);
        same.size = size < 0 ? -1 : size * int64_t(sizeof(T)) / int64_t(sizeof(U));
        return same;
    }
    T *GetPhyAddr(uint64_t elements = 0) const { return address + elements; }
    uint64_t GetSize() const { return uint64_t(size); }
    T GetValue(uint64_t index, AT) const { return number_of<T>(ask("GlobalTensor.GetValue", at, *this, index)); }
    template <class U>
    void SetValue(uint64_t index, U value, AT) const { ask("GlobalTensor.SetValue", at, *this, index, T(value)); }
    Element<GlobalTensor> operator()(uint64_t index, AT) const { return {*this, index, at}; }
    void SetShapeInfo(const ShapeInfo &info) { shape = info; }
    ShapeInfo GetShapeInfo() const { return shape; }
    template <class... A>
    void SetL2CacheHint(A...) {}  // it changes times alone, and no time is modelled here
    template <class A, A...>
    void SetL2CacheHint(...) {}
    void into(Arguments &to) const {
        to.letter('g', '0' + format<T>()), to.number(int64_t(address)), to.number(address == nullptr ? -1 : size);
    }

private:
    ShapeInfo shape;
};

// A list of tensors behind one pointer: where the first pointer lies, in bytes; then for each its dimensions and shape.
template <class T>
class TensorDesc {
public:
    uint64_t *shape = nullptr;
    uint32_t dimensions = 0, index = 0;
    T *data = nullptr;
    void SetShapeAddr(uint64_t *sizes) { shape = sizes; }
    uint64_t GetShape(uint32_t place) const { return shape[place]; }
    uint32_t GetDim() const { return dimensions; }
    uint32_t GetIndex() const { return index; }
    T *GetDataPtr() const { return data; }
};
class ListTensorDesc {
public:
    ListTensorDesc() = default;
    explicit ListTensorDesc(void *list, uint64_t = ~0ull, uint32_t = ~0u) { Init(list); }
    void Init(void *list, uint64_t = ~0ull, uint32_t = ~0u) { start = static_cast<uint64_t *>(list); }
    uint32_t GetSize() const {
        uint32_t count = 0;
        for (const uint64_t *at = start + 1; at < pointers(); at += 1 + (*at & 0xFFFFFFFF)) ++count;
        return count;
    }
    template <class T>
    T *GetDataPtr(uint32_t index) const { return reinterpret_cast<T *>(pointers()[index]); }
    template <class T>
    void GetDesc(TensorDesc<T> &desc, uint32_t index) const {
        uint64_t *at = start + 1;
        for (uint32_t k = 0; k < index; ++k) at += 1 + (*at & 0xFFFFFFFF);
        desc.dimensions = uint32_t(*at & 0xFFFFFFFF), desc.index = uint32_t(*at >> 32), desc.data = GetDataPtr<T>(index);
        for (uint32_t k = 0; k < desc.dimensions && desc.shape; ++k) desc.shape[k] = at[1 + k];
    }

private:
    uint64_t *start = nullptr;
    uint64_t *pointers() const { return start + *start / 8; }
};

}  // namespace AscendC
