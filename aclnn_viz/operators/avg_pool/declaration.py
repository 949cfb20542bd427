"""Declare aclnnAvgPool2dBackward as documented, for checks, test cases and C calls: self (N, C, H, W) or (C, H, W), gradOutput
sized by kernel, stride and padding.
"""

from aclnn_viz.operators.families.pooling import windows
from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

PAIR = "const aclIntArray *"

OPERATOR = declared(
    page,
    """aclnnStatus aclnnAvgPool2dBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclIntArray *kernelSize, const aclIntArray *stride,
        const aclIntArray *padding, bool ceilMode, bool countIncludePad, int64_t divisorOverride, int8_t cubeMathType,
        aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    header="aclnn_avgpool2d_backward.h",
    tensors={
        "self": Tensor("(*N C) H W", ranks=(3, 4), layout="NCHW", empty=False),
        "out": Tensor("(*N C) Ho Wo"),
        "gradOutput": Tensor("(*N C) Ho Wo", layout="NCHW"),
        "gradInput": Tensor("(*N C) H W", layout="NCHW"),
    },
    attributes={
        "kernelSize": Attribute(PAIR, (2, 2), low=1),
        "stride": Attribute(PAIR, (2, 1), low=1),
        "padding": Attribute(PAIR, (1, 0), low=0, high="half(kernelSize)"),
        "ceilMode": Attribute("bool", False, tries=(True,), seen=False),
        "countIncludePad": Attribute("bool", True, tries=(False,)),
        "divisorOverride": Attribute("int64_t", 0, tries=(5,)),
        "cubeMathType": Attribute("int8_t", 0, low=0, high=3, seen=False),
    },
    sizes=windows("H", 0) | windows("W", -1),
    counts={"rows": "Ho", "columns": "Wo"},
    takes=(
        "self",
        "kernelSize",
        "stride",
        "padding",
        "ceilMode",
        "countIncludePad",
        "divisorOverride",
    ),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"gradInput": "self"},
    like="self",
    shapes=(
        {"shape": (2, 2, 5, 4)},
        {  # the last windows extend beyond the edge
            "shape": (1, 4, 5),
            "kernelSize": (3, 2),
            "stride": (3, 2),
            "padding": (0, 0),
            "ceilMode": True,
        },
        {"shape": (3, 4, 7), "kernelSize": (2, 3), "stride": (1, 2), "padding": (0, 1)},
        {"shape": (1, 2, 7, 5), "kernelSize": (3,), "stride": (), "padding": (1,)},
    ),
)
