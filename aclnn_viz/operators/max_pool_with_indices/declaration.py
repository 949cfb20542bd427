"""Declare aclnnMaxPool2dWithIndicesBackward as documented, for checks, test cases and C calls: self (N, C, H, W) or (C, H, W),
gradOutput and indices with one element a window. These are (..., Ho, Wo).
"""

from aclnn_viz.operators.families.pooling import windows
from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import ATLAS_A2_A3, WITH_ARCH35

from . import page

PAIR = "const aclIntArray *"
EXTENT = "(dilation[{axis}]*(kernelSize[{axis}] - 1) + 1)"

OPERATOR = declared(
    page,
    """aclnnStatus aclnnMaxPool2dWithIndicesBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclTensor *indices, const aclIntArray *kernelSize,
        const aclIntArray *stride, const aclIntArray *padding, const aclIntArray *dilation, bool ceilMode,
        aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    formats={ATLAS_A2_A3: "float32", WITH_ARCH35: "float32 float16 bfloat16"},
    tensors={
        "self": Tensor("(*N C) H W", ranks=(3, 4), layout="NCHW"),
        "out": Tensor("(*N C) (Ho Wo)"),
        "indices": Tensor(
            "(*N C) (Ho Wo)", "int32 or int64", low=0, high="S - 1", layout="NCHW", usual="places"
        ),
        "gradOutput": Tensor("(*N C) (Ho Wo)", layout="NCHW"),
        "gradInput": Tensor("(*N C) H W", layout="NCHW"),
    },
    attributes={
        "kernelSize": Attribute(PAIR, (2, 2), low=1, seen=False),
        "stride": Attribute(PAIR, (2, 1), low=1, seen=False),
        "padding": Attribute(PAIR, (1, 0), low=0, high="half(kernelSize)", seen=False),
        "dilation": Attribute(PAIR, (1, 1), low=1, seen=False),
        "ceilMode": Attribute("bool", False, tries=(True,), seen=False),
    },
    sizes={"S": "H*W"} | windows("H", 0, EXTENT) | windows("W", -1, EXTENT),
    takes=("self", "indices", "kernelSize", "stride", "padding", "dilation", "ceilMode"),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"gradInput": "self"},
    like="self",
    shapes=(
        {"shape": (2, 2, 5, 4)},
        {"shape": (3, 4, 7), "kernelSize": (2, 3), "stride": (1, 2), "padding": (1, 1)},
        {
            "shape": (1, 2, 7, 6),
            "kernelSize": (3,),
            "stride": (),
            "padding": (1,),
            "dilation": (2,),
        },
    ),
)
