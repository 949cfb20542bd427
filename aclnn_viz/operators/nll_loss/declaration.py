"""Declare aclnnNLLLossBackward as documented, for checks, test cases and C calls: self (N, C) or (C), target (N) or one class,
gradOutput of target's shape or one number.
"""

from aclnn_viz.operators.families.classes import targets_are_classes
from aclnn_viz.operators.families.losses import REDUCTION
from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = declared(
    page,
    """aclnnStatus aclnnNLLLossBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, const aclTensor *weight,
        int64_t reduction, int64_t ignoreIndex, const aclTensor *totalWeight, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    tensors={
        "self": Tensor("*N C", ranks=(1, 2)),
        "target": Tensor("*N", "int64 or int32 or uint8"),
        "weight": Tensor("C"),
        "loss": Tensor("*N if reduction = 0 else ()"),
        "weightSum": Tensor("()"),
        "totalWeight": Tensor("()"),
        "gradOutput": Tensor("*N if reduction = 0 else ()"),
        "out": Tensor("*N C"),
    },
    attributes={"reduction": REDUCTION, "ignoreIndex": Attribute("int64_t", -100, tries=(0,))},
    takes=("self", "target", "weight", "reduction", "ignoreIndex"),
    gives=("loss", "weightSum"),
    upstream={"gradOutput": "loss"},
    saved={"totalWeight": "weightSum"},
    gradient_of={"out": "self"},
    like="self",
    rules=(rule := targets_are_classes("self"),),
    forward_rules=(rule,),
    shapes=({"shape": (9, 4)}, {"shape": (17, 16)}, {"shape": (5,)}),
)
