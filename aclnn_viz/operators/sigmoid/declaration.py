"""Declare aclnnSigmoidBackward as documented, for checks, test cases and C calls: gradOutput and output of one real dtype,
broadcast to the shape of gradInput. Of the documented dtypes the complex ones are left out.
"""

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
