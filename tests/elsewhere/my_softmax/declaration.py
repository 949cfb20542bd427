"""aclnnMySoftmaxBackward: gradOutput, output and gradInput of one shape, dim one of its axes."""

from aclnn_viz.operators import Attribute, Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="my_softmax",
    page=page,
    prototype="""aclnnStatus aclnnMySoftmaxBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *output, int64_t dim, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_my_softmax_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16 float64"},
    tensors={
        "x": Tensor("*A D@dim *B"),
        "out": Tensor("*A D *B"),
        "output": Tensor("*A D@dim *B"),
        "gradOutput": Tensor("*A D *B"),
        "gradInput": Tensor("*A D *B"),
    },
    attributes={"dim": Attribute("int64_t", -1, tries=(0, 1), seen=False)},
    takes=("x", "dim"),
    gives=("out",),
    upstream={"gradOutput": "out"},
    saved={"output": "out"},
    gradient_of={"gradInput": "x"},
    like="output",
    shapes=({"shape": (4, 6)}, {"shape": (3, 4, 2)}),
)
