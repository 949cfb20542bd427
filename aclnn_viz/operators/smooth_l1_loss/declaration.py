"""aclnnSmoothL1LossBackward: gradOut, self and target broadcast to the shape of gradInput."""

from aclnn_viz.operators.families.losses import CHOICE, REDUCTION, UPSTREAM
from aclnn_viz.operators.operator import Attribute, Operator, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="smooth_l1_loss", page=page,
    prototype="""aclnnStatus aclnnSmoothL1LossBackwardGetWorkspaceSize(
        const aclTensor *gradOut, const aclTensor *self, const aclTensor *target, int64_t reduction, float beta,
        aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_smooth_l1_loss_backward.h", library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", ATLAS_INFERENCE_TRAINING: "float32 float16"},
    tensors={
        "self": Tensor("~*P", ranks=(1, 8)), "target": Tensor("~*P", CHOICE), "loss": Tensor("*P if reduction = 0 else ()"),
        "gradOut": UPSTREAM, "gradInput": Tensor("*P"),
    },
    attributes={"reduction": REDUCTION, "beta": Attribute("float", 1.0, low=0.0, tries=(0.5, 0.0))},
    counts={"count": "self"},
    takes=("self", "target", "reduction", "beta"), gives=("loss",),
    upstream={"gradOut": "loss"}, gradient_of={"gradInput": "self"}, like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}),
)
