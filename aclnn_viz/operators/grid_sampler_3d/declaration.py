"""Declare aclnnGridSampler3DBackward as documented, for checks, test cases and C calls: input (N, C, D, H, W), grid (N, Dout,
Hout, Wout, 3), gradOutput (N, C, Dout, Hout, Wout).
"""

from aclnn_viz.operators.families.sampling_rules import has_pixels
from aclnn_viz.operators.operator import Attribute, Operator, Tensor
from aclnn_viz.operators.products import TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="grid_sampler_3d",
    page=page,
    chapter=7,
    prototype="""aclnnStatus aclnnGridSampler3DBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *input, const aclTensor *grid, int64_t interpolationMode,
        int64_t paddingMode, bool alignCorners, const aclBoolArray *outputMask, aclTensor *inputGrad,
        aclTensor *gridGrad, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_grid_sampler3d_backward.h",
    library="ops-cv",
    formats={
        WITH_BFLOAT16: "float32 float16 float64 bfloat16",
        (TRAINING,): "float32 float16 float64",
    },
    tensors={
        "input": Tensor("N C D H W", layout="NCDHW"),
        "grid": Tensor(
            "N (Dout Hout Wout) 3", why="N of {like}, any points, and (x, y, z)", layout="NDHWC"
        ),
        "gradOutput": Tensor(
            "N C (Dout Hout Wout)", why="N and C of {like} and the points of grid", layout="NCDHW"
        ),
        "out": Tensor("N C (Dout Hout Wout)"),
        "inputGrad": Tensor("N C D H W", asked="outputMask[0]", layout="NCDHW"),
        "gridGrad": Tensor("N (Dout Hout Wout) 3", asked="outputMask[1]", layout="NDHWC"),
    },
    attributes={
        "interpolationMode": Attribute("int64_t", 0, values={0: "bilinear", 1: "nearest"}),
        "paddingMode": Attribute("int64_t", 0, values={0: "zeros", 1: "border", 2: "reflection"}),
        "alignCorners": Attribute("bool", False, tries=(True,)),
        "outputMask": Attribute("const aclBoolArray *", (True, True), length=2),
    },
    takes=("input", "grid", "interpolationMode", "paddingMode", "alignCorners"),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"inputGrad": "input", "gridGrad": "grid"},
    like="input",
    rules=(has_pixels,),
    forward_rules=(has_pixels,),
    shapes=({"shape": (2, 2, 3, 4, 5)}, {"shape": (1, 1, 1, 1, 3)}),
)
