"""Declare aclnnThresholdBackward as documented, for checks, test cases and C calls: gradOutput and self of one floating dtype,
broadcast to the shape of out. Of the documented dtypes the integers are left out.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Attribute, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_ARCH35

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnThresholdBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclScalar *threshold, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    shape="~*P",
    gradient="out",
    x=Tensor("~*P", kinks=("threshold",)),
    attributes={
        "threshold": Attribute(
            "const aclScalar *", 0.0, tries=(-0.75, 1.5), only={WITH_ARCH35: (0.0,)}
        )
    },
)
