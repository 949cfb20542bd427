// Device memory, pinned host memory, copies, and the 16-bit storage formats.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "state.h"

namespace standin {

static std::map<uintptr_t, Block> blocks;
static std::set<void *> host_memory;
static size_t used = 0;

std::map<std::string, size_t> memory_counts() {
    size_t device = std::count_if(blocks.begin(), blocks.end(), [](auto &item) { return item.second.bytes; });
    return {{"device memory", device}, {"host memory", host_memory.size()}};
}

// A large backing store is one poisoned file mapped again and again: pages are copied when they are first written.
constexpr size_t CHUNK = 1 << 20;

static uint8_t *new_backing(size_t size) {
    if (size < CHUNK) return static_cast<uint8_t *>(memset(malloc(size), POISON, size));
    static int poison = [] {
        int file = memfd_create("poison", MFD_CLOEXEC);
        std::vector<uint8_t> bytes(CHUNK, POISON);
        if (::write(file, bytes.data(), CHUNK) != ssize_t(CHUNK)) abort();
        return file;
    }();
    size = (size + CHUNK - 1) / CHUNK * CHUNK;
    auto *start = static_cast<uint8_t *>(mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (size_t at = 0; at < size; at += CHUNK)
        mmap(start + at, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, poison, 0);
    return start;
}

static void end_backing(uint8_t *bytes, size_t size) {
    if (size < CHUNK) return free(bytes);
    munmap(bytes, (size + CHUNK - 1) / CHUNK * CHUNK);
}

Block *find_block(uintptr_t address) {
    auto next = blocks.upper_bound(address);
    return next == blocks.begin() || !is_device_address(address) ? nullptr : &std::prev(next)->second;
}

static size_t charge(size_t size) { return (size + 31) / 32 * 32 + (product() == P950 ? 0 : 32); }

static aclError allocate(const char *where, void **pointer, size_t size) {
    if (!pointer) return fail(ACL_ERROR_INVALID_PARAM, "%s: devPtr is null", where);
    if (!size) return fail(ACL_ERROR_INVALID_PARAM, "%s: size is 0", where);
    NEEDS_CONTEXT(where);
    size_t room = memory_size();
    if (size > room || used + charge(size) > room)
        return fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: no room for %zu bytes", where, size);
    uintptr_t address = take_device_range(size);
    blocks[address] = {address, size, new_backing(size), current_device()};
    used += charge(size);
    *pointer = reinterpret_cast<void *>(address);
    return 0;
}

static void end_block(Block &block) {
    end_backing(block.bytes, block.size);
    block.bytes = nullptr;
    used -= charge(block.size);
}

static aclError release(void *pointer) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    Block *block = find_block(address);
    if (!block || block->address != address) {
        misuse("aclrtFree: %p did not come from aclrtMalloc", pointer);
    } else if (!block->bytes) {
        misuse("aclrtFree: %p was freed before", pointer);
    } else {
        if (const Task *task = queued(address, true, true))
            misuse("aclrtFree: %p is freed while %s is queued that uses it", pointer, task->name.c_str());
        end_block(*block);
        return 0;
    }
    return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "aclrtFree: invalid address");
}

void end_memory(int device, const char *where) {
    for (auto &[address, block] : blocks)
        if (block.bytes && block.device == device) {
            misuse("%s: %zu bytes of device memory at %#lx were not freed", where, block.size, address);
            end_block(block);
        }
}

void end_host_memory(const char *where) {
    for (void *pointer : host_memory) {
        misuse("%s: host memory at %p was not freed", where, pointer);
        free(pointer);
    }
    host_memory.clear();
}

// One end of a copy: a place in a block's backing store, or host memory.
struct End {
    Block *block = nullptr;
    uint8_t *bytes = nullptr;
    size_t room = SIZE_MAX;  // bytes up to the end of the block
};

