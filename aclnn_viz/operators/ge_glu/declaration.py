"""Declare aclnnGeGluBackward as documented, for checks, test cases and C calls: self with an even axis dim, gradOutput and gelu
half as long along it.
"""

from aclnn_viz.operators.families.gated import gated
from aclnn_viz.operators.operator import Attribute, Tensor
from aclnn_viz.operators.products import INFERENCE

from . import page

OPERATOR = gated(
    page,
    """aclnnStatus aclnnGeGluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *gelu, int64_t dim, int64_t approximate,
        aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (INFERENCE,),
    header="aclnn_geglu_backward.h",
    x="self",
    gradient="gradOutput",
    out="gradInput",
    tensors={"gelu": Tensor("*A H *B")},
    attributes={
        "approximate": Attribute(
            "int64_t", 1, values={0: "none", 1: "tanh"}, only={(INFERENCE,): (1,)}
        )
    },
    gives=("y", "gelu"),
    saved={"gelu": "gelu"},
)
