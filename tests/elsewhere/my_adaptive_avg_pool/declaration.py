"""aclnnMyAdaptiveAvgPool2dBackward: self (N, C, H, W); the lengths of gradOutput are an attribute of forward alone."""

from aclnn_viz.operators import Attribute, Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="my_adaptive_avg_pool",
    page=page,
    prototype="""aclnnStatus aclnnMyAdaptiveAvgPool2dBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, aclTensor *out, uint64_t *workspaceSize,
        aclOpExecutor **executor);""",
    header="aclnn_my_adaptive_avg_pool2d_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16"},
    tensors={
        "self": Tensor("(N C) H W"),
        "out": Tensor("(N C) H W"),
        "y": Tensor("(N C) Ho Wo"),
        "gradOutput": Tensor("(N C) Ho Wo"),
    },
    attributes={
        "outputSize": Attribute("const aclIntArray *", (2, 3), length=2, low=1, tries=((3, 2),)),
    },
    sizes={"Ho": "outputSize[0]", "Wo": "outputSize[1]"},
    takes=("self", "outputSize"),
    gives=("y",),
    upstream={"gradOutput": "y"},
    gradient_of={"out": "self"},
    like="self",
    shapes=({"shape": (2, 2, 5, 4)}, {"shape": (1, 3, 4, 7)}),
)
