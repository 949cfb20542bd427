#ifndef STANDIN_ACLNN_CROSS_ENTROPY_LOSS_GRAD_H
#define STANDIN_ACLNN_CROSS_ENTROPY_LOSS_GRAD_H

#include "aclnn/aclnn_base.h"
#include "aclnn/acl_meta.h"

#ifdef __cplusplus
extern "C" {
#endif

aclnnStatus aclnnCrossEntropyLossGradGetWorkspaceSize(const aclTensor *gradLoss, const aclTensor *logProb,
        const aclTensor *target, const aclTensor *weightOptional, const aclTensor *gradZlossOptional,
        const aclTensor *lseForZlossOptional, char *reductionOptional, int64_t ignoreIndex,
        double labelSmoothing, double lseSquareScaleForZloss, const aclTensor *out, uint64_t *workspaceSize,
        aclOpExecutor **executor);

aclnnStatus aclnnCrossEntropyLossGrad(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor,
        aclrtStream stream);

#ifdef __cplusplus
}
#endif
#endif
