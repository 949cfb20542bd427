"""Declare aclnnRotaryPositionEmbeddingGrad as documented, for checks, test cases and C calls: dy and x (B, N, S, D) in one of
the usual orders; cos and sin broadcast to them.
"""

from aclnn_viz.errors import invalid
from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import ATLAS_A2_A3

from . import page

HALVES, NEIGHBOURS, QUARTERS = "1*2*H", "H*2*1", "2*2*Q"
Y = f"A B C {NEIGHBOURS} if mode = 1 else A B C {QUARTERS} if mode = 2 else A B C {HALVES}"
X = Y.replace("mode = 1", "mode = 1|3")
COS = Y.replace("A B C", "~A ~B ~C")

#: Sets of axes, among the first three, that may have length 1: for (1, 1, S, D), (B, 1, S, D), (B, N, S, D), and their orders.
ALONE = {(), (1,), (2,), (0, 1), (0, 2), (1, 2)}


def usual_angles(bound: dict) -> None:
    x, cos = bound.get("x", bound.get("dy")), bound["cos"]
    ones = tuple(k for k in range(3) if cos.shape[k] != x.shape[k])
    if (
        ones not in ALONE
        or bound["mode"] == 1
        and not any(set(ones) <= set(one) for one in ALONE if len(one) == 2)
    ):
        raise invalid(
            "cos must be (1, 1, S, D), (B, 1, S, D) or (B, N, S, D) in the order of the axes of x",
            f"cos {cos.shape}, x {x.shape}",
            "keep the length of S",
        )


OPERATOR = declared(
    page,
    """aclnnStatus aclnnRotaryPositionEmbeddingGradGetWorkspaceSize(
        const aclTensor *dy, const aclTensor *cos, const aclTensor *sin, const aclTensor *xOptional, int64_t mode,
        const aclTensor *dxOut, const aclTensor *dcosOut, const aclTensor *dsinOut,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    library="ops-transformer",
    formats={ATLAS_A2_A3: "float32 float16 bfloat16"},
    tensors={
        "x": Tensor(X),
        "cos": Tensor(COS),
        "sin": Tensor(COS),
        "y": Tensor(Y),
        "xSaved": Tensor(X),
        "dy": Tensor(Y),
        "xOptional": Tensor(X, optional=True),
        "dxOut": Tensor(X),
        "dcosOut": Tensor(COS, asked="xOptional"),
        "dsinOut": Tensor(COS, asked="xOptional"),
    },
    attributes={"mode": Attribute("int64_t", 0, (0, 1, 2, 3))},
    takes=("x", "cos", "sin", "mode"),
    gives=("y", "xSaved"),
    upstream={"dy": "y"},
    saved={"xOptional": "xSaved"},
    gradient_of={"dxOut": "x", "dcosOut": "cos", "dsinOut": "sin"},
    rules=(usual_angles,),
    forward_rules=(usual_angles,),
    like="dy",
    shapes=(
        {"shape": (2, 3, 4, 8), "cos_shape": (1, 1, 4, 8), "sin_shape": (1, 1, 4, 8)},
        {"shape": (2, 3, 4, 8)},
        {"shape": (2, 3, 2, 4), "cos_shape": (2, 3, 1, 4), "sin_shape": (2, 3, 1, 4)},
    ),
)
