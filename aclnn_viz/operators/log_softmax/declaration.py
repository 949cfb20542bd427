"""Declare aclnnLogSoftmaxBackward as documented, for checks, test cases and C calls: gradOutput, output and out of one shape,
dim one of the axes.
"""

from aclnn_viz.operators.families.softmaxes import along_dim

from . import page

OPERATOR = along_dim(
    page,
    """aclnnStatus aclnnLogSoftmaxBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *output, int64_t dim, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_logsoftmax_backward.h",
)
