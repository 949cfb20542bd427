"""Declare aclnnBatchNormBackward as documented, for checks, test cases and C calls: input (N, C, ...), and for each channel a
weight and the running and saved mean and deviation.
"""

from dataclasses import replace

from aclnn_viz.errors import invalid
from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import TRAINING

from . import page


def has_its_mean(bound: dict) -> None:
    needed = ("saveMean", "saveInvstd") if bound["training"] else ("runningMean", "runningVar")
    if missing := [name for name in needed if name in bound and bound[name] is None]:
        raise invalid(
            f"{' and '.join(needed)} are needed where training is {bound['training']}",
            f"no {' and no '.join(missing)}",
            "pass them",
        )


CHANNEL = Tensor("C", "same or float32", why="one for each channel of {like}", optional=True)

OPERATOR = declared(
    page,
    """aclnnStatus aclnnBatchNormBackwardGetWorkspaceSize(
        const aclTensor *gradOut, const aclTensor *input, const aclTensor *weight, const aclTensor *runningMean,
        const aclTensor *runningVar, const aclTensor *saveMean, const aclTensor *saveInvstd, bool training, double eps,
        const aclBoolArray *outputMask, aclTensor *gradInput, aclTensor *gradWeight, aclTensor *gradBias,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    (TRAINING,),
    tensors={
        "input": Tensor("N C *P", ranks=(2, 8)),
        "gradOut": Tensor("N C *P"),
        "output": Tensor("N C *P"),
        "weight": CHANNEL,
        "bias": Tensor("C"),
        "runningMean": CHANNEL,
        "saveMean": CHANNEL,
        "saveInvstd": CHANNEL,
        "runningVar": replace(CHANNEL, low=0.1, high=4.0),
        "meanOut": Tensor("C"),
        "invstdOut": Tensor("C"),
        "gradInput": Tensor("N C *P", asked="outputMask[0]"),
        "gradWeight": Tensor("C", "as weight", asked="outputMask[1]"),
        "gradBias": Tensor("C", "as weight", asked="outputMask[2]"),
    },
    attributes={
        "training": Attribute("bool", True, tries=(False,)),
        "eps": Attribute.epsilon(1e-5),
        "outputMask": Attribute("const aclBoolArray *", (True, True, True), length=3, seen=False),
    },
    takes=("input", "weight", "bias", "runningMean", "runningVar", "training", "eps"),
    gives=("output", "meanOut", "invstdOut"),
    upstream={"gradOut": "output"},
    saved={"saveMean": "meanOut", "saveInvstd": "invstdOut"},
    gradient_of={"gradInput": "input", "gradWeight": "weight", "gradBias": "bias"},
    like="input",
    rules=(has_its_mean,),
    forward_rules=(has_its_mean,),
    shapes=({"shape": (3, 4, 2, 2)}, {"shape": (5, 3)}, {"shape": (2, 2, 257)}),
)
