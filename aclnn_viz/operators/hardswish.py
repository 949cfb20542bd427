"""aclnnHardswishBackward: gradOutput and self of one shape and format, rank 0 to 8."""

from aclnn_viz.arrays.driver import Result
from aclnn_viz.kernels import hardswish as page
from aclnn_viz.operators.operator import Arranged, Operator
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.shapes import compute_type, need_dtype, need_float, need_rank, need_shape


def arrange(**tensors) -> Arranged:
    x = tensors["self"]
    need_rank("self", x, 0, 8)
    fmt = need_float("self", x)
    for name, tensor in tensors.items():
        need_shape(name, tensor, x.shape, "that of self")
        need_dtype(name, tensor, [fmt], "that of self")
    arrays = {name: tensor.reshape(-1) for name, tensor in tensors.items()}
    return Arranged(arrays, {}, {"out": Result((x.size,), fmt, x.shape)}, compute_type(fmt))


OPERATOR = Operator(
    name="hardswish",
    aclnn_name="aclnnHardswishBackward",
    parameters=(Parameter("gradOutput"), Parameter("self")),
    outputs=("out",),
    forward_parameters=(Parameter("self"),),
    page=page,
    arrange_backward=arrange,
    arrange_forward=arrange,
)
