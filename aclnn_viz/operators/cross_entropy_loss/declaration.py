"""Declare aclnnCrossEntropyLossGrad as documented, for checks, test cases and C calls: logProb (N, C), target (N,), gradLoss
(N,) for the reduction "none" and one number otherwise.
"""

from aclnn_viz.errors import invalid
from aclnn_viz.operators.families.classes import targets_are_classes
from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import WITH_BFLOAT16

from . import page


def scale_has_its_lse(bound: dict) -> None:
    if bound["lseForZlossOptional"] is None and bound["lseSquareScaleForZloss"] != 0.0:
        raise invalid(
            "lseForZlossOptional is needed when lseSquareScaleForZloss is not 0",
            "None",
            "pass the lse that the forward operator saved",
        )


def has_classes(bound: dict) -> None:
    if bound["input"].shape[1] == 0:
        raise invalid(
            "input must have at least one class", f"shape {bound['input'].shape}", "give it C >= 1"
        )


classes_named = targets_are_classes("logProb", "input")
ROWS_OR_ONE = "N if reduction = none else ()"

OPERATOR = declared(
    page,
    # Documents of 8.x print float for the two doubles; the headers of all versions have double.
    """aclnnStatus aclnnCrossEntropyLossGradGetWorkspaceSize(
        const aclTensor *gradLoss, const aclTensor *logProb, const aclTensor *target, const aclTensor *weightOptional,
        const aclTensor *gradZlossOptional, const aclTensor *lseForZlossOptional, char *reduction, int64_t ignoreIndex,
        double labelSmoothing, double lseSquareScaleForZloss, const aclTensor *xGradOut,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    chapter=4,
    c_names={"reduction": "reductionOptional", "xGradOut": "out"},
    formats={WITH_BFLOAT16: "float32 float16 bfloat16"},
    tensors={
        "input": Tensor("N C"),
        "logProb": Tensor("N C"),
        "target": Tensor("N", "int64 or int32", why="one class for each row of {like}"),
        "weightOptional": Tensor(
            "C", "float32", why="one weight for each column of {like}", optional=True
        ),
        "gradLoss": Tensor(ROWS_OR_ONE, why="one value a row"),
        "gradZlossOptional": Tensor(ROWS_OR_ONE, why="one value a row", optional=True),
        "lseForZlossOptional": Tensor("N", why="one value for each row of {like}", optional=True),
        "loss": Tensor(ROWS_OR_ONE),
        "zloss": Tensor(ROWS_OR_ONE),
        "lseForZloss": Tensor("N"),
        "xGradOut": Tensor("N C"),
    },
    attributes={
        "reduction": Attribute("char *", "mean", values=("none", "mean", "sum")),
        "ignoreIndex": Attribute("int64_t", -100),
        "labelSmoothing": Attribute("double", 0.0, low=0.0, high=1.0, tries=(0.1,)),
        "lseSquareScaleForZloss": Attribute("double", 0.0, tries=(0.25,)),
    },
    takes=(
        "input",
        "target",
        "weightOptional",
        "reduction",
        "ignoreIndex",
        "labelSmoothing",
        "lseSquareScaleForZloss",
    ),
    gives=("loss", "logProb", "zloss", "lseForZloss"),
    upstream={"gradLoss": "loss", "gradZlossOptional": "zloss"},
    saved={"logProb": "logProb", "lseForZlossOptional": "lseForZloss"},
    gradient_of={"xGradOut": "input"},
    like="logProb",
    rules=(classes_named, scale_has_its_lse),
    forward_rules=(classes_named, has_classes),
    shapes=({"shape": (9, 4)}, {"shape": (17, 16)}, {"shape": (1, 5)}),
)
