// Order: flags and barriers of a core, meetings of cores, atomic copies, the scalar unit's cache, and what a core knows of itself.
#pragma once

#include "vector.h"

namespace AscendC {

inline void set(HardEvent event, TEventID id, Place at) { call("SetFlag", at, Choice<0, HardEvent>{event}, id); }
inline void await(HardEvent event, TEventID id, Place at) {
    call("WaitFlag", at, Choice<0, HardEvent>{event}, id);
    if (event == HardEvent::V_S || event == HardEvent::MTE2_S || event == HardEvent::MTE3_S) all_done();
}
template <HardEvent event>
void SetFlag(TEventID id, AT) { set(event, id, at); }
template <HardEvent event>
void WaitFlag(TEventID id, AT) { await(event, id, at); }
template <pipe_t pipe>
void PipeBarrier(AT) {
    static_assert(pipe <= PIPE_ALL, "PipeBarrier: MTE1, M and FIX are pipes of the matrix unit, which this machine does not have");
    call("PipeBarrier", at, Choice<5, pipe_t>{pipe});
    if (pipe == PIPE_ALL || pipe == PIPE_S) all_done();
}
constexpr HardEvent event_of(pipe_t from, pipe_t to) {
    switch (from * 16 + to) {
    case PIPE_S * 16 + PIPE_V: return HardEvent::S_V;
    case PIPE_S * 16 + PIPE_MTE2: return HardEvent::S_MTE2;
    case PIPE_S * 16 + PIPE_MTE3: return HardEvent::S_MTE3;
    case PIPE_V * 16 + PIPE_S: return HardEvent::V_S;
    case PIPE_V * 16 + PIPE_MTE2: return HardEvent::V_MTE2;
    case PIPE_V * 16 + PIPE_MTE3: return HardEvent::V_MTE3;
    case PIPE_MTE2 * 16 + PIPE_S: return HardEvent::MTE2_S;
    case PIPE_MTE2 * 16 + PIPE_V: return HardEvent::MTE2_V;
    case PIPE_MTE2 * 16 + PIPE_MTE3: return HardEvent::MTE2_MTE3;
    case PIPE_MTE3 * 16 + PIPE_S: return HardEvent::MTE3_S;
    case PIPE_MTE3 * 16 + PIPE_V: return HardEvent::MTE3_V;
    case PIPE_MTE3 * 16 + PIPE_MTE2: return HardEvent::MTE3_MTE2;
    default: return HardEvent::V_V;
    }
}
template <pipe_t from, pipe_t to>
class TQueSync {
public:
    void SetFlag(TEventID id, AT) { AscendC::SetFlag<event_of(from, to)>(id, at); }
    void WaitFlag(TEventID id, AT) { AscendC::WaitFlag<event_of(from, to)>(id, at); }
};
template <MemDsbT kind = MemDsbT::ALL>
void DataSyncBarrier(AT) { PipeBarrier<PIPE_ALL>(at); }

inline int64_t GetBlockIdx(AT) {
    static int64_t known = -1;
    if (known < 0) known = ask("GetBlockIdx", at);
    else call("GetBlockIdx", at);  // for the line alone
    return known;
}
inline int64_t GetBlockNum(AT) {
    static int64_t known = -1;
    if (known < 0) known = ask("GetBlockNum", at);
    else call("GetBlockNum", at);  // for the line alone
    return known;
}
template <bool isAIVOnly = true>
void SyncAll(AT) { ask("SyncAll", at); }
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t> &memory, const LocalTensor<int32_t> &buffer, int32_t usedCores = 0, AT) {
    if (usedCores && usedCores != GetBlockNum(at)) absent("SyncAll", "a meeting of a part of the cores is not offered", at);
    ask("SyncAll", at, memory, buffer);
}

