// Tiling structs of the host, as the kernel sees them: the same bytes, each field aligned to its own size.
#pragma once
#include <cstdint>

#include "../ascendc/softmax_tiling.h"

#define BEGIN_TILING_DATA_DEF(Name) struct Name {
#define TILING_DATA_FIELD_DEF(type, name) type name;
#define TILING_DATA_FIELD_DEF_ARR(type, size, name) type name[size];
#define TILING_DATA_FIELD_DEF_STRUCT(Struct, name) alignas(8) Struct name;
#define END_TILING_DATA_DEF };
#define REGISTER_TILING_DATA_CLASS(op, Name) using Registered##op = Name;
