// What a host asks of the machine: cores, memory and the system's part of a workspace (platform_ascendc of the public documents).
//
// The numbers are those of the SoC for which the host runs. `aclnn_viz::soc` holds them: a Python process fills it before a
// tiling function runs, and a whole program reads the words of ACLNN_VIZ_PLATFORM, "aiv aic ub".
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace aclnn_viz {

struct Soc {
    uint32_t aiv = 48, aic = 24;    // vector and matrix cores
    uint64_t ub = 196352;           // bytes of a Unified Buffer that a program may use
    bool system_workspace = false;  // whether the host asked for the system's part of a workspace
    Soc() {
        unsigned long long size;
        if (const char *words = std::getenv("ACLNN_VIZ_PLATFORM"))
            if (std::sscanf(words, "%u %u %llu", &aiv, &aic, &size) == 3) ub = size;
    }
};
inline Soc soc;
constexpr uint32_t SYSTEM_WORKSPACE = 16u << 20;  // bytes on NPU arch 2201

}  // namespace aclnn_viz

namespace platform_ascendc {
enum class CoreMemType { L0_A, L0_B, L0_C, L1, L2, UB, HBM, RESERVED };
}  // namespace platform_ascendc

namespace fe {
using LocalMemType = platform_ascendc::CoreMemType;
struct PlatFormInfos {
    uint32_t GetCoreNum() const { return aclnn_viz::soc.aiv; }
    void GetLocalMemSize(const LocalMemType &kind, uint64_t &size) const;
};
}  // namespace fe

namespace platform_ascendc {

enum class SocVersion { ASCEND910, ASCEND910B, ASCEND310P, ASCEND310B, ASCEND910_93, ASCEND950, MC62CM12A, RESERVED_VERSION };
enum class NpuArch { DAV_1001, DAV_2002, DAV_2201, DAV_3002, DAV_3510 };

class PlatformAscendC {
public:
    PlatformAscendC() = default;
    explicit PlatformAscendC(const fe::PlatFormInfos *) {}
    uint32_t GetCoreNum() const { return aclnn_viz::soc.aiv; }
    uint32_t GetCoreNumAiv() const { return aclnn_viz::soc.aiv; }
    uint32_t GetCoreNumAic() const { return aclnn_viz::soc.aic; }
    uint32_t GetCoreNumVector() const { return 0; }  // cores of 310P that have no matrix unit
    SocVersion GetSocVersion() const { return SocVersion::ASCEND910B; }
    NpuArch GetCurNpuArch() const { return NpuArch::DAV_2201; }
    uint32_t GetLibApiWorkSpaceSize() const { return aclnn_viz::soc.system_workspace = true, aclnn_viz::SYSTEM_WORKSPACE; }
    uint32_t GetResCubeGroupWorkSpaceSize() const { return 0; }
    uint32_t GetResGroupBarrierWorkSpaceSize() const { return 0; }
    uint32_t CalcTschBlockDim(uint32_t slices, uint32_t, uint32_t) const { return slices; }
    uint32_t CalcTschNumBlocks(uint32_t slices, uint32_t, uint32_t) const { return slices; }
    void GetCoreMemSize(const CoreMemType &kind, uint64_t &size) const {
        switch (kind) {
        case CoreMemType::L0_A: case CoreMemType::L0_B: size = 64 << 10; break;
        case CoreMemType::L0_C: size = 128 << 10; break;
        case CoreMemType::L1: size = 512 << 10; break;
        case CoreMemType::L2: size = 192 << 20; break;
        case CoreMemType::UB: size = aclnn_viz::soc.ub; break;
        default: size = 0;
        }
    }
    void GetCoreMemBw(const CoreMemType &kind, uint64_t &bytes) const { bytes = kind == CoreMemType::L2 ? 110 : 32; }
    void ReserveLocalMemory(uint32_t bytes) { aclnn_viz::soc.ub -= bytes; }
};

}  // namespace platform_ascendc

inline void fe::PlatFormInfos::GetLocalMemSize(const LocalMemType &kind, uint64_t &size) const {
    platform_ascendc::PlatformAscendC().GetCoreMemSize(kind, size);
}

namespace platform_ascendc {

class PlatformAscendCManager {
public:
    static PlatformAscendC *GetInstance(const char * = nullptr) {
        static PlatformAscendC one;
        return &one;
    }
};

}  // namespace platform_ascendc
