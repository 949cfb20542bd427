"""Declare aclnnHardshrinkBackward as documented, for checks, test cases and C calls: gradOutput and self of one dtype,
broadcast to the shape of gradInput.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Attribute, Tensor
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnHardshrinkBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclScalar *lambd, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    shape="~*P",
    x=Tensor("~*P", kinks=("max(lambd, 0)", "-max(lambd, 0)")),
    attributes={"lambd": Attribute("const aclScalar *", 0.5, tries=(-0.25, 0.0))},
)
