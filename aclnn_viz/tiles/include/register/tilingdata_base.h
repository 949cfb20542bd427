// A header of tiling structs is read by the host, which fills them, and by the kernel, which reads them.
#ifdef ACLNN_VIZ_HOST
#include "../host.h"
#else
#include "../kernel_tiling/kernel_tiling.h"
#endif