// Vector cores in turn, in the order of their numbers: each turn is a phase between two meetings of all. Each call begins with a
// barrier of all pipes, on the first core, too (asc-devkit, impl/basic_api/dav_c220/kernel_operator_determine_compute_sync_impl.h).
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t> &, LocalTensor<int32_t> &, AT) { PipeBarrier<PIPE_ALL>(at); }
inline void WaitPreBlock(GlobalTensor<int32_t> &, LocalTensor<int32_t> &, AT) {
    PipeBarrier<PIPE_ALL>(at);
    for (int64_t core = GetBlockIdx(at); core > 0; --core) SyncAll(at);
}
inline void NotifyNextBlock(GlobalTensor<int32_t> &, LocalTensor<int32_t> &, AT) {
    for (int64_t core = GetBlockIdx(at); core < GetBlockNum(at); ++core) SyncAll(at);
}
// Mode 0 is a meeting of all vector cores; other modes are with a matrix core.
template <uint8_t mode, pipe_t pipe>
void CrossCoreSetFlag(uint16_t, AT) {
    if (mode != 0) absent("CrossCoreSetFlag", "modes 1 and 2, which wait for a matrix core", at);
}
template <uint8_t mode = 0, pipe_t pipe = PIPE_S>
void CrossCoreWaitFlag(uint16_t, AT) {
    if (mode != 0) absent("CrossCoreWaitFlag", "modes 1 and 2, which wait for a matrix core", at);
    SyncAll(at);
}

// One core waits for another, through a flag in global memory that a meeting of two alone orders.
template <bool isAIVOnly = true>
void IBSet(const GlobalTensor<int32_t> &memory, const LocalTensor<int32_t> &buffer, int32_t blockIdx, int32_t eventID, AT) {
    ask("IBSet", at, memory, buffer, blockIdx, eventID);
}
template <bool isAIVOnly = true>
void IBWait(const GlobalTensor<int32_t> &memory, const LocalTensor<int32_t> &buffer, int32_t blockIdx, int32_t eventID, AT) {
    ask("IBWait", at, memory, buffer, blockIdx, eventID);
}
enum class PipeMode : uint8_t { SCALAR_MODE, MTE3_MODE, MAX };
// A group waits for another, in a loop, too: each arrival sets a flag of its round for each waiting core.
template <PipeMode mode>
class GroupBarrier {
public:
    static_assert(mode == PipeMode::MTE3_MODE, "GroupBarrier sends its messages by MTE3_MODE alone");
    GroupBarrier(GM_ADDR workspace, uint32_t arriveSize, uint32_t waitSize) : arrives(arriveSize), waits(waitSize) {
        memory.SetGlobalBuffer(reinterpret_cast<int32_t *>(workspace), GetWorkspaceLen() / sizeof(int32_t));
    }
    void Arrive(uint32_t index, AT) {
        if (index >= arrives) absent("GroupBarrier", "an index of Arrive that arriveSize does not count", at);
        for (uint32_t core = 0; core < waits; ++core) ask("IBSet", at, memory, Nothing(), index, arrived * waits + core);
        ++arrived;
    }
    void Wait(uint32_t index, AT) {
        if (index >= waits) absent("GroupBarrier", "an index of Wait that waitSize does not count", at);
        for (uint32_t core = 0; core < arrives; ++core) ask("IBWait", at, memory, Nothing(), core, waited * waits + index);
        ++waited;
    }
    uint64_t GetWorkspaceLen() const { return uint64_t(waits) * 512; }

private:
    uint32_t arrives, waits, arrived = 0, waited = 0;
    GlobalTensor<int32_t> memory;
};

template <class T>
void SetAtomicAdd(AT) { call("SetAtomicAdd", at, Format<T>()); }
template <class T>
void SetAtomicMax(AT) { call("SetAtomicMax", at, Format<T>()); }
template <class T>
void SetAtomicMin(AT) { call("SetAtomicMin", at, Format<T>()); }
inline void SetAtomicNone(AT) { call("SetAtomicNone", at); }
inline void DisableDmaAtomic(AT) { call("SetAtomicNone", at); }

template <class T, CacheLine lines, DcciDst to = DcciDst::CACHELINE_ALL>
void DataCacheCleanAndInvalid(const GlobalTensor<T> &tensor, AT) {
    static_assert(to == DcciDst::CACHELINE_ALL || to == DcciDst::CACHELINE_OUT,
                  "DataCacheCleanAndInvalid: the cache of global memory alone is offered, CACHELINE_OUT or CACHELINE_ALL");
    ask("DataCacheCleanAndInvalid", at, tensor, Choice<6, CacheLine>{lines});
}
template <class T>
void DataCachePreload(const GlobalTensor<T> &, int64_t) {}

