"""Declare aclnnGroupNormSwishGrad as documented, for checks, test cases and C calls: x (N, C, ...), mean and rstd (N,
numGroups), gamma and beta (C,).
"""

from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import WITH_BFLOAT16, Version

from . import page

SCALED = Version.parse("9.1.0.pre")  # first tag whose kernel multiplies by swishScale twice

OPERATOR = declared(
    page,
    """aclnnStatus aclnnGroupNormSwishGradGetWorkspaceSize(
        const aclTensor *dy, const aclTensor *mean, const aclTensor *rstd, const aclTensor *x, const aclTensor *gamma,
        const aclTensor *beta, int64_t numGroups, char *dataFormatOptional, double swishScale, bool dgammaIsRequire,
        bool dbetaIsRequire, const aclTensor *dxOut, const aclTensor *dgammaOut, const aclTensor *dbetaOut,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    chapter=5,
    formats={WITH_BFLOAT16: "float32 float16 bfloat16"},
    tensors={
        "x": Tensor("N G*D *P", ranks=(2, 8)),
        "gamma": Tensor("G*D", "same or float32", why="the channels of {like}"),
        "beta": Tensor("G*D", "as gamma", why="the channels of {like}"),
        "dy": Tensor("N G*D *P"),
        "mean": Tensor("N G", "as gamma", why="N of {like} and numGroups"),
        "rstd": Tensor("N G", "as gamma", why="N of {like} and numGroups"),
        "y": Tensor("N G*D *P"),
        "dxOut": Tensor("N G*D *P"),
        "dgammaOut": Tensor("G*D", "as gamma", asked="dgammaIsRequire"),
        "dbetaOut": Tensor("G*D", "as gamma", asked="dbetaIsRequire"),
    },
    attributes={
        "numGroups": Attribute("int64_t", seen=False),
        "dataFormatOptional": Attribute("char *", "NCHW", seen=False),
        "swishScale": Attribute("double", 1.0, tries=(0.6,)),
        "dgammaIsRequire": Attribute("bool", True, seen=False),
        "dbetaIsRequire": Attribute("bool", True, seen=False),
        "eps": Attribute.epsilon(1e-5),
    },
    takes=("x", "gamma", "beta", "numGroups", "eps", "swishScale"),
    gives=("y", "mean", "rstd"),
    upstream={"dy": "y"},
    saved={"mean": "mean", "rstd": "rstd"},
    gradient_of={"dxOut": "x", "dgammaOut": "gamma", "dbetaOut": "beta"},
    like="x",
    sizes={"G": "numGroups"},
    shapes=(
        {"shape": (2, 4, 3), "numGroups": 2},
        {"shape": (3, 6, 2, 2), "numGroups": 3},
        {"shape": (3, 4), "numGroups": 2},
    ),
)
