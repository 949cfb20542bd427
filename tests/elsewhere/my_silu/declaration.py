"""aclnnSiluBackward: gradOutput and self of one shape and format."""

from aclnn_viz.operators import Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="my_silu",
    page=page,
    prototype="""aclnnStatus aclnnSiluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, aclTensor *gradInput, uint64_t *workspaceSize,
        aclOpExecutor **executor);""",
    header="aclnn_silu_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16"},
    tensors={
        "gradOutput": Tensor("*P"),
        "self": Tensor("*P"),
        "gradInput": Tensor("*P"),
        "out": Tensor("*P"),
    },
    takes=("self",),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"gradInput": "self"},
    like="self",
    shapes=({"shape": (4, 6)}, {"shape": (17,)}),
)
