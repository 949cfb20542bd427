"""Declare aclnnUpsampleBilinear2dBackward as documented, for checks, test cases and C calls: gradOut (N, C, *outputSize), out
of the shape inputSize, (N, C, H, W).
"""

from aclnn_viz.operators.families.resampling import upsampling_2d
from aclnn_viz.operators.products import ATLAS_A2_A3, ATLAS_INFERENCE_TRAINING, WITH_ARCH35

from . import page

OPERATOR = upsampling_2d(
    page,
    """aclnnStatus aclnnUpsampleBilinear2dBackwardGetWorkspaceSize(
    const aclTensor *gradOut, const aclIntArray *outputSize, const aclIntArray *inputSize, bool alignCorners,
    double scalesH, double scalesW, aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    {
        WITH_ARCH35: "float32 float16 bfloat16",
        (*ATLAS_A2_A3, *ATLAS_INFERENCE_TRAINING): "float32 float16",
    },
    gradient="out",
    made="result",
)
