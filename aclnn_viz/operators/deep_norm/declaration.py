"""Declare aclnnDeepNormGrad as documented, for checks, test cases and C calls: x, gx and dy of one shape, whose trailing axes
are gamma's; one mean and rstd a row.
"""

from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import INFERENCE

from . import page

OPERATOR = declared(
    page,
    """aclnnStatus aclnnDeepNormGradGetWorkspaceSize(
        const aclTensor *dy, const aclTensor *x, const aclTensor *gx, const aclTensor *gamma, const aclTensor *mean,
        const aclTensor *rstd, double alpha, const aclTensor *dxOut, const aclTensor *dgxOut, const aclTensor *dbetaOut,
        const aclTensor *dgammaOut, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (INFERENCE,),
    tensors={
        "x": Tensor("*R *K", ranks=(2, 8)),
        "gx": Tensor("*R *K"),
        "dy": Tensor("*R *K"),
        "y": Tensor("*R *K"),
        "gamma": Tensor("*K", why="the trailing axes of {like}"),
        "beta": Tensor("*K"),
        "mean": Tensor("*R 1..K", "float32", why="one for each row of {like}"),
        "rstd": Tensor("*R 1..K", "float32", why="one for each row of {like}"),
        "meanOut": Tensor("*R 1..K", "wide"),
        "rstdOut": Tensor("*R 1..K", "wide"),
        "dxOut": Tensor("*R *K"),
        "dgxOut": Tensor("*R *K"),
        "dbetaOut": Tensor("*K", "wide"),
        "dgammaOut": Tensor("*K", "wide"),
    },
    attributes={
        "alpha": Attribute("double", 0.3, tries=(2.0,)),
        "epsilon": Attribute.epsilon(1e-6),
    },
    takes=("x", "gx", "beta", "gamma", "alpha", "epsilon"),
    gives=("y", "meanOut", "rstdOut"),
    upstream={"dy": "y"},
    saved={"mean": "meanOut", "rstd": "rstdOut"},
    gradient_of={"dxOut": "x", "dgxOut": "gx", "dbetaOut": "beta", "dgammaOut": "gamma"},
    like="x",
    shapes=({"shape": (4, 6)}, {"shape": (2, 3, 2, 5), "gamma_ndim": 2}, {"shape": (3, 257)}),
)
