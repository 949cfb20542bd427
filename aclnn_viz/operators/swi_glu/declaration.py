"""Declare aclnnSwiGluGrad as documented, for checks, test cases and C calls: x with an even axis dim, yGrad half as long along
it, none of them empty. Alignment to 64 bytes is not checked.
"""

from aclnn_viz.operators.families.gated import gated
from aclnn_viz.operators.operator import Tensor
from aclnn_viz.operators.products import INFERENCE

from . import page

OPERATOR = gated(
    page,
    """aclnnStatus aclnnSwiGluGradGetWorkspaceSize(
        const aclTensor *yGrad, const aclTensor *x, int64_t dim, const aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (INFERENCE,),
    x="x",
    gradient="yGrad",
    out="out",
    tensors={"x": Tensor("*A 2*H@dim *B", empty=False)},
)
