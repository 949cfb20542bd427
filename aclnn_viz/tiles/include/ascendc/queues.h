// Queues and buffers of the Unified Buffer.
#pragma once

#include "tensors.h"

namespace AscendC {

class Queue {
public:
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
    template <class T>
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
class TBuf {
public:
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
    TPipe(AT) : handle(make("TPipe", at)) { newest = this; }
    void Init(AT) { handle = make("TPipe", at), newest = this; }
    void Reset(AT) { call("TPipe.Reset", at, Handle{handle}); }
    void Destroy(AT) { call("TPipe.Reset", at, Handle{handle}); }
    bool InitBuffer(Queue &queue, uint8_t num, uint32_t length, AT) {
        queue.blocks = num, queue.taken = queue.waiting = 0;
        return call("TPipe.InitBuffer", at, Handle{handle}, queue.made(at), num, length), true;
    }
    template <TPosition position>
    bool InitBuffer(TBuf<position> &buffer, uint32_t length, AT) {
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
