#include "../kernel_tiling/kernel_tiling.h"
