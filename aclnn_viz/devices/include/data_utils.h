// ReadFile and WriteFile, which the vendor's examples bring along under this name; paths are of the current folder.
#pragma once

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>

#define INFO_LOG(text, ...) std::fprintf(stdout, "[INFO]  " text "\n", ##__VA_ARGS__)
#define WARN_LOG(text, ...) std::fprintf(stdout, "[WARN]  " text "\n", ##__VA_ARGS__)
#define ERROR_LOG(text, ...) std::fprintf(stdout, "[ERROR]  " text "\n", ##__VA_ARGS__)
#define CHECK_ACL(call)                                                                                      \
    do {                                                                                                     \
        int status_ = (call);                                                                                \
        if (status_ != 0) std::fprintf(stderr, "%s:%d aclError:%d\n", __FILE__, __LINE__, status_);          \
    } while (0)

// Reads at most `room` bytes; `size` is how many there are.
template <class Size>
bool ReadFile(const std::string &path, Size &&size, void *buffer, size_t room) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) return std::fprintf(stderr, "ReadFile: cannot open %s\n", path.c_str()), false;
    size_t there = file.tellg();
    if (there == 0 || there > room) {
        std::fprintf(stderr, "ReadFile: %s has %zu bytes, the buffer %zu\n", path.c_str(), there, room);
        return false;
    }
    file.seekg(0);
    file.read(static_cast<char *>(buffer), there);
    if constexpr (!std::is_const_v<std::remove_reference_t<Size>>) size = there;
    return bool(file);
}

inline bool WriteFile(const std::string &path, const void *buffer, size_t size) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (buffer && file.write(static_cast<const char *>(buffer), size)) return true;
    return std::fprintf(stderr, "WriteFile: cannot write %s\n", path.c_str()), false;
}
