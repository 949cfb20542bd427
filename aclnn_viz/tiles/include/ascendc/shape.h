// Shapes and types of the host: ge::Shape, ge::DataType.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <vector>

namespace ge {

#ifdef DT_FLOAT  // in a kernel of a project they are macros
using DataType = int;
constexpr DataType DT_STRING = 13, DT_COMPLEX128 = 17, DT_UNDEFINED = 28, DT_MAX = 43;
#else
enum DataType {
    DT_FLOAT = 0, DT_FLOAT16 = 1, DT_INT8 = 2, DT_INT32 = 3, DT_UINT8 = 4, DT_INT16 = 6, DT_UINT16 = 7, DT_UINT32 = 8,
    DT_INT64 = 9, DT_UINT64 = 10, DT_DOUBLE = 11, DT_BOOL = 12, DT_STRING = 13, DT_COMPLEX64 = 16, DT_COMPLEX128 = 17,
    DT_BF16 = 27, DT_UNDEFINED = 28, DT_INT4 = 29, DT_MAX = 43
};
#endif

class Shape {  // a shape apart from any tensor
public:
    Shape() = default;
    explicit Shape(const std::vector<int64_t> &sizes) : sizes(sizes) {}
    template <class... N>
    static Shape of(N... sizes) { return Shape(std::vector<int64_t>{int64_t(sizes)...}); }
    size_t GetDimNum() const { return sizes.size(); }
    int64_t GetDim(size_t place) const { return sizes.at(place); }
    bool SetDim(size_t place, int64_t size) { return place < sizes.size() ? sizes[place] = size, true : false; }
    int64_t GetShapeSize() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>()); }
    std::vector<int64_t> GetDims() const { return sizes; }

private:
    std::vector<int64_t> sizes;
};

}  // namespace ge
