"""The declaration of aclnnReplicationPad2dBackward: self (N, C, H, W) or (C, H, W), gradOutput (..., H + top + bottom, W + left + right)."""

from aclnn_viz.operators.families.resampling import padding_2d

from . import page

OPERATOR = padding_2d(
    page,
    """aclnnStatus aclnnReplicationPad2dBackwardGetWorkspaceSize(
    const aclTensor *gradOutput, const aclTensor *self, const aclIntArray *padding, aclTensor *gradInput,
    uint64_t *workspaceSize, aclOpExecutor **executor);""",
)
