"""Declare aclnnGluBackward as documented, for checks, test cases and C calls: self with an even axis dim, gradOut half as long
along it, rank 1 to 8.
"""

from aclnn_viz.operators.families.gated import gated
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = gated(
    page,
    """aclnnStatus aclnnGluBackwardGetWorkspaceSize(
        const aclTensor *gradOut, const aclTensor *self, int64_t dim, const aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    {
        WITH_BFLOAT16: "float32 float16 bfloat16 float64",
        ATLAS_INFERENCE_TRAINING: "float32 float16 float64",
    },
    x="self",
    gradient="gradOut",
    out="out",
)
