// A host that tiles calls of the library.
#ifdef ACLNN_VIZ_HOST
#include "../host.h"
#else
#include "../ascendc/host_library.h"
#endif
