// The names of Ascend C's basic interface for vector cores, for kernels that run on the tile machine of aclnn-viz.
//
// A file that includes this header is compiled for the laptop. Each call is sent to the machine, with the file and the line
// from which it was made, and the machine does it: it holds the Unified Buffer, the queues and the pipes, and finds the
// hazards. Nothing is computed here, and nothing here is the vendor's code: names, arguments and defaults are those of the
// public documents (asc-devkit, docs/zh/api/SIMD-API).
//
// Global memory is real memory, so pointer arithmetic on kernel arguments works. The Unified Buffer is the machine's: a pointer
// into it (LocalTensor::GetPhyAddr) is an address to compute with, and a read or write through it ends the kernel.
#pragma once

#include "ascendc/base.h"      // marks, types, and how a call reaches the machine
#include "ascendc/tensors.h"   // LocalTensor, GlobalTensor
#include "ascendc/queues.h"    // TPipe, TQue, TBuf, LocalMemAllocator
#include "ascendc/copies.h"    // DataCopy, DataCopyPad
#include "ascendc/vector.h"    // masks, arithmetic, Cast, Compare, Select, Gather
#include "ascendc/reduce.h"    // ReduceSum, WholeReduceSum, ...
#include "ascendc/order.h"     // flags, barriers, cores, atomics, caches
#include "ascendc/library.h"   // Sigmoid, SoftMax, Broadcast, ...
#include "ascendc/advanced.h"  // SoftMax, LayerNorm, Sort, TopK, Pad, ...
#include "ascendc/look.h"      // printf, DumpTensor, assert
#include "ascendc/tiling.h"    // tiling structs, keys, workspace
#include "ascendc/absent.h"    // what is not there, with a sentence

#undef AT
