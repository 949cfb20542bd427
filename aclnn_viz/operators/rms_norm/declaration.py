"""Declare aclnnRmsNormGrad as documented, for checks, test cases and C calls: gamma spans trailing axes of x, and rstd has one
number a row in any shape.
"""

from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import INFERENCE

from . import page

OPERATOR = declared(
    page,
    """aclnnStatus aclnnRmsNormGradGetWorkspaceSize(
        const aclTensor *dy, const aclTensor *x, const aclTensor *rstd, const aclTensor *gamma,
        const aclTensor *dxOut, const aclTensor *dgammaOut, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (INFERENCE,),
    chapter=2,
    tensors={
        "x": Tensor("*R *K", ranks=(1, 8)),
        "gamma": Tensor("*K", "same or float32", why="the trailing axes of {like}"),
        "dy": Tensor("*R *K"),
        "rstd": Tensor("*R 1..K", "wide", why="one for each row of {like}", by_count=True),
        "y": Tensor("*R *K"),
        "dxOut": Tensor("*R *K"),
        "dgammaOut": Tensor("*K", "wide"),
    },
    attributes={"epsilon": Attribute.epsilon(1e-6)},
    takes=("x", "gamma", "epsilon"),
    gives=("y", "rstd"),
    upstream={"dy": "y"},
    saved={"rstd": "rstd"},
    gradient_of={"dxOut": "x", "dgammaOut": "gamma"},
    like="x",
    shapes=({"shape": (4, 6)}, {"shape": (2, 3, 2, 5), "gamma_ndim": 2}, {"shape": (3, 257)}),
)
