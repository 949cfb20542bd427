"""Declare aclnnEluBackward as documented, for checks, test cases and C calls: gradOutput and selfOrResult, the forward input or
output, of one shape and dtype.
"""

from aclnn_viz.errors import invalid
from aclnn_viz.operators.families.elementwise import FLOAT32_MAX, activation
from aclnn_viz.operators.operator import Attribute, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

from . import page


def rising(given: dict) -> None:
    """Refuse a scale or inputScale <= 0 with isResult: the library computes it wrongly, as y's sign is then not x's."""
    if given["isResult"] and min(given["scale"], given["inputScale"]) <= 0:
        raise invalid(
            "scale and inputScale must be positive where selfOrResult is the result",
            f"{given['scale']} and {given['inputScale']}",
            "pass the forward input, with isResult False",
        )


OPERATOR = activation(
    page,
    """aclnnStatus aclnnEluBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclScalar *alpha, const aclScalar *scale, const aclScalar *inputScale,
        bool isResult, const aclTensor *selfOrResult, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    ATLAS_INFERENCE_TRAINING,
    x=Tensor("*P", kinks=(0,)),
    of="x",
    saved={"selfOrResult": "given"},
    rules=(rising,),
    forward_rules=(rising,),
    attributes={
        "alpha": Attribute(
            "const aclScalar *", 1.0, low=f"0 if isResult else -{FLOAT32_MAX}", tries=(1.7,)
        ),
        "scale": Attribute("const aclScalar *", 1.0, tries=(1.05,)),
        "inputScale": Attribute("const aclScalar *", 1.0, tries=(0.5,)),
        "isResult": Attribute("bool", False, tries=(True,)),
    },
)
