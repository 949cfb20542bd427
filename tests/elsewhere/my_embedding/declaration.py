"""aclnnMyEmbeddingDenseBackward: grad (..., E) of the rows that indices (...) chose among numWeights."""

from aclnn_viz.operators import Attribute, Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="my_embedding",
    page=page,
    prototype="""aclnnStatus aclnnMyEmbeddingDenseBackwardGetWorkspaceSize(
        const aclTensor *grad, const aclTensor *indices, uint64_t numWeights, uint64_t paddingIdx, bool scaleGradByFreq,
        const aclTensor *gradWeight, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_my_embedding_dense_backward.h",
    library="ops-nn",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16"},
    tensors={
        "weight": Tensor("V E"),
        "indices": Tensor("*I", "int64 or int32", low=0, high="V - 1"),
        "out": Tensor("*I E"),
        "grad": Tensor("*I E"),
        "gradWeight": Tensor("V E"),
    },
    attributes={
        "numWeights": Attribute("uint64_t"),
        "scaleGradByFreq": Attribute("bool", False, tries=(True,)),
        "paddingIdx": Attribute("uint64_t", 0, low=0, high="V - 1", tries=(1,)),
    },
    sizes={"V": "numWeights"},
    takes=("weight", "indices", "paddingIdx", "scaleGradByFreq"),
    gives=("out",),
    upstream={"grad": "out"},
    gradient_of={"gradWeight": "weight"},
    like="grad",
    shapes=({"shape": (5, 4)}, {"shape": (7, 3), "indices_shape": (2, 4)}),
)
