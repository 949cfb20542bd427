// The start of a program that holds its own kernels: where it is started once more for the cores, it enters the kernel.
#include "start.h"

extern "C" int __real_main(int count, char **words, char **environment);

extern "C" int __wrap_main(int count, char **words, char **environment) {
    const char *end = count ? std::strrchr(words[0], '.') : nullptr;
    if (!end || std::strcmp(end, ".kernel")) return __real_main(count, words, environment);
    char *rest;  // words[2] holds the addresses of the kernel and of what calls it; the program is the same, so they are
    auto kernel = reinterpret_cast<const void *>(std::strtoull(words[2], &rest, 16));
    auto enter = reinterpret_cast<void (*)(const void *, char *)>(std::strtoull(rest + 1, nullptr, 16));
    aclnn_viz::wanted = reinterpret_cast<char *>(0x12C000000000);  // so that pointers into device memory are what the host has
    return aclnn_viz::run([=](char *bytes) { enter(kernel, bytes); }, words + 3, count - 7);
}
