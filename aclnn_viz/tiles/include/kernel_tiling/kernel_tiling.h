// Tiling structs of the host, as the kernel sees them.
#pragma once
#include <cstdint>

#define BEGIN_TILING_DATA_DEF(Name) struct Name {
#define TILING_DATA_FIELD_DEF(type, name) type name;
#define TILING_DATA_FIELD_DEF_ARR(type, size, name) type name[size];
#define TILING_DATA_FIELD_DEF_STRUCT(Struct, name) Struct name;
#define END_TILING_DATA_DEF };
#define REGISTER_TILING_DATA_CLASS(op, Name) using RegisteredTiling = Name;
