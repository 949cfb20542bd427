"""Declare aclnnPreluBackward as documented, for checks, test cases and C calls: gradOutput and self (N, C, ...), and weight
(C,), or (1,) for all channels.
"""

from aclnn_viz.operators.operator import Tensor, declared
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = declared(
    page,
    """aclnnStatus aclnnPreluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *weight, aclTensor *gradInput, aclTensor *gradWeight,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    tensors={
        "self": Tensor("N C *P", kinks=(0,)),
        "weight": Tensor("~C"),
        "y": Tensor("N C *P"),
        "gradOutput": Tensor("N C *P"),
        "gradInput": Tensor("N C *P"),
        "gradWeight": Tensor("~C"),
    },
    takes=("self", "weight"),
    gives=("y",),
    upstream={"gradOutput": "y"},
    gradient_of={"gradInput": "self", "gradWeight": "weight"},
    like="self",
    shapes=({"shape": (2, 3, 4)}, {"shape": (5, 7)}, {"shape": (2, 1, 3, 2)}),
)
