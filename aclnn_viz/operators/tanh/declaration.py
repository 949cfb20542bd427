"""Declare aclnnTanhBackward as documented, for checks, test cases and C calls: gradOutput and output of one dtype, broadcast to
the shape of gradInput.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnTanhBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *output, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    library="ops-math",
    more="float64",
    shape="~*P",
    saved={"output": "y"},
)
