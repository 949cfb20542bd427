// Queues and buffers of the Unified Buffer.
#pragma once

#include "tensors.h"

namespace AscendC {

class BufPool;
using TBufHandle = uint32_t;  // the number of a block of a pool

// What InitStartBufHandle and InitBufHandle of a pool of one's own say before the blocks are made: these lie one behind another.
class Placed {
public:
    void InitStartBufHandle(TBufHandle, uint8_t num, uint32_t length) { count = num, bytes = length; }

protected:
    uint8_t count = 0;
    uint32_t bytes = 0, begin = 0;
    bool first(uint32_t place, uint32_t address, Place at) {
        if (place == 0) begin = address;
        else if (address != begin + place * bytes) absent("InitBufHandle", "blocks of one queue that lie apart are not offered", at);
        return place == 0;
    }
};

class Queue : public Placed {
public:
    template <class Pool>
    void InitBufHandle(Pool *pool, uint32_t place, TBufHandle, uint32_t address, uint32_t, AT) {
        if (first(place, address, at)) pool->area.put(*this, address, count, bytes, at);
    }
    TPosition from, to;  // what fills a block, and what empties it
    int depth;
    int64_t handle = -1;
    int blocks = 0, taken = 0, waiting = 0;
    Queue(TPosition from, TPosition to, int depth) : from(from), to(to), depth(depth) {}
    Handle made(Place at) {
        if (from > TPosition::GM || to > TPosition::GM) absent("TQue", "its position is one of the matrix unit, which is not offered", at);
        if (from == TPosition::GM || to == TPosition::GM) {  // what copies from there fill, and to there empty
            call("Position", at, Text{"TQueBind"});
            if (from == TPosition::GM) from = TPosition::VECIN;
            if (to == TPosition::GM) to = TPosition::VECOUT;
        }
        if (handle < 0) handle = make("TQueBind", at, Choice<1, TPosition>{from}, Choice<1, TPosition>{to}, depth);
        return {handle};
    }
    template <class T>
    LocalTensor<T> AllocTensor(AT) { return ++taken, LocalTensor<T>(make("TQue.AllocTensor", at, made(at), Format<T>())); }
    template <class T>
    void AllocTensor(LocalTensor<T> &tensor, AT) { tensor = AllocTensor<T>(at); }
    template <class T>
    bool EnQue(const LocalTensor<T> &tensor, AT) { return ++waiting, call("TQue.EnQue", at, made(at), tensor), true; }
    template <TPosition, TPosition, class T>
    bool EnQue(const LocalTensor<T> &tensor, AT) { return EnQue(tensor, at); }
    template <class T = uint8_t>
    LocalTensor<T> DeQue(AT) { return --waiting, LocalTensor<T>(make("TQue.DeQue", at, made(at), Format<T>())); }
    template <TPosition, TPosition, class T>
    LocalTensor<T> DeQue(AT) { return DeQue<T>(at); }
    template <class T>
    void DeQue(LocalTensor<T> &tensor, AT) {
        if (depth == 0) --waiting, call("TQue.DeQue", at, made(at), tensor);
        else tensor = DeQue<T>(at);
    }
    template <class T>
    void FreeTensor(const LocalTensor<T> &tensor, AT) { --taken, call("TQue.FreeTensor", at, made(at), tensor); }
    void FreeAllEvent(AT) { call("TQue.FreeAllEvent", at, made(at)); }
    bool HasIdleBuffer() const { return taken < blocks; }
    bool VacantInQue() const { return waiting < depth; }
    bool HasTensorInQue() const { return waiting > 0; }
    int32_t GetTensorCountInQue() const { return waiting; }
};
template <TPosition src, TPosition dst, int length = 1, auto mask = 0>
class TQueBind : public Queue {
public:
    TQueBind() : Queue(src, dst, length) {}
};
template <TPosition position, int length = 1, auto mask = 0>
class TQue : public Queue {
public:
    TQue() : Queue(position, position, length) {}
};

template <TPosition position = TPosition::VECCALC>
class TBuf : public Placed {
public:
    template <class Pool>
    void InitBufHandle(Pool *pool, uint32_t place, TBufHandle, uint32_t address, uint32_t, AT) {
        if (first(place, address, at)) pool->area.put(*this, address, count, bytes, at);
    }
    int64_t handle = -1;
    Handle made(Place at) {
        constexpr TPosition place = position > TPosition::VECOUT ? TPosition::VECCALC : position;
        if (handle < 0) handle = make("TBuf", at, Choice<1, TPosition>{place});
        return {handle};
    }
    template <class T>
    LocalTensor<T> Get(AT) { return LocalTensor<T>(make("TBuf.Get", at, made(at), Format<T>())); }
    template <class T>
    LocalTensor<T> Get(uint32_t size, AT) { return LocalTensor<T>(make("TBuf.GetWithOffset", at, made(at), Format<T>(), size, 0)); }
    template <class T>
    LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bytes, AT) {
        return LocalTensor<T>(make("TBuf.GetWithOffset", at, made(at), Format<T>(), size, bytes));
    }
    // The older interface, in which a TBuf could be used like a queue.
    template <class T>
    LocalTensor<T> AllocTensor(AT) { return Get<T>(at); }
    template <class T>
    void FreeTensor(const LocalTensor<T> &) {}
};

