"""aclnnSoftplusBackward: gradOutput and self of one shape and format; integers, which the document lists for self, are refused."""

from aclnn_viz.operators.operator import Attribute, Operator, Tensor
from aclnn_viz.operators.products import TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="softplus",
    page=page,
    prototype="""aclnnStatus aclnnSoftplusBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclScalar *beta, const aclScalar *threshold,
        aclTensor *gradInput, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_softplus_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16 float64", (TRAINING,): "float32 float16 float64"},
    tensors={"self": Tensor("*P", kinks=("threshold / beta",)), "gradOutput": Tensor("*P"), "gradInput": Tensor("*P"), "out": Tensor("*P")},
    attributes={
        "beta": Attribute("const aclScalar *", 1.0, tries=(2.5,)),
        "threshold": Attribute("const aclScalar *", 20.0, tries=(0.5,)),
    },
    takes=("self", "beta", "threshold"),
    gives=("out",),
    upstream={"gradOutput": "out"},
    gradient_of={"gradInput": "self"},
    like="self",
    shapes=({"shape": (4, 6)}, {"shape": (257,)}, {"shape": ()}),
)
