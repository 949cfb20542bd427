"""Declare aclnnUpsampleBicubic2dBackward as documented, for checks, test cases and C calls: gradOut (N, C, *outputSize),
gradInput of the shape inputSize, (N, C, H, W).
"""

from aclnn_viz.operators.families.resampling import upsampling_2d
from aclnn_viz.operators.products import TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = upsampling_2d(
    page,
    """aclnnStatus aclnnUpsampleBicubic2dBackwardGetWorkspaceSize(
    const aclTensor *gradOut, const aclIntArray *outputSize, const aclIntArray *inputSize, const bool alignCorners,
    double scalesH, double scalesW, aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    {WITH_BFLOAT16: "float32 float16 bfloat16", (TRAINING,): "float32 float16"},
    aligns="const bool",
)
