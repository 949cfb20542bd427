"""Declare aclnnGeluBackward as documented, for checks, test cases and C calls: gradOutput and self of one dtype, broadcast to
the shape of gradInput.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnGeluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    shape="~*P",
)
