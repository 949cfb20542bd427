"""Declare aclnnGridSampler3DBackward as documented, for checks, test cases and C calls: input (N, C, D, H, W), grid (N, Dout,
Hout, Wout, 3), gradOutput (N, C, Dout, Hout, Wout).
"""

from aclnn_viz.operators.families.sampling_rules import sampler
from aclnn_viz.operators.products import TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = sampler(
    page,
    """aclnnStatus aclnnGridSampler3DBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *input, const aclTensor *grid, int64_t interpolationMode,
        int64_t paddingMode, bool alignCorners, const aclBoolArray *outputMask, aclTensor *inputGrad,
        aclTensor *gridGrad, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    "D H W",
    {0: "bilinear", 1: "nearest"},
    "(x, y, z)",
    ("NCDHW", "NDHWC"),
    formats={
        WITH_BFLOAT16: "float32 float16 float64 bfloat16",
        (TRAINING,): "float32 float16 float64",
    },
    chapter=7,
    shapes=({"shape": (2, 2, 3, 4, 5)}, {"shape": (1, 1, 1, 1, 3)}),
)
