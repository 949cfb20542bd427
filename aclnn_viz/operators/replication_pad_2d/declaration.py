"""aclnnReplicationPad2dBackward: self (N, C, H, W) or (C, H, W), gradOutput (..., H + top + bottom, W + left + right)."""

from aclnn_viz.operators.families.resampling import padding_fits
from aclnn_viz.operators.operator import Attribute, Operator, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

from . import page

OPERATOR = Operator(
    name="replication_pad_2d", page=page,
    prototype="""aclnnStatus aclnnReplicationPad2dBackwardGetWorkspaceSize(
        const aclTensor *gradOutput, const aclTensor *self, const aclIntArray *padding, aclTensor *gradInput,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    header="aclnn_pad2d_backward.h", library="ops-math",
    formats={WITH_BFLOAT16: "float32 float16 bfloat16 float64", ATLAS_INFERENCE_TRAINING: "float32 float16 float64"},
    tensors={
        "self": Tensor("(*N C) H W", ranks=(3, 4)), "out": Tensor("(*N C) Ho Wo"), "gradOutput": Tensor("(*N C) Ho Wo"),
        "gradInput": Tensor("(*N C) H W"),
    },
    attributes={"padding": Attribute("const aclIntArray *", (1, 0, 2, 1), length=4, low=0, high="(W - 1, W - 1, H - 1, H - 1)",
                                     tries=((0, 2, 1, 1),))},
    sizes={"Ho": "H + padding[2] + padding[3]", "Wo": "W + padding[0] + padding[1]"},
    takes=("self", "padding"), gives=("out",), upstream={"gradOutput": "out"}, gradient_of={"gradInput": "self"}, like="self",
    rules=(padding_fits,),
    shapes=({"shape": (2, 2, 5, 4)}, {"shape": (3, 4, 7), "padding": (6, 3, 0, 2)}),
)
