"""Declare aclnnReplicationPad2dBackward as documented, for checks, test cases and C calls: self (N, C, H, W) or (C, H, W),
gradOutput longer by the padding at each edge. That is (..., H + top + bottom, W + left + right).
"""

from aclnn_viz.operators.families.resampling import padding_2d

from . import page

OPERATOR = padding_2d(
    page,
    """aclnnStatus aclnnReplicationPad2dBackwardGetWorkspaceSize(
    const aclTensor *gradOutput, const aclTensor *self, const aclIntArray *padding, aclTensor *gradInput,
    uint64_t *workspaceSize, aclOpExecutor **executor);""",
)
