"""aclnnMyAvgPool2dBackward: self (N, C, H, W), gradOutput (N, C, Ho, Wo) by kernel, stride and padding."""

from aclnn_viz.operators import Attribute, Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="my_avg_pool",
    page=page,
    prototype="""aclnnStatus aclnnMyAvgPool2dBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclIntArray *kernelSize, const aclIntArray *stride,
        const aclIntArray *padding, bool countIncludePad, aclTensor *gradInput, uint64_t *workspaceSize,
        aclOpExecutor **executor);""",
    header="aclnn_my_avgpool2d_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16"},
    tensors={
        "self": Tensor("(N C) H W"),
        "gradInput": Tensor("(N C) H W"),
        "out": Tensor("(N C) Ho Wo"),
        "gradOutput": Tensor("(N C) Ho Wo"),
    },
    attributes={
        "kernelSize": Attribute("const aclIntArray *", (2, 3), length=2, low=1, tries=((3, 3),)),
        "stride": Attribute("const aclIntArray *", (2, 1), length=2, low=1, tries=((1, 2),)),
        "padding": Attribute(
            "const aclIntArray *",
            (1, 0),
            length=2,
            low=0,
            high="min(kernelSize) // 2",
            tries=((1, 1),),
        ),
        "countIncludePad": Attribute("bool", True, tries=(False,)),
    },
    sizes={
        f"{letter}o": f"({letter} + 2*padding[{k}] - kernelSize[{k}]) // stride[{k}] + 1"
        for k, letter in enumerate("HW")
    },
    takes=("self", "kernelSize", "stride", "padding", "countIncludePad"),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"gradInput": "self"},
    like="self",
    shapes=({"shape": (2, 2, 5, 4)}, {"shape": (1, 3, 4, 7)}),
)
