"""aclnnSwishBackward: gradOutput and self of one shape and format; no betaOptional means 1."""

from aclnn_viz.operators.operator import Attribute, Operator, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="swish",
    page=page,
    prototype="""aclnnStatus aclnnSwishBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclScalar *betaOptional, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_swish_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", ATLAS_INFERENCE_TRAINING: "float32 float16"},
    tensors={"self": Tensor("*P"), "gradOutput": Tensor("*P"), "gradInput": Tensor("*P"), "out": Tensor("*P")},
    attributes={"betaOptional": Attribute("const aclScalar *", 1.0, tries=(-0.5, 1.702))},
    takes=("self", "betaOptional"),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"gradInput": "self"},
    like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}, {"shape": ()}),
)
