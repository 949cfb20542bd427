"""aclnnBinaryCrossEntropyWithLogitsBackward: gradOutput and both weights broadcast to self; target has its shape."""

from aclnn_viz.operators.families.losses import CHOICE, REDUCTION, UPSTREAM
from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="binary_cross_entropy_with_logits", page=page,
    prototype="""aclnnStatus aclnnBinaryCrossEntropyWithLogitsBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *target, const aclTensor *weightOptional,
        const aclTensor *posWeightOptional, int64_t reduction, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_binary_cross_entropy_with_logits_backward.h", library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", ATLAS_INFERENCE_TRAINING: "float32 float16"},
    tensors={
        "self": Tensor("*P", ranks=(1, 8)), "target": Tensor("*P", CHOICE, low=0.0, high=1.0),
        "weightOptional": Tensor("~*P", CHOICE, optional=True), "posWeightOptional": Tensor("~*P", CHOICE, optional=True),
        "loss": Tensor("*P if reduction = 0 else ()"), "gradOutput": UPSTREAM, "out": Tensor("*P"),
    },
    attributes={"reduction": REDUCTION},
    counts={"count": "self"},
    takes=("self", "target", "weightOptional", "posWeightOptional", "reduction"), gives=("loss",),
    upstream={"gradOutput": "loss"}, gradient_of={"out": "self"}, like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}),
)