static bool locate(End &end, const void *pointer, size_t count, const char *where) {
    auto address = reinterpret_cast<uintptr_t>(pointer);
    end.block = find_block(address);
    if (!end.block) {
        end.bytes = static_cast<uint8_t *>(const_cast<void *>(pointer));
        if (!is_device_address(address) && is_mapped(pointer, count)) return true;
        misuse("%s: %p is neither device memory nor mapped host memory", where, pointer);
        return false;
    }
    Block &block = *end.block;
    end.bytes = block.bytes + (address - block.address);
    end.room = block.bytes && address < block.address + block.size ? block.address + block.size - address : 0;
    if (!block.bytes)
        misuse("%s: the memory at %p was freed", where, pointer);
    else if (count > end.room)
        misuse("%s: %zu bytes at %p, %zu beyond the end", where, count, pointer, count - end.room);
    return true;
}

static aclError check_copy(void *dst, size_t dest_max, const void *src, size_t count, int kind, const char *where) {
    if (!dst || !src) return fail(ACL_ERROR_INVALID_PARAM, "%s: %s is null", where, dst ? "src" : "dst");
    if (kind < 0 || kind > 7) return fail(ACL_ERROR_INVALID_PARAM, "%s: there is no kind %d", where, kind);
    NEEDS_CONTEXT(where);
    if (dest_max >= count) return 0;
    return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: destMax %zu < count %zu", where, dest_max, count);
}

static aclError copy(void *dst, const void *src, size_t count, int kind, const char *where) {
    End to, from;
    if (!locate(to, dst, count, where) || !locate(from, src, count, where))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no memory there", where);
    static const int directions[] = {0, 1, 2, 3, -1, 1, 3, 3};  // of each kind: 1 to the device, 2 from it
    int direction = (from.block ? 2 : 0) + (to.block ? 1 : 0);
    if (directions[kind] >= 0 && directions[kind] != direction)
        misuse("%s: kind %d is not the direction of the pointers, which decide", where, kind);
    size_t writable = std::min(count, to.room), readable = std::min(writable, from.room);
    const Task *writer = from.block ? queued(from.block->address, false, true) : nullptr;
    const Task *user = to.block ? queued(to.block->address, true, true) : nullptr;
    if (writer) misuse("%s: the result of %s is read before it is synchronised", where, writer->name.c_str());
    if (user) misuse("%s: memory of the queued %s is overwritten", where, user->name.c_str());
    if (writer) readable = 0;
    if (readable) memmove(to.bytes, from.bytes, readable);
    if (writable > readable) memset(to.bytes + readable, POISON, writable - readable);
    return 0;
}

double unpack16(uint16_t bits, int mantissa, int bias) {
    int exponent = (bits & 0x7fff) >> mantissa, fraction = bits & ((1 << mantissa) - 1);
    double value;
    if (exponent == 2 * bias + 1)
        value = fraction ? NAN : INFINITY;
    else if (exponent)
        value = std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
    else
        value = std::ldexp(fraction, 1 - bias - mantissa);
    return bits & 0x8000 ? -value : value;
}

uint16_t pack16(double value, int mantissa, int bias) {
    uint16_t sign = std::signbit(value) ? 0x8000 : 0, infinity = (2 * bias + 1) << mantissa;
    if (std::isnan(value)) return infinity | 1 << (mantissa - 1);
    if (value == 0) return sign;
    int exponent;
    std::frexp(value, &exponent);
    exponent = std::max(exponent - 1, 1 - bias);
    if (std::isinf(value) || exponent > bias) return sign | infinity;
    // the hidden bit of a normal number carries into the exponent field; a subnormal number has none
    auto units = int64_t(std::nearbyint(std::ldexp(std::fabs(value), mantissa - exponent)));
    return sign | uint16_t(((exponent + bias - 1) << mantissa) + units);
}

}  // namespace standin

using namespace standin;

extern "C" {

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy) {
    ENTER("aclrtMalloc");
    return allocate("aclrtMalloc", devPtr, size);
}

aclError aclrtMallocAlign32(void **devPtr, size_t size, aclrtMemMallocPolicy) {
    ENTER("aclrtMallocAlign32");
    return allocate("aclrtMallocAlign32", devPtr, size);
}

aclError aclrtFree(void *devPtr) {
    ENTER_RELEASE("aclrtFree");
    NOT_NULL(devPtr);
    NEEDS_CONTEXT("aclrtFree");
    LEAVE_RELEASE(release(devPtr));
}

