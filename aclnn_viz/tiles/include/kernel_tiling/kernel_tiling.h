// Tiling structs, as the host fills and the kernel reads them: the same bytes, each field aligned to its own size.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "../ascendc/library_tiling.h"

#define BEGIN_TILING_DATA_DEF(Name)                                                                                        \
    struct Name {                                                                                                          \
        size_t GetDataSize() const { return (sizeof(*this) + 7) / 8 * 8; }                                                 \
        void SaveToBuffer(void *to, size_t capacity) const {                                                               \
            if (to && sizeof(*this) <= capacity) std::memcpy(to, (const void *)this, sizeof(*this));                       \
        }                                                                                                                  \
        void SetDataPtr(void *) {}                                                                                         \
        Name() { std::memset((void *)this, 0, sizeof(*this)); }
#define TILING_DATA_FIELD_DEF(type, name)                                                                                  \
    type name;                                                                                                             \
    void set_##name(type value) { name = value; }                                                                          \
    type get_##name() const { return name; }
#define TILING_DATA_FIELD_DEF_ARR(type, size, name)                                                                        \
    type name[size];                                                                                                       \
    void set_##name(const type *value) { std::memcpy(name, value, sizeof name); }                                          \
    type *get_##name() { return name; }                                                                                    \
    const type *get_##name() const { return name; }
#define TILING_DATA_FIELD_DEF_STRUCT(Struct, name) alignas(8) Struct name;
#define END_TILING_DATA_DEF };
#ifdef ACLNN_VIZ_HOST
#define REGISTER_TILING_DATA_CLASS(Op, Name)
#else
#define REGISTER_TILING_DATA_CLASS(Op, Name) using Registered##Op = Name;
#endif
