// How a C++ program reaches the emulator: each function of CANN's C API becomes one message, and its answer.
//
// A message is the name of the function, the address it was called from and its arguments in C order, numbers in 8 bytes; the
// answer is the status or result, then what C writes through pointers. Each thread has a socket of its own, since the emulator
// keeps errors and contexts by thread. `aclnn-viz cpp run` is the other end where it started the program; any other program
// starts the emulator at its first call. Device addresses are numbers that this process has no memory at.
#pragma once

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <type_traits>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"

#define HERE __builtin_return_address(0)

namespace aclnn_viz_client {  // of its own: a program holds other names of the kit

constexpr uint64_t DEVICE = 0x12C000000000, DEVICE_END = DEVICE + (1ull << 44);  // where the emulator hands out addresses
inline bool on_device(const void *address) { return uint64_t(address) >= DEVICE && uint64_t(address) < DEVICE_END; }

// ---- The process --------------------------------------------------------------------------------------------------------

inline int control = -1;  // tells of threads and of a crash
inline pid_t owner = 0, emulator = 0;
inline std::mutex starting;
inline uintptr_t low = 0, high = 0;  // where the program itself lies, without its libraries

inline void ended(const char *why) {
    std::fprintf(stderr, "aclnn-viz: %s\n", why);
    signal(SIGABRT, SIG_DFL);
    abort();
}

inline int measure(dl_phdr_info *info, size_t, void *base) {  // the first object is the program
    *static_cast<uintptr_t *>(base) = info->dlpi_addr;
    for (int k = 0; k < info->dlpi_phnum; ++k) {
        uintptr_t start = info->dlpi_addr + info->dlpi_phdr[k].p_vaddr, end = start + info->dlpi_phdr[k].p_memsz;
        if (info->dlpi_phdr[k].p_type != PT_LOAD) continue;
        low = low == 0 || start < low ? start : low, high = end > high ? end : high;
    }
    return 1;
}

// Says where the program crashed, the innermost place of the program's own, and lets it end as it would have.
inline void crashed(int number, siginfo_t *, void *context) {
#if defined(__x86_64__)
    uintptr_t place = static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP];
#else
    uintptr_t place = static_cast<ucontext_t *>(context)->uc_mcontext.pc;
#endif
    void *frames[64];
    int count = backtrace(frames, 64);
    for (int k = 0; (place < low || place >= high) && k < count; ++k) place = uintptr_t(frames[k]) - 1;
    char text[64];
    int length = std::snprintf(text, sizeof text, "crash %d %llx", number, place < low || place >= high ? 0ull : (unsigned long long)place);
    if (send(control, text, length, MSG_NOSIGNAL) < 0) {}
    signal(number, SIG_DFL);
    raise(number);
}

inline void open_control(int socket) {
    control = socket, owner = getpid();
    uintptr_t base = 0;
    dl_iterate_phdr(measure, &base);
    char text[4096], place[3900] = "";
    if (readlink("/proc/self/exe", place, sizeof place - 1) < 0) {}
    int length = std::snprintf(text, sizeof text, "hello %llx %s", (unsigned long long)base, place);
    if (send(control, text, length, MSG_NOSIGNAL) < 0) ended("the emulator has ended");
    void *first[1];
    backtrace(first, 1);  // loads what it needs, while nothing is wrong yet
    static char stack[1 << 16];
    stack_t other = {stack, 0, sizeof stack};
    sigaltstack(&other, nullptr);
    struct sigaction action = {};
    action.sa_sigaction = crashed, action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &action, nullptr);
}

__attribute__((constructor)) static void begin() {
    const char *given = std::getenv("ACLNN_VIZ_CONTROL");
    if (!given) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    open_control(std::atoi(given));
    unsetenv("ACLNN_VIZ_CONTROL");
}

__attribute__((destructor)) static void finish() {
    if (!emulator || owner != getpid()) return;
    std::fflush(stdout);
    shutdown(control, SHUT_RDWR);
    waitpid(emulator, nullptr, 0);  // it says what it found before the shell's next line
}

inline void start_emulator() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair)) ended("no socket for the emulator");
    emulator = fork();
    if (!emulator) {
        char number[16];
        std::snprintf(number, sizeof number, "%d", dup(pair[1]));
        execl(ACLNN_VIZ_PYTHON, ACLNN_VIZ_PYTHON, "-c", "import sys; sys.path.append(sys.argv[2])\n"
              "from aclnn_viz.devices.emulator import serve_from; serve_from(int(sys.argv[1]))", number, ACLNN_VIZ_ROOT, nullptr);
        std::fprintf(stderr, "aclnn-viz: cannot start the emulator, %s: run `aclnn-viz cpp flags` again\n", ACLNN_VIZ_PYTHON);
        _exit(127);
    }
    close(pair[1]);
    open_control(pair[0]);
}

struct Line {  // the socket of a thread
    int socket = -1;
    ~Line() { if (socket >= 0) close(socket); }
};
inline thread_local Line line;

