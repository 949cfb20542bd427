"""Declare aclnnGridSampler2DBackward as documented, for checks, test cases and C calls: input (N, C, H, W), grid (N, Hout,
Wout, 2), gradOutput (N, C, Hout, Wout).
"""

from aclnn_viz.operators.families.sampling_rules import sampler
from aclnn_viz.operators.products import TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = sampler(
    page,
    """aclnnStatus aclnnGridSampler2DBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *input, const aclTensor *grid, int64_t interpolationMode,
        int64_t paddingMode, bool alignCorners, const aclBoolArray *outputMask, aclTensor *inputGrad,
        aclTensor *gridGrad, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    "H W",
    {0: "bilinear", 1: "nearest", 2: "bicubic"},
    "(x, y)",
    ("NCHW", "NCHW"),
    formats={WITH_BFLOAT16: "float32 float16 float64 bfloat16", (TRAINING,): "float32 float16"},
    chapter=3,
    shapes=({"shape": (2, 2, 5, 4), "grid_shape": (4, 5)}, {"shape": (2, 1, 1, 3)}),
)
