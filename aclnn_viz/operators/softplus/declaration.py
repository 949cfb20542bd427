"""Declare aclnnSoftplusBackward as documented, for checks, test cases and C calls: gradOutput and self of one shape and
floating dtype. Of the documented dtypes of self the integers and bool are left out.
"""

from aclnn_viz.operators.families.elementwise import activation
from aclnn_viz.operators.operator import Attribute, Tensor
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = activation(
    page,
    """aclnnStatus aclnnSoftplusBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclScalar *beta, const aclScalar *threshold,
        aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    more="float64",
    x=Tensor("*P", kinks=("threshold / beta",)),
    attributes={
        "beta": Attribute("const aclScalar *", 1.0, tries=(2.5,)),
        "threshold": Attribute("const aclScalar *", 20.0, tries=(0.5,)),
    },
    shapes=(
        {"shape": (4, 6)},
        {"shape": (257,)},
        {"shape": ()},
        {"shape": (3,), "self": 90.0, "threshold": 100.0},  # a case in which exp overflows
    ),
)