inline int connected() {
    if (owner && owner != getpid()) ended("a program that has called ACL must not use it after a fork");
    if (line.socket >= 0) return line.socket;
    std::lock_guard<std::mutex> one(starting);
    if (control < 0) start_emulator();
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) ended("no socket for a thread");
    char word[] = "line", room[CMSG_SPACE(sizeof(int))] = {};
    iovec words = {word, 4};
    msghdr message = {};
    message.msg_iov = &words, message.msg_iovlen = 1, message.msg_control = room, message.msg_controllen = sizeof room;
    cmsghdr *passed = CMSG_FIRSTHDR(&message);
    passed->cmsg_level = SOL_SOCKET, passed->cmsg_type = SCM_RIGHTS, passed->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(passed), &pair[1], sizeof(int));
    if (sendmsg(control, &message, MSG_NOSIGNAL) < 0) ended("the emulator has ended");
    close(pair[1]);
    return line.socket = pair[0];
}

// ---- A call -------------------------------------------------------------------------------------------------------------

template <class T>
struct Array {  // what C passes as a pointer and a count
    const T *values;
    uint64_t count;
};
struct Memory {  // bytes of the host
    const void *start;
    size_t count;
};
template <class T>
struct List {  // an array that the library allocates and the caller deletes
    T **values;
    uint64_t *count;
};

class Call {
public:
    template <class... A>
    Call(const char *name, const void *from, const A &...arguments) {
        put(name), put(from), (put(arguments), ...);
        send_all(), receive();
    }

    // The status of a call that writes through pointers; `null` is that of a null pointer among these.
    template <class... O>
    int status(int null, O... out) {
        if ((missing(out) || ...)) return null;
        if (result == 0) (take(out), ...);
        return int(result);
    }
    template <class T>
    T value() { return T(result); }
    const char *text() {
        static thread_local std::string kept;
        if (result == 0) return nullptr;
        kept = content;
        return kept.c_str();
    }
    const std::string &bytes() { return content; }

private:
    std::string message = std::string(8, '\0'), content;
    Memory tail = {nullptr, 0};
    int64_t result = 0;
    size_t taken = 0;

    void raw(const void *from, size_t size) { message.append(static_cast<const char *>(from), size); }
    template <class T>
    void put(const T &value) {
        if constexpr (std::is_floating_point_v<T>) {
            double wide = value;
            raw(&wide, 8);
        } else {
            int64_t number = 0;
            if constexpr (std::is_pointer_v<T>) number = int64_t(value);
            else number = int64_t(value);
            raw(&number, 8);
        }
    }
    void put(const char *text) {
        put(text ? int64_t(std::strlen(text)) : int64_t(-1));
        if (text) raw(text, std::strlen(text));
    }
    void put(char *text) { put(const_cast<const char *>(text)); }
    template <class T>
    void put(const Array<T> &array) {
        put(array.values ? int64_t(array.count * sizeof(T)) : int64_t(-1));
        if (array.values) raw(array.values, array.count * sizeof(T));
    }
    void put(const Memory &memory) { put(int64_t(memory.count)), tail = memory; }  // the last argument: it may be large

    template <class T>
    static bool missing(T *out) { return out == nullptr; }
    template <class T>
    static bool missing(const List<T> &list) { return !list.values || !list.count; }
    int64_t number() {
        int64_t value;
        std::memcpy(&value, content.data() + taken, 8), taken += 8;
        return value;
    }
    template <class T>
    void take(T *out) { *out = (T)number(); }
    template <class T>
    void take(const List<T> &list) {
        *list.count = number();
        *list.values = new T[*list.count];
        for (uint64_t k = 0; k < *list.count; ++k) (*list.values)[k] = number();
    }

    static void write_all(const void *from, size_t size) {
        for (const char *next = static_cast<const char *>(from); size;) {
            ssize_t done = ::send(line.socket, next, size, MSG_NOSIGNAL);
            if (done < 0 && errno == EFAULT) raise(SIGSEGV);  // memory of the host that is not there
            if (done < 0 && errno == EINTR) continue;
            if (done <= 0) ended("the emulator has ended");
            next += done, size -= done;
        }
    }
    static void read_all(void *to, size_t size) {
        for (char *next = static_cast<char *>(to); size;) {
            ssize_t done = ::recv(line.socket, next, size, 0);
            if (done < 0 && errno == EINTR) continue;
            if (done <= 0) ended("the emulator has ended");
            next += done, size -= done;
        }
    }
    void send_all() {
        connected();
        int64_t size = message.size() - 8;
        std::memcpy(&message[0], &size, 8);
        write_all(message.data(), message.size());
        if (tail.count) write_all(tail.start, tail.count);
    }
    void receive() {
        int64_t head[3];  // whether the emulator could do it, the result, how many bytes follow
        read_all(head, sizeof head);
        content.resize(head[2]), result = head[1];
        if (head[2]) read_all(&content[0], head[2]);
        if (!head[0]) {  // the emulator has said why
            signal(SIGABRT, SIG_DFL);
            abort();
        }
    }
};

}  // namespace aclnn_viz_client
