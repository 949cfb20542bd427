"""Declare aclnnEmbeddingDenseBackward as documented, for checks, test cases and C calls: grad (..., E) belongs to the rows that
indices (...) chose among numWeights.
"""

from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import TRAINING

from . import page

OPERATOR = declared(
    page,
    """aclnnStatus aclnnEmbeddingDenseBackwardGetWorkspaceSize(
        const aclTensor *grad, const aclTensor *indices, uint64_t numWeights, uint64_t paddingIdx, bool scaleGradByFreq,
        const aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    tensors={
        "weight": Tensor("V E"),
        "indices": Tensor(
            "*I", "int64 or int32 or int16 or int8 or uint8 or bool", low=0, high="V - 1"
        ),
        "result": Tensor("*I E"),
        "grad": Tensor("*I E", ranks=(2, 8)),
        "out": Tensor("V E"),
    },
    attributes={
        "numWeights": Attribute("uint64_t"),
        "scaleGradByFreq": Attribute("bool", False, tries=(True,)),
        # a negative number becomes 2^64 larger, so no row is left out
        "paddingIdx": Attribute("uint64_t", -1, tries=(1,)),
    },
    sizes={"V": "numWeights"},
    takes=("weight", "indices", "paddingIdx", "scaleGradByFreq"),
    gives=("result",),
    upstream={"grad": "result"},
    gradient_of={"out": "weight"},
    like="grad",
    shapes=({"shape": (4, 3), "indices_shape": (9,)}, {"shape": (7, 3), "indices_shape": (2, 4)}),
)
