"""Declare aclnnHardtanhBackward as documented, for checks, test cases and C calls: gradOutput, self and out of one shape and
dtype, none of them empty.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Attribute, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, INFERENCE_A2

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnHardtanhBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclScalar *min, const aclScalar *max,
        aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (INFERENCE_A2, *ATLAS_INFERENCE_TRAINING),
    gradient="out",
    x=Tensor("*P", kinks=("min", "max"), empty=False),
    attributes={
        "min": Attribute("const aclScalar *", -1.0, tries=(0.0,)),
        "max": Attribute("const aclScalar *", 1.0, tries=(6.0,)),
    },
)
