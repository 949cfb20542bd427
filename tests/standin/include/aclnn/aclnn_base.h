// The status type and codes of the aclnn interface.
#ifndef STANDIN_ACLNN_BASE_H
#define STANDIN_ACLNN_BASE_H

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t aclnnStatus;

#define ACLNN_SUCCESS 0
#define ACLNN_ERR_PARAM_NULLPTR 161001
#define ACLNN_ERR_PARAM_INVALID 161002
#define ACLNN_ERR_RUNTIME_ERROR 361001
#define ACLNN_ERR_INNER 561000
#define ACLNN_ERR_INNER_TILING_ERROR 561002
#define ACLNN_ERR_INNER_FIND_KERNEL_ERROR 561003
#define ACLNN_ERR_INNER_NULLPTR 561103

aclnnStatus aclnnInit(const char *configPath);
aclnnStatus aclnnFinalize();

#ifdef __cplusplus
}
#endif
#endif
