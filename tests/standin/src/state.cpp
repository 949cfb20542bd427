// The stand-in's own bookkeeping: calls, faults, misuse, handles, product, and the control functions.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "state.h"
#include "standin.h"

namespace standin {

static std::string format_text(const char *format, va_list arguments) {
    char buffer[512];
    vsnprintf(buffer, sizeof buffer, format, arguments);
    return buffer;
}

static std::string environment(const char *name, const char *fallback) {
    const char *value = getenv(name);
    return value ? value : fallback;
}

// ---- misuse and messages

static std::vector<std::string> misuses;
static thread_local std::string message, shown;

static void report(const std::string &line) {
    std::string path = environment("STANDIN_REPORT", "");
    if (path.empty()) return;
    if (FILE *file = fopen(path.c_str(), "a")) {
        fprintf(file, "%s\n", line.c_str());
        fclose(file);
    }
}

void misuse(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    misuses.push_back(format_text(format, arguments));
    va_end(arguments);
    report("misuse: " + misuses.back());
}

int fail(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    message = format_text(format, arguments);
    va_end(arguments);
    return code;
}

const char *take_message() {
    if (message.empty()) return nullptr;
    shown = message;
    if (environment("STANDIN_ERRMSG", "clear") == "clear") message.clear();  // some releases keep the old text
    return shown.c_str();
}

// ---- calls and faults

struct Fault {
    std::string name;
    long k;
    int code;
    long seen;
};
static std::vector<Fault> faults;
static std::set<std::string> names;  // owns what `log` points to
static std::vector<const char *> log;
static std::recursive_mutex lock;

static void set_faults(const std::string &specification) {  // name:k:code,name:k:code
    faults.clear();
    for (size_t start = 0, end; start < specification.size(); start = end + 1) {
        end = std::min(specification.find(',', start), specification.size());
        Fault fault{"", 0, 0, 0};
        char name[128];
        std::string item = specification.substr(start, end - start);
        if (sscanf(item.c_str(), "%127[^:]:%ld:%d", name, &fault.k, &fault.code) == 3)
            faults.push_back({name, fault.k, fault.code, 0});
        else
            misuse("a fault is written name:k:code, not %s", item.c_str());
    }
}

int log_call(const char *name) {
    static bool first = (set_faults(environment("STANDIN_FAIL", "")), true);
    (void)first;
    log.push_back(names.insert(name).first->c_str());
    int code = 0;
    for (Fault &fault : faults)
        if (fault.name == name && (++fault.seen == fault.k || fault.k == 0)) code = fault.code;
    return code ? fail(code, "%s: failed by request, status %d", name, code) : 0;
}

pid_t owner = 0;

Call::Call(const char *name) : lock(standin::lock) {
#ifdef STANDIN_STUB
    refused = true;
    status = ACL_ERROR_COMPILING_STUB_MODE;
    return;
#endif
    if (owner && getpid() != owner) {
        misuse("%s: called in a forked child of the process that initialised", name);
        refused = true;
        status = ACL_ERROR_RT_CONTEXT_NULL;
        return;
    }
    status = log_call(name);
}

// ---- product and version

Product product() {
    std::string soc = soc_name();
    auto starts = [&](const char *text) { return soc.rfind(text, 0) == 0; };
    for (const char *old : {"A", "B", "ProA", "ProB", "PremiumA"})
        if (soc == std::string("Ascend910") + old) return P910;
    if (starts("Ascend910B")) return A2;  // with a digit after the B
    if (starts("Ascend910_95")) return P950;
    if (starts("Ascend910_93")) return A3;
    if (starts("Ascend310P")) return P310P;
    if (starts("Ascend310B")) return P310B;
    return starts("Ascend950") ? P950 : UNKNOWN;
}

std::string soc_name() { return environment("STANDIN_SOC", "Ascend910B2"); }
std::string cann_name() { return environment("STANDIN_CANN", STANDIN_DEFAULT_CANN); }
int device_count() { return atoi(environment("STANDIN_DEVICES", "1").c_str()); }
size_t memory_size() { return strtoull(environment("STANDIN_MEMORY", "68719476736").c_str(), nullptr, 10); }

int cann() {
    std::string name = cann_name();
    int major = 0, minor = 0, patch = 0;
    sscanf(name.c_str(), "%d.%d.%d", &major, &minor, &patch);
    size_t beta = name.find("beta.");
    return version(major, minor, patch, beta == std::string::npos ? 99 : atoi(name.c_str() + beta + 5));
}

// ---- address ranges and handles

// Nothing may be read or written in these ranges, so a device address or a handle used as a host pointer faults.
struct Range {
    uintptr_t base = 0, size = 0, next = 0;
    explicit Range(size_t wanted) {
        void *start = mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start == MAP_FAILED) abort();
        base = next = reinterpret_cast<uintptr_t>(start);
        size = wanted;
    }
    bool holds(uintptr_t address) const { return address >= base && address < base + size; }
    uintptr_t take(size_t bytes) {
        uintptr_t address = next;
        next += bytes;
        if (!holds(next)) abort();
        return address;
    }
};
static Range device_range(size_t(1) << 40), handle_range(size_t(1) << 32);

