// Starts a kernel on each core as a process of its own, and carries its calls to the machine.
//
// The program is started as: PROGRAM list, which prints each entry with its arguments, or
// PROGRAM run ENTRY MEMORY BYTES LIMIT REPORT SOCKET..., all but the first two numbers: descriptors of shared memory, of a pipe
// that tells how cores ended and of one socket a core, and bytes of that memory and of all that a core may take. The calls of each
// core lie behind that memory.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <tuple>
#include <utility>

#include "kernel_operator.h"

namespace aclnn_viz {

struct Entry {
    const char *name;
    void (*print)();
    void (*start)(char *arguments);
};

template <class A>
void print_kind() {
    if constexpr (std::is_pointer_v<A>) std::printf(" p8");
    else if constexpr (std::is_integral_v<A>) std::printf(" %c%zu", std::is_unsigned_v<A> ? 'u' : 'i', sizeof(A));
    else if constexpr (std::is_floating_point_v<A> || std::is_same_v<A, half>) std::printf(" f%zu", sizeof(A));
    else std::printf(" s%zu", sizeof(A));
}

template <class A>
A take(char *&from) {  // each argument begins at a multiple of 8 bytes
    static_assert(std::is_trivially_copyable_v<A>, "an argument of an entry is copied byte by byte");
    A value;
    std::memcpy(&value, from, sizeof value);
    from += (sizeof value + 7) / 8 * 8;
    return value;
}

template <auto entry>
struct Of;
template <class... A, void (*entry)(A...)>
struct Of<entry> {
    static void print() { (print_kind<std::decay_t<A>>(), ...); }
    static void start(char *arguments) {
        std::tuple<std::decay_t<A>...> values{take<std::decay_t<A>>(arguments)...};  // braces: from left to right
        std::apply(entry, values);
    }
};

inline int machine = -1;
// Where a core writes its calls until it waits: how many bytes they are, then these. The machine reads them even after a crash.
constexpr int64_t CALLS = 1 << 16;
inline char *calls;
inline int64_t noted = 0, made = 0;  // bytes of calls, and numbers that were given to what calls make
inline char *wanted = nullptr;  // where shared memory shall begin, if that matters

constexpr rlim_t PRINTED = 4 << 20;  // bytes of one file that a kernel may write

// What a crash is about: a pointer into the Unified Buffer, or the end of the stack. The process ends by the signal all the same.
inline int reporting, my_core;
inline char *stack_begin;
inline void crashed(int number, siginfo_t *info, void *) {
    uint64_t address = uint64_t(info->si_addr), top = uint64_t(stack_begin);
    const char *why = address >= AscendC::UNIFIED_BUFFER && address < AscendC::UNIFIED_BUFFER + (1 << 20) ? "buffer"
                      : address < top && address + (16 << 20) > top                                      ? "stack" : "";
    if (number == SIGSEGV && *why) dprintf(reporting, "%d %s\n", my_core, why);
    std::signal(number, SIG_DFL);
    std::raise(number);
}
inline void watch(int report, int core) {
    static char spare[1 << 16];
    stack_t other = {};
    other.ss_sp = spare, other.ss_size = sizeof spare;
    sigaltstack(&other, nullptr);
    reporting = report, my_core = core, stack_begin = static_cast<char *>(__builtin_frame_address(0));
    struct sigaction action = {};
    action.sa_sigaction = crashed, action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &action, nullptr);
}

template <class F>
int run(F entry, char **words, int cores) {
    int memory = std::atoi(words[0]), report = std::atoi(words[3]);
    size_t size = std::strtoull(words[1], nullptr, 10);
    rlimit most = {std::strtoull(words[2], nullptr, 10), std::strtoull(words[2], nullptr, 10)}, none = {0, 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // whoever started it may be killed
    setrlimit(RLIMIT_AS, &most);
    setrlimit(RLIMIT_CORE, &none);
    rlimit printed = {PRINTED, PRINTED};
    setrlimit(RLIMIT_FSIZE, &printed);
    if (const char *key = std::getenv("ACLNN_VIZ_TILING_KEY")) g_tilingKey = std::strtoull(key, nullptr, 10);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    char *base = static_cast<char *>(mmap(wanted, size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
    if (base == MAP_FAILED || (wanted && base != wanted)) return 1;
    pid_t started[1024];
    for (int core = 0; core < cores; ++core) {
        if ((started[core] = fork()) != 0) continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        machine = std::atoi(words[4 + core]);
        watch(report, core);
        for (int other = 0; other < cores; ++other)
            if (other != core) close(std::atoi(words[4 + other]));
        calls = static_cast<char *>(mmap(nullptr, CALLS, PROT_READ | PROT_WRITE, MAP_SHARED, memory, off_t(size) + core * CALLS));
        if (calls == MAP_FAILED) _exit(1);
        int64_t address = int64_t(base);
        static char arguments[1 << 16];
        if (write(machine, &address, 8) == 8 && read(machine, arguments, sizeof arguments) >= 0) {
            entry(arguments);
            std::fflush(stdout);
            AscendC::send('e', "", {"", 0}, {});
        }
        _exit(0);
    }
    for (int core = 0; core < cores; ++core) close(std::atoi(words[4 + core]));
    for (int core = 0, status; core < cores; ++core) {
        pid_t ended = wait(&status);
        for (int one = 0; one < cores; ++one)
            if (started[one] == ended) dprintf(report, "%d %d\n", one, status);
    }
    return 0;
}

inline int start(const Entry *entries, int count, int argc, char **argv) {
    for (int k = 0; k < count; ++k) {
        if (argc == 2) {
            std::printf("%s", entries[k].name);
            entries[k].print();
            std::printf("\n");
        } else if (!std::strcmp(argv[2], entries[k].name)) {
            return run(entries[k].start, argv + 3, argc - 7);
        }
    }
    return argc == 2 ? 0 : 1;
}

}  // namespace aclnn_viz

// A record: the bytes of its head and of its numbers, then both. A head is a line, a kind, a name, a file, and the letters.
int64_t AscendC::send(char kind, const char *name, Place at, const Arguments &all) {
    using namespace aclnn_viz;
    char *record = calls + 8 + noted, *end = record + 8;
    auto add = [&](const void *from, size_t bytes) { std::memcpy(end, from, bytes), end += bytes; };
    add(&at.line, 4), add(&kind, 1), add(name, std::strlen(name) + 1), add(at.file, strnlen(at.file, 1024)), add("", 1);
    add(all.letters, size_t(all.length));
    int32_t sizes[] = {int32_t(end - record - 8), all.size};
    add(all.numbers, size_t(all.size)), std::memcpy(record, sizes, 8);
    noted = end - calls - 8;
    __atomic_store_n(reinterpret_cast<int64_t *>(calls), noted, __ATOMIC_RELEASE);
    int64_t answer = 0;
    if (kind == 'a' || kind == 'w' || kind == 'e' || noted > CALLS - 4096) {
        if (write(machine, "", 1) != 1 || read(machine, &answer, 8) != 8) _exit(0);  // its last call ends when the machine has read all
        *reinterpret_cast<int64_t *>(calls) = noted = 0;
    }
    return kind == 'm' ? made++ : answer;
}
