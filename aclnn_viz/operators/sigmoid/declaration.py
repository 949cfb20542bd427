"""The declaration of aclnnSigmoidBackward: gradOutput and output of one format, not a complex one, broadcast to the shape of gradInput."""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnSigmoidBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *output, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    more="float64",
    shape="~*P",
    x=Tensor("~*P", ranks=(1, 8)),
    saved={"output": "y"},
)
