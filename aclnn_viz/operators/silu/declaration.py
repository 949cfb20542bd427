"""aclnnSiluBackward: gradOutput and self, the forward input, of one shape and format, rank 1 to 8."""

from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.products import TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="silu",
    page=page,
    prototype="""aclnnStatus aclnnSiluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_silu_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", (TRAINING,): "float32 float16"},
    tensors={"self": Tensor("*P", ranks=(1, 8)), "gradOutput": Tensor("*P"), "gradInput": Tensor("*P"), "out": Tensor("*P")},
    takes=("self",),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"gradInput": "self"},
    like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}),
)
