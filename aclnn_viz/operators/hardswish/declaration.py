"""Declare aclnnHardswishBackward as documented, for checks, test cases and C calls: gradOutput and self of one shape and dtype,
rank 0 to 8.
"""

from aclnn_viz.operators.operator import Tensor, declared
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = declared(
    page,
    """aclnnStatus aclnnHardswishBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    chapter=1,
    tensors={"self": Tensor("*P", kinks=(-3, 3)), "gradOutput": Tensor("*P"), "out": Tensor("*P")},
    takes=("self",),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"out": "self"},
    like="self",
    shapes=({"shape": (6, 7)}, {"shape": (257,)}, {"shape": ()}),
)
