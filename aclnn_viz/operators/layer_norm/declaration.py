"""Declare aclnnLayerNormBackward as documented, for checks, test cases and C calls: normalizedShape are the trailing axes of
input; one mean and rstd a row.
"""

from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page

OPERATOR = declared(
    page,
    """aclnnStatus aclnnLayerNormBackwardGetWorkspaceSize(
        const aclTensor *gradOut, const aclTensor *input, const aclIntArray *normalizedShape, const aclTensor *mean,
        const aclTensor *rstd, const aclTensor *weightOptional, const aclTensor *biasOptional,
        const aclBoolArray *outputMask, aclTensor *gradInputOut, aclTensor *gradWeightOut, aclTensor *gradBiasOut,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    chapter=6,
    tensors={
        "input": Tensor("*R *K", ranks=(1, 8)),
        "gradOut": Tensor("*R *K"),
        "mean": Tensor(
            "*R 1..K", "same or float32", why="one for each row of {like}", by_count=True
        ),
        "rstd": Tensor("*R 1..K", "as mean", why="one for each row of {like}", by_count=True),
        "weightOptional": Tensor("*K", "same or float32", why="normalizedShape", optional=True),
        "biasOptional": Tensor("*K", "as weightOptional", why="normalizedShape", optional=True),
        "out": Tensor("*R *K"),
        "meanOut": Tensor("*R 1..K", "wide"),
        "rstdOut": Tensor("*R 1..K", "wide"),
        "gradInputOut": Tensor("*R *K", asked="outputMask[0]"),
        "gradWeightOut": Tensor("*K", "as weightOptional", asked="outputMask[1]"),
        "gradBiasOut": Tensor("*K", "as weightOptional", asked="outputMask[2]"),
    },
    attributes={
        "normalizedShape": Attribute("const aclIntArray *", seen=False),
        "outputMask": Attribute("const aclBoolArray *", (True, True, True), length=3, seen=False),
        "eps": Attribute.epsilon(1e-5),
    },
    takes=("input", "normalizedShape", "weightOptional", "biasOptional", "eps"),
    gives=("out", "meanOut", "rstdOut"),
    upstream={"gradOut": "out"},
    saved={"mean": "meanOut", "rstd": "rstdOut"},
    gradient_of={
        "gradInputOut": "input",
        "gradWeightOut": "weightOptional",
        "gradBiasOut": "biasOptional",
    },
    like="input",
    sizes={"K": "normalizedShape"},
    shapes=(
        {"shape": (4, 6), "normalizedShape": (6,)},
        {"shape": (2, 3, 2, 5), "normalizedShape": (2, 5)},
        {"shape": (3, 257), "normalizedShape": (257,)},
    ),
)
