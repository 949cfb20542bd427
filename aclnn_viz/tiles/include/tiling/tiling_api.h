#ifdef ACLNN_VIZ_HOST
#include "../host.h"
#else
#include "../kernel_tiling/kernel_tiling.h"
#endif
