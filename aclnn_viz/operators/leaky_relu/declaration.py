"""Declare aclnnLeakyReluBackward as documented, for checks, test cases and C calls: gradOutput and self, the forward input or
output, of one dtype, broadcast to the shape of out.
"""

from aclnn_viz.operators.families.elementwise import FLOAT32_MAX, activation
from aclnn_viz.operators.operator import Attribute, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnLeakyReluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclScalar *negativeSlope, bool selfIsResult,
        aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    more="float64",
    shape="~*P",
    x=Tensor("~*P", kinks=(0,)),
    of="x",
    saved={"self": "given"},
    gradient="out",
    attributes={
        "negativeSlope": Attribute(
            "const aclScalar *", 0.01, low=f"0 if selfIsResult else -{FLOAT32_MAX}", tries=(0.3,)
        ),
        "selfIsResult": Attribute("bool", False, tries=(True,)),
    },
)
