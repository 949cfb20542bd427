"""Declare aclnnLogSigmoidBackward as documented, for checks, test cases and C calls: gradOutput, self and buffer of one shape
and dtype, rank 1 to 8.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnLogSigmoidBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *buffer, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    header="aclnn_logsigmoid_backward.h",
    x=Tensor("*P", ranks=(1, 8)),
    saved={"buffer": "buffer"},
)