// The scalar unit past its cache: plain memory, which the machine does not see.
template <class T>
T ReadGmByPassDCache(T *address) { return *address; }
template <class T>
void WriteGmByPassDCache(T *address, T value) { *address = value; }

inline int64_t GetSubBlockIdx() { return 0; }
inline int64_t GetSubBlockNum() { return 1; }
inline int64_t GetTaskRatio() { return 1; }
inline void InitSocState() {}
constexpr uint32_t GetVecLen() { return 256; }
constexpr uint32_t GetDataBlockSizeInBytes() { return 32; }
constexpr uint32_t GetUBSizeInBytes() { return 196352; }
constexpr uint32_t GetRuntimeUBSize() { return GetUBSizeInBytes(); }
inline int64_t GetSystemCycle() { return 0; }  // no time is modelled
inline int64_t GetProgramCounter() { return 0; }
inline void SetNextTaskStart() {}
inline void WaitPreTaskEnd() {}
template <class T>
void ICachePreLoad(T) {}
#define ASCENDC_WHOLE_NUMBERS(Name, result)                                                                               \
    template <class A, class B, class = std::enable_if_t<std::is_integral_v<A> && std::is_integral_v<B>>>                 \
    constexpr std::common_type_t<A, B> Name(A a, B b) { return b == 0 ? 0 : result; }
ASCENDC_WHOLE_NUMBERS(DivCeil, (a + b - 1) / b) ASCENDC_WHOLE_NUMBERS(CeilDivision, (a + b - 1) / b)
ASCENDC_WHOLE_NUMBERS(CeilDiv, (a + b - 1) / b) ASCENDC_WHOLE_NUMBERS(Ceil, (a + b - 1) / b)
ASCENDC_WHOLE_NUMBERS(AlignUp, (a + b - 1) / b * b) ASCENDC_WHOLE_NUMBERS(CeilAlign, (a + b - 1) / b * b)
ASCENDC_WHOLE_NUMBERS(AlignDown, a / b * b)
// A scalar from one type to another, as the scalar unit rounds.
inline float ToFloat(bfloat16_t value) { return float(value); }
inline bfloat16_t ToBfloat16(float value) { return bfloat16_t(value); }
template <class T, class U, RoundMode mode>
U ScalarCast(T value) {
    static_assert(std::is_same_v<T, float> && (std::is_same_v<U, half> || std::is_same_v<U, int32_t>),
                  "ScalarCast takes float to half or int32_t");
    if (std::is_same_v<U, half>) return U(value);
    switch (mode) {
    case RoundMode::CAST_FLOOR: return U(std::floor(value));
    case RoundMode::CAST_CEIL: return U(std::ceil(value));
    case RoundMode::CAST_ROUND: return U(std::round(value));
    case RoundMode::CAST_RINT: return U(std::nearbyint(value));
    default: return U(value);
    }
}
template <class T>
int64_t GetBitCount(T value) { return __builtin_popcountll(uint64_t(value)); }
template <int bit>
int64_t GetBitCount(uint64_t value) { return bit ? __builtin_popcountll(value) : 64 - __builtin_popcountll(value); }
inline int64_t CountLeadingZero(uint64_t value) { return value ? __builtin_clzll(value) : 64; }

}  // namespace AscendC

// The names of the compiler itself.
inline constexpr struct {
    operator int64_t() const { return AscendC::GetBlockIdx(); }
} block_idx;
inline constexpr struct {
    operator int64_t() const { return AscendC::GetBlockNum(); }
} block_num;
inline int64_t get_block_idx() { return AscendC::GetBlockIdx(); }
inline int64_t get_block_num() { return AscendC::GetBlockNum(); }
inline void set_flag(pipe_t from, pipe_t to, AscendC::TEventID id, AscendC::Place at = AscendC::Place::here()) { AscendC::set(AscendC::event_of(from, to), id, at); }
inline void wait_flag(pipe_t from, pipe_t to, AscendC::TEventID id, AscendC::Place at = AscendC::Place::here()) { AscendC::await(AscendC::event_of(from, to), id, at); }
#define pipe_barrier(pipe) AscendC::PipeBarrier<pipe>()
#define set_atomic_none() AscendC::SetAtomicNone()