bool is_device_address(uintptr_t address) { return device_range.holds(address); }
uintptr_t take_device_range(size_t size) { return device_range.take((size / 512 + 2) * 512); }

static const char *const nouns[] = {"tensor", "bool array", "int array", "float array", "scalar", "executor", "stream", "context"};
struct Entry {
    Kind kind;
    std::shared_ptr<void> object;
    bool counted, alive;
};
static std::vector<Entry> handles;
constexpr size_t STRIDE = 64;

void *new_handle(Kind kind, std::shared_ptr<void> object, bool counted) {
    handles.push_back({kind, std::move(object), counted, true});
    return reinterpret_cast<void *>(handle_range.take(STRIDE));
}

static Entry *entry(const void *handle) {
    uintptr_t address = reinterpret_cast<uintptr_t>(handle), distance = address - handle_range.base;
    bool known = handle_range.holds(address) && distance % STRIDE == 0 && distance / STRIDE < handles.size();
    return known ? &handles[distance / STRIDE] : nullptr;
}

std::shared_ptr<void> find_handle(const void *handle, Kind kind, const char *where) {
    Entry *found = entry(handle);
    if (!found) {
        misuse("%s: %p is not a handle", where, handle);
        return nullptr;
    }
    if (found->kind != kind) {
        misuse("%s: got a handle of a %s in place of a %s", where, nouns[found->kind], nouns[kind]);
        return nullptr;
    }
    if (!found->alive) misuse("%s: this %s was destroyed before", where, nouns[kind]);
    return found->object;
}

void end_handle(const void *handle) {
    Entry *found = entry(handle);
    found->alive = false;
    // a descriptor is plain host memory: the library still finds in it what was there
    if (found->kind > FLOATS) found->object = nullptr;
}

void end_descriptors(const char *where) {
    for (Entry &entry : handles)
        if (entry.alive && entry.kind <= EXECUTOR) {
            misuse("%s: a %s was not destroyed", where, nouns[entry.kind]);
            entry.alive = false;
        }
}

bool is_mapped(const void *address, size_t size) {
    uintptr_t page = 4096, first = reinterpret_cast<uintptr_t>(address), last = first + (size ? size - 1 : 0);
    unsigned char residency;
    for (uintptr_t at : {first / page * page, last / page * page})
        if (mincore(reinterpret_cast<void *>(at), 1, &residency)) return false;
    return true;
}

static std::map<std::string, size_t> live() {
    std::map<std::string, size_t> counts = memory_counts();
    for (const Entry &entry : handles)
        if (entry.alive && entry.counted) counts[nouns[entry.kind]]++;
    return counts;
}

void watch_exit() {
    atexit([] {
        if (owner == getpid() && standin_live_objects()) report(std::string("left: ") + standin_live_text());
    });
}

}  // namespace standin

using namespace standin;
using Guard = std::lock_guard<std::recursive_mutex>;

extern "C" {

const char *standin_version(void) {
    static thread_local std::string text;
    text = "stand-in for CANN " + cann_name() + ", no device";
    return text.c_str();
}

size_t standin_misuse_count(void) {
    Guard guard(lock);
    return misuses.size();
}

const char *standin_misuse_text(size_t k) {
    Guard guard(lock);
    return k < misuses.size() ? misuses[k].c_str() : nullptr;
}

size_t standin_calls(void) {
    Guard guard(lock);
    return log.size();
}

const char *standin_call(size_t k) {
    Guard guard(lock);
    return k < log.size() ? log[k] : nullptr;
}

void standin_fail(const char *specification) {
    Guard guard(lock);
    set_faults(specification ? specification : "");
}

size_t standin_live_objects(void) {
    Guard guard(lock);
    size_t total = 0;
    for (const auto &[noun, count] : live()) total += count;
    return total;
}

const char *standin_live_text(void) {
    Guard guard(lock);
    static std::string &text = *new std::string;  // the exit handler runs after the destructors of local statics
    text.clear();
    for (const auto &[noun, count] : live())
        if (count) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + noun;
    return text.c_str();
}

void standin_reset(void) {
    Guard guard(lock);
    misuses.clear();
    log.clear();
    faults.clear();
}

}  // extern "C"
