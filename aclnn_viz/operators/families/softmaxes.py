"""Declare softmax and log-softmax: backward takes the output of forward, and sums along the axis dim."""

from aclnn_viz.operators.operator import Attribute, Operator, Tensor, declared
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING


def along_dim(page, prototype, header=None, ranks=None) -> Operator:
    """Return the declaration of softmax or log-softmax; `ranks` are the documented
    ranks of the input and the output.
    """
    whole, result = Tensor("*A D@dim *B", ranks=ranks), Tensor("*A D *B")
    return declared(
        page,
        prototype,
        ATLAS_INFERENCE_TRAINING,
        header=header,
        tensors={
            "self": whole,
            "output": whole,
            "result": result,
            "gradOutput": result,
            "out": result,
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
