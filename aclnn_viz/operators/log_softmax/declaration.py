"""Declare aclnnLogSoftmaxBackward as documented, for checks, test cases and C calls: gradOutput, output and out of one shape,
dim one of the axes.
"""

from aclnn_viz.operators.operator import Attribute, Operator, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="log_softmax",
    page=page,
    prototype="""aclnnStatus aclnnLogSoftmaxBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *output, int64_t dim, aclTensor *out,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_logsoftmax_backward.h",
    library="ops-nn",
    formats={
        WITH_BFLOAT16: "float32 float16 bfloat16",
        ATLAS_INFERENCE_TRAINING: "float32 float16",
    },
    tensors={
        "self": Tensor("*A D@dim *B"),
        "output": Tensor("*A D@dim *B"),
        "result": Tensor("*A D *B"),
        "gradOutput": Tensor("*A D *B"),
        "out": Tensor("*A D *B"),
    },
    attributes={"dim": Attribute("int64_t", -1, tries=(0, 1), seen=False)},
    takes=("self", "dim"),
    gives=("result",),
    upstream={"gradOutput": "result"},
    saved={"output": "result"},
    gradient_of={"out": "self"},
    like="output",
    shapes=({"shape": (4, 6)}, {"shape": (3, 4, 2)}, {"shape": (257,)}),
)
