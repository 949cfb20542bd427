"""aclnnHardsigmoidBackward: gradOutput, self and out of one shape and format."""

from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="hardsigmoid",
    page=page,
    prototype="""aclnnStatus aclnnHardsigmoidBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_hardsigmoid_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", ATLAS_INFERENCE_TRAINING: "float32 float16"},
    tensors={
        "self": Tensor("*P", kinks=(-3, 3)), "gradOutput": Tensor("*P"), "result": Tensor("*P"), "out": Tensor("*P"),
    },
    takes=("self",),
    gives=("result",),
    upstream={"gradOutput": "result"},
    gradient_of={"out": "self"},
    like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}, {"shape": ()}),
)
