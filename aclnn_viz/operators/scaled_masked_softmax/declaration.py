"""Declare aclnnScaledMaskedSoftmaxBackward as documented, for checks, test cases and C calls: gradOutput, y and out (B, N, S1,
S2), and mask, of which B and N may be 1.
"""

from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import ATLAS_A2_A3

from . import page

OPERATOR = declared(
    page,
    """aclnnStatus aclnnScaledMaskedSoftmaxBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *y, const aclTensor *mask, double scale, bool fixTriuMask,
        aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    formats={ATLAS_A2_A3: "float32 float16 bfloat16"},
    tensors={
        "x": Tensor("B N S1 S2"),
        "result": Tensor("B N S1 S2"),
        "y": Tensor("B N S1 S2"),
        "mask": Tensor("~B ~N S1 S2", "bool"),
        "gradOutput": Tensor("B N S1 S2"),
        "out": Tensor("B N S1 S2"),
    },
    attributes={
        "scale": Attribute("double", 1.0, tries=(0.125,)),
        # True is refused, because the page builds no mask
        "fixTriuMask": Attribute("bool", False, values=(False,), seen=False),
    },
    takes=("x", "mask", "scale"),
    gives=("result",),
    upstream={"gradOutput": "result"},
    saved={"y": "result"},
    gradient_of={"out": "x"},
    like="y",
    shapes=({"shape": (2, 3, 4, 6)}, {"shape": (1, 2, 1, 257)}, {"shape": (2, 1, 5, 1)}),
)
