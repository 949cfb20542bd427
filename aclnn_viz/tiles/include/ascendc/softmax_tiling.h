// What the host's SoftMaxTilingFunc fills for the kernel: rows and columns of the tensor; the other fields are the vendor's own.
#pragma once

#include <cstdint>

struct SoftMaxTiling {
    uint32_t srcM = 0, srcK = 0, srcSize = 0, outMaxM = 0, outMaxK = 0, outMaxSize = 0, splitM = 0, splitK = 0, splitSize = 0, reduceM = 0,
             reduceK = 0, reduceSize = 0, rangeM = 0, tailM = 0, tailSplitSize = 0, tailReduceSize = 0;
};
