// Tiling structs, tiling keys and the workspace, as the kernel sees them.
#pragma once

#include "look.h"

namespace AscendC {

template <class T>
T read_tiling(const void *tiling) {
    T data;
    std::memcpy(&data, tiling, sizeof data);
    return data;
}
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }
// Never null, as on the device, where the launch sets it; no memory lies there until SetSysWorkspace.
inline GM_ADDR system_workspace = reinterpret_cast<GM_ADDR>(32);
inline GM_ADDR GetSysWorkSpacePtr() { return system_workspace; }
inline void SetSysWorkspace(GM_ADDR workspace) { system_workspace = workspace; }

}  // namespace AscendC

#define REGISTER_NONE_TILING
#define REGISTER_TILING_DEFAULT(Struct) using RegisteredTiling = Struct;
#define REGISTER_TILING_FOR_TILINGKEY(expression, Struct)
#define GET_TILING_DATA(name, tiling) RegisteredTiling name = AscendC::read_tiling<RegisteredTiling>(tiling)
#define GET_TILING_DATA_WITH_STRUCT(Struct, name, tiling) Struct name = AscendC::read_tiling<Struct>(tiling)
#define GET_TILING_DATA_MEMBER(Struct, member, name, tiling) \
    decltype(Struct::member) name = AscendC::read_tiling<Struct>(tiling).member
#define GET_TILING_DATA_PTR_WITH_STRUCT(Struct, name, tiling) \
    Struct name##_copy = AscendC::read_tiling<Struct>(tiling), *name = &name##_copy
#define COPY_TILING_WITH_STRUCT(Struct, from, to) const Struct *to = reinterpret_cast<const Struct *>(from);
inline uint64_t g_tilingKey = 0;  // what the host chose; start.h takes it over
#define TILING_KEY_VAR g_tilingKey
#define TILING_KEY_IS(key) ((key) == TILING_KEY_VAR)
