"""aclnnSoftMarginLossBackward: gradOutput, self and target broadcast to the shape of out."""

from aclnn_viz.operators.families.losses import CHOICE, REDUCTION, UPSTREAM
from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.products import TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="soft_margin_loss", page=page,
    prototype="""aclnnStatus aclnnSoftMarginLossBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, int64_t reduction, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_soft_margin_loss_backward.h", library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", (TRAINING,): "float32 float16"},
    tensors={
        "self": Tensor("~*P", ranks=(1, 8)), "target": Tensor("~*P", CHOICE), "loss": Tensor("*P if reduction = 0 else ()"),
        "gradOutput": UPSTREAM, "out": Tensor("*P"),
    },
    attributes={"reduction": REDUCTION},
    counts={"count": "self"},
    takes=("self", "target", "reduction"), gives=("loss",),
    upstream={"gradOutput": "loss"}, gradient_of={"out": "self"}, like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}),
)
