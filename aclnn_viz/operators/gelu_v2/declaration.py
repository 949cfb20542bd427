"""Declare aclnnGeluBackwardV2 as documented, for checks, test cases and C calls: gradOutput and self of one dtype, broadcast to
the shape of gradInput.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Attribute
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnGeluBackwardV2GetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, char *approximate, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    shape="~*P",
    attributes={"approximate": Attribute("char *", "none", values=("none", "tanh"))},
)
