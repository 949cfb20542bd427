"""aclnnL1LossBackward: gradOutput, self and target broadcast to the shape of gradInput."""

from aclnn_viz.operators.families.losses import CHOICE, REDUCTION, UPSTREAM
from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="l1_loss", page=page,
    prototype="""aclnnStatus aclnnL1LossBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, int64_t reduction, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_l1_loss_backward.h", library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", ATLAS_INFERENCE_TRAINING: "float32 float16"},
    tensors={
        "self": Tensor("~*P", ranks=(1, 8)), "target": Tensor("~*P", CHOICE, kinks=("self",)), "loss": Tensor("*P if reduction = 0 else ()"),
        "gradOutput": UPSTREAM, "gradInput": Tensor("*P"),
    },
    attributes={"reduction": REDUCTION},
    counts={"count": "self"},
    takes=("self", "target", "reduction"), gives=("loss",),
    upstream={"gradOutput": "loss"}, gradient_of={"gradInput": "self"}, like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}),
)