aclError aclrtMallocHost(void **hostPtr, size_t size) {
    ENTER("aclrtMallocHost");
    NOT_NULL(hostPtr && size);
    NEEDS_CONTEXT("aclrtMallocHost");
    *hostPtr = memset(malloc(size), POISON, size);
    host_memory.insert(*hostPtr);
    return 0;
}

aclError aclrtFreeHost(void *hostPtr) {
    ENTER_RELEASE("aclrtFreeHost");
    NOT_NULL(hostPtr);
    NEEDS_CONTEXT("aclrtFreeHost");
    if (!host_memory.erase(hostPtr)) {
        misuse("aclrtFreeHost: %p did not come from aclrtMallocHost, or was freed before", hostPtr);
        return fail(ACL_ERROR_RT_DRV_INTERNAL_ERROR, "aclrtFreeHost: invalid address");
    }
    free(hostPtr);
    return call.status;
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind) {
    ENTER("aclrtMemcpy");
    if (!count) return 0;
    int status = check_copy(dst, destMax, src, count, kind, "aclrtMemcpy");
    return status ? status : copy(dst, src, count, kind, "aclrtMemcpy");
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
    ENTER("aclrtMemcpyAsync");
    if (!count) return 0;
    if (int status = check_copy(dst, destMax, src, count, kind, "aclrtMemcpyAsync")) return status;
    Task task{"aclrtMemcpyAsync", {}, {}, nullptr};
    if (Block *block = find_block(reinterpret_cast<uintptr_t>(src))) task.reads = {block->address};
    if (Block *block = find_block(reinterpret_cast<uintptr_t>(dst))) task.writes = {block->address};
    task.run = [=] {
        if (int error = copy(dst, src, count, kind, "aclrtMemcpyAsync")) throw Failure{error};
    };
    return enqueue(stream, std::move(task), "aclrtMemcpyAsync");
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count) {
    ENTER("aclrtMemset");
    NOT_NULL(devPtr);
    NEEDS_CONTEXT("aclrtMemset");
    if (maxCount < count) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemset: maxCount %zu < %zu", maxCount, count);
    End end;
    if (!locate(end, devPtr, count, "aclrtMemset"))
        return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemset: no memory there");
    if (size_t room = std::min(count, end.room)) memset(end.bytes, value, room);
    return 0;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
    ENTER("aclrtGetMemInfo");
    NOT_NULL(free && total);
    NEEDS_CONTEXT("aclrtGetMemInfo");
    if (attr < 0 || attr > 11) return fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetMemInfo: no attribute %d", attr);
    *total = memory_size();
    *free = *total - used;
    return 0;
}

size_t aclDataTypeSize(aclDataType dataType) {
    static const std::map<int, size_t> sizes = {
        {ACL_FLOAT, 4}, {ACL_FLOAT16, 2}, {ACL_INT8, 1}, {ACL_INT32, 4}, {ACL_UINT8, 1}, {ACL_INT16, 2},
        {ACL_UINT16, 2}, {ACL_UINT32, 4}, {ACL_INT64, 8}, {ACL_UINT64, 8}, {ACL_DOUBLE, 8}, {ACL_BOOL, 1},
        {ACL_COMPLEX64, 8}, {ACL_COMPLEX128, 16}, {ACL_BF16, 2}, {ACL_COMPLEX32, 4}};
    auto found = sizes.find(dataType);
    return found == sizes.end() ? 0 : found->second;
}

// CANN's converters know neither infinity nor NaN.
float aclFloat16ToFloat(aclFloat16 value) {
    bool special = (value & 0x7c00) == 0x7c00;
    return float(special ? (value & 0x8000 ? -1 : 1) * std::ldexp(1024 + (value & 0x3ff), 6) : unpack16(value, 10, 15));
}

aclFloat16 aclFloatToFloat16(float value) {
    if (std::isnan(value)) return 0x7bff;
    aclFloat16 bits = pack16(value, 10, 15);
    return (bits & 0x7c00) == 0x7c00 ? (bits & 0x8000) | 0x7bff : bits;
}

}  // extern "C"