class TPipe {
public:
    inline static TPipe *newest = nullptr;
    int64_t handle;
    uint32_t top = 0;  // of what InitBuffer and InitBufPool have given
    TPipe(AT) : handle(make("TPipe", at)) { newest = this; }
    void Init(AT) { handle = make("TPipe", at), newest = this, top = 0; }
    void Reset(AT) { call("TPipe.Reset", at, Handle{handle}), top = 0; }
    void Destroy(AT) { Reset(at); }
    template <class T>
    bool InitBufPool(T &pool, uint32_t length, AT) { return give(pool, top, length, at), top += (length + 31) / 32 * 32, true; }
    template <class T, class U>
    bool InitBufPool(T &pool, uint32_t length, U &shared, AT) { return give(pool, shared.area.start, length, at), true; }
    template <class T>
    void give(T &pool, uint32_t start, uint32_t length, Place at);
    void move(uint32_t start, Place at) { call("TPipe.move", at, Handle{handle}, start); }
    bool InitBuffer(Queue &queue, uint8_t num, uint32_t length, AT) {
        queue.blocks = num, queue.taken = queue.waiting = 0, top += num * ((length + 31) / 32 * 32);
        return call("TPipe.InitBuffer", at, Handle{handle}, queue.made(at), num, length), true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint32_t length, AT) {
        top += (length + 31) / 32 * 32;
        return call("TPipe.InitBuffer", at, Handle{handle}, buffer.made(at), length), true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint8_t num, uint32_t length, AT) { return InitBuffer(buffer, num * length, at); }
    template <HardEvent event>
    TEventID AllocEventID(AT) { return ask("TPipe.AllocEventID", at, Handle{handle}, Choice<0, HardEvent>{event}); }
    template <HardEvent event>
    void ReleaseEventID(TEventID id, AT) { call("TPipe.ReleaseEventID", at, Handle{handle}, Choice<0, HardEvent>{event}, id); }
    template <HardEvent event>
    TEventID FetchEventID(AT) { return FetchEventID(event, at); }
    TEventID FetchEventID(HardEvent event, AT) { return ask("TPipe.FetchEventID", at, Handle{handle}, Choice<0, HardEvent>{event}); }
};
// A part of the Unified Buffer that a TPipe or another pool gave. Pools may share a part: then each is used up to its Reset.
class BufPool {
public:
    TPipe *pipe = nullptr;
    uint32_t start = 0, end = 0, top = 0;
    template <class B>
    void put(B &buffer, uint32_t address, uint8_t num, uint32_t length, Place at) {
        length = (length + 31) / 32 * 32;
        if (!pipe) return absent("TBufPool", "a pool that no InitBufPool has given memory", at);
        if (address < start || address + num * length > end) return absent("TBufPool", "buffers beyond the length that InitBufPool gave it", at);
        uint32_t behind = pipe->top;
        pipe->move(address, at);
        if constexpr (std::is_base_of_v<Queue, B>) pipe->InitBuffer(buffer, num, length, at);
        else pipe->InitBuffer(buffer, num * length, at);
        pipe->move(pipe->top = behind, at);
    }
    void Reset(AT) { call("PipeBarrier", at, Choice<5, pipe_t>{PIPE_ALL}); }
};
template <class T>
void TPipe::give(T &pool, uint32_t start, uint32_t length, Place at) {
    pool.area.pipe = this, pool.area.start = pool.area.top = start, pool.area.end = start + (length + 31) / 32 * 32;
    move(std::max(top, pool.area.end), at);
}
template <TPosition position, uint32_t most = 4>
class TBufPool {
public:
    BufPool area;
    template <class T>
    bool InitBufPool(T &pool, uint32_t length, AT) {
        area.pipe->give(pool, area.top, length, at);
        return area.top += (length + 31) / 32 * 32, true;
    }
    template <class T, class U>
    bool InitBufPool(T &pool, uint32_t length, U &shared, AT) { return area.pipe->give(pool, shared.area.start, length, at), true; }
    bool InitBuffer(Queue &queue, uint8_t num, uint32_t length, AT) {
        return area.put(queue, area.top, num, length, at), area.top += num * ((length + 31) / 32 * 32), true;
    }
    template <TPosition of>
    bool InitBuffer(TBuf<of> &buffer, uint32_t length, AT) {
        return area.put(buffer, area.top, 1, length, at), area.top += (length + 31) / 32 * 32, true;
    }
    void Reset(AT) { area.Reset(at), area.top = area.start; }
};
#define EXTERN_IMPL_BUFPOOL(Name, position, most)                                                                          \
    AscendC::BufPool area;                                                                                                 \
    uint8_t held_ = 0;                                                                                                     \
    void Init() { held_ = 0; }                                                                                             \
    void Reset(AscendC::Place at = AscendC::Place::here()) { area.Reset(at), area.top = area.start, held_ = 0; }           \
    AscendC::TBufHandle GetBufHandle(uint8_t offset) { return offset; }                                                    \
    void SetCurAddr(uint32_t address) { area.top = address; }                                                              \
    uint32_t GetCurAddr() const { return area.top; }                                                                       \
    void SetCurBufSize(uint8_t count) { held_ = count; }                                                                   \
    uint8_t GetCurBufSize() const { return held_; }

inline TPipe *GetTPipePtr() { return TPipe::newest; }

template <Hardware place = Hardware::UB>
class LocalMemAllocator {
public:
    int64_t handle;
    LocalMemAllocator(AT) : handle(make("LocalMemAllocator", at)) {}
    template <TPosition, class T, uint32_t size>
    LocalTensor<T> Alloc(AT) { return Alloc<T>(size, at); }
    template <TPosition, class T>
    LocalTensor<T> Alloc(uint32_t size, AT) { return Alloc<T>(size, at); }
    template <class T, uint32_t size>
    LocalTensor<T> Alloc(AT) { return Alloc<T>(size, at); }
    template <class T>
    LocalTensor<T> Alloc(uint32_t size, AT) { return LocalTensor<T>(make("LocalMemAllocator.Alloc", at, Handle{handle}, Format<T>(), size)); }
    uint32_t GetCurAddr(AT) const { return ask("LocalMemAllocator.GetCurAddr", at, Handle{handle}); }
};

}  // namespace AscendC
using AscendC::GetTPipePtr;
