"""aclnnMseLossBackward: gradOutput, self and target broadcast to the shape of out."""

from aclnn_viz.operators.families.losses import REDUCTION, SHAPE
from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.products import INFERENCE, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="mse_loss", page=page,
    prototype="""aclnnStatus aclnnMseLossBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, int64_t reduction, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_mse_loss_backward.h", library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", (INFERENCE,): "float32 float16"},
    tensors={
        "self": Tensor("~*P"), "target": Tensor("~*P"), "loss": Tensor("*P if reduction = 0 else ()"),
        "gradOutput": Tensor(SHAPE), "out": Tensor("*P"),
    },
    attributes={"reduction": REDUCTION},
    counts={"count": "self"},
    takes=("self", "target", "reduction"), gives=("loss",),
    upstream={"gradOutput": "loss"}, gradient_of={"out": "self"}, like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}, {"shape": ()}),
)
