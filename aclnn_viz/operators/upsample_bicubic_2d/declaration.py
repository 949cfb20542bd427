"""aclnnUpsampleBicubic2dBackward: gradOut (N, C, *outputSize), gradInput of the shape inputSize, (N, C, H, W)."""

from aclnn_viz.operators.families.resampling import COUNTS, LENGTHS
from aclnn_viz.operators.operator import Attribute, Operator, Tensor
from aclnn_viz.operators.products import TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="upsample_bicubic_2d", page=page,
    prototype="""aclnnStatus aclnnUpsampleBicubic2dBackwardGetWorkspaceSize(
        const aclTensor *gradOut, const aclIntArray *outputSize, const aclIntArray *inputSize, const bool alignCorners,
        double scalesH, double scalesW, aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_upsample_bicubic_2d_backward.h", library="ops-cv",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", (TRAINING,): "float32 float16"},
    tensors={
        "self": Tensor("(N C) H W", empty=False, layout="NCHW"), "out": Tensor("(N C) Ho Wo"),
        "gradOut": Tensor("(N C) Ho Wo", empty=False, layout="NCHW"), "gradInput": Tensor("(N C) H W", layout="NCHW"),
    },
    attributes={
        "outputSize": Attribute("const aclIntArray *", length=2, low=1, seen=False),
        "inputSize": Attribute("const aclIntArray *", length=4, low=1, seen=False),
        "alignCorners": Attribute("const bool", False, tries=(True,)),
        "scalesH": Attribute("double", 0.0, tries=(1.7,)), "scalesW": Attribute("double", 0.0, tries=(0.8,)),
    },
    sizes=LENGTHS, counts=COUNTS, takes=("self", "outputSize", "alignCorners", "scalesH", "scalesW"), gives=("out",),
    upstream={"gradOut": "out"}, gradient_of={"gradInput": "self"}, like="gradOut",
    shapes=({"shape": (2, 2, 5, 4), "outputSize": (8, 3)}, {"shape": (1, 3, 2, 9), "outputSize": (7, 9)}),
)
