"""Declare aclnnGroupNormBackward as documented, for checks, test cases and C calls: input (N, C, ...) in groups of channels,
mean and rstd of N * group elements.
"""

from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import TRAINING

from . import page

WHY = "one for each sample and group of {like}"

OPERATOR = declared(
    page,
    """aclnnStatus aclnnGroupNormBackwardGetWorkspaceSize(
        const aclTensor *gradOut, const aclTensor *input, const aclTensor *mean, const aclTensor *rstd,
        const aclTensor *gamma, int64_t N, int64_t C, int64_t HxW, int64_t group, const aclBoolArray *outputMask,
        aclTensor *gradInput, aclTensor *gradGammaOut, aclTensor *gradBetaOut,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    tensors={
        "input": Tensor("B G*D *P", ranks=(2, 8)),
        "gradOut": Tensor("B G*D *P"),
        "output": Tensor("B G*D *P"),
        "mean": Tensor("B G", "same or float32", why=WHY, by_count=True),
        "rstd": Tensor("B G", "as mean", why=WHY, by_count=True),
        "gamma": Tensor(
            "G*D", "as mean", why="the channels of {like}", optional=True, by_count=True
        ),
        "beta": Tensor("G*D"),
        "meanOut": Tensor("B G"),
        "rstdOut": Tensor("B G"),
        "gradInput": Tensor("B G*D *P", asked="outputMask[0]"),
        "gradGammaOut": Tensor("G*D", "as mean", asked="outputMask[1]"),
        "gradBetaOut": Tensor("G*D", "as mean", asked="outputMask[2]"),
    },
    attributes={
        "N": Attribute.of_lengths("B"),
        "C": Attribute.of_lengths("G*D"),
        "HxW": Attribute.of_lengths("prod(P)"),
        "group": Attribute("int64_t", seen=False),
        "eps": Attribute.epsilon(1e-5),
        "outputMask": Attribute("const aclBoolArray *", (True, True, True), length=3, seen=False),
    },
    sizes={"G": "group"},
    takes=("input", "gamma", "beta", "group", "eps"),
    gives=("output", "meanOut", "rstdOut"),
    upstream={"gradOut": "output"},
    saved={"mean": "meanOut", "rstd": "rstdOut"},
    gradient_of={"gradInput": "input", "gradGammaOut": "gamma", "gradBetaOut": "beta"},
    like="input",
    shapes=({"shape": (2, 6, 3, 2)}, {"shape": (3, 4)}, {"shape": (2, 4, 257), "group": 2}),
)
