"""aclnnMySwiGluGrad: x with an even axis dim, yGrad half as long there."""

from aclnn_viz.operators import Attribute, Operator, Tensor
from aclnn_viz.operators.products import INFERENCE, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="my_swiglu",
    page=page,
    prototype="""aclnnStatus aclnnMySwiGluGradGetWorkspaceSize(
        const aclTensor *yGrad, const aclTensor *x, int64_t dim, const aclTensor *xGrad, uint64_t *workspaceSize,
        aclOpExecutor **executor);""",
    header="aclnn_my_swi_glu_grad.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16", (INFERENCE,): "float32 float16"},
    tensors={
        "x": Tensor("*A 2*H@dim *B"),
        "yGrad": Tensor("*A H *B"),
        "xGrad": Tensor("*A 2*H *B"),
        "out": Tensor("*A H *B"),
    },
    attributes={"dim": Attribute("int64_t", -1, tries=(0, 1), seen=False)},
    takes=("x", "dim"),
    gives=("out",),
    upstream={"yGrad": "out"},
    gradient_of={"xGrad": "x"},
    like="x",
    shapes=({"shape": (4, 6)}, {"shape": (3, 4, 2)}),
)
