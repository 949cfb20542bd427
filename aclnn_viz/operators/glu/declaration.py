"""Declare aclnnGluBackward as documented, for checks, test cases and C calls: self with an even axis dim, gradOut half as long
along it, rank 1 to 8.
"""

from aclnn_viz.operators.families.gated import gated
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = gated(
    page,
    """aclnnStatus aclnnGluBackwardGetWorkspaceSize(
        const aclTensor *gradOut, const aclTensor *self, int64_t dim, const aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    more="float64",
    x="self",
    gradient="gradOut",
    out="out",
)
