"""aclnnRmsNormGrad: gamma spans any number of trailing axes of x; rstd has the leading ones, trailing 1s allowed."""

from math import prod

from aclnn_viz.arrays.driver import Result
from aclnn_viz.dtypes import FLOAT32, FLOAT64
from aclnn_viz.errors import problem
from aclnn_viz.kernels import rms_norm as page
from aclnn_viz.operators.operator import Arranged, Operator
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.shapes import compute_type, need_dtype, need_float, need_rank, need_shape


def _split(x, gamma):
    """Check x against gamma and return the leading shape, the number of rows and their length."""
    need_rank("x", x, 1, 8)
    need_rank("gamma", gamma, 1, x.ndim)
    need_shape("gamma", gamma, x.shape[x.ndim - gamma.ndim:], "the trailing axes of x")
    fmt = need_float("x", x)
    need_dtype("gamma", gamma, [fmt] if fmt is FLOAT64 else [fmt, FLOAT32], "that of x, or float32")
    lead = x.shape[:x.ndim - gamma.ndim]
    return fmt, lead, prod(lead), gamma.size


def arrange_backward(dy, x, rstd, gamma) -> Arranged:
    fmt, lead, rows, length = _split(x, gamma)
    need_shape("dy", dy, x.shape, "that of x")
    need_dtype("dy", dy, [fmt], "that of x")
    wide = FLOAT64 if fmt is FLOAT64 else FLOAT32
    need_dtype("rstd", rstd, [wide], f"for x in {fmt.name}")
    trailing = rstd.shape[len(lead):]
    if rstd.shape[:len(lead)] != lead or any(n != 1 for n in trailing):
        raise ValueError(problem(
            f"rstd must have the leading axes {lead} of x, one value a row, and after them only axes of length 1",
            f"rstd {rstd.shape}, x {x.shape}, gamma {gamma.shape}", "pass the rstd that the forward operator saved"))
    arrays = {"dy": dy.reshape(rows, length), "x": x.reshape(rows, length), "rstd": rstd.reshape(rows, 1),
              "gamma": gamma.reshape(length)}
    results = {"dxOut": Result((rows, length), fmt, x.shape), "dgammaOut": Result((length,), wide, gamma.shape)}
    return Arranged(arrays, {}, results, compute_type(fmt))


def arrange_forward(x, gamma, epsilon) -> Arranged:
    fmt, lead, rows, length = _split(x, gamma)
    wide = FLOAT64 if fmt is FLOAT64 else FLOAT32
    results = {"y": Result((rows, length), fmt, x.shape),
               "rstd": Result((rows, 1), wide, lead + (1,) * gamma.ndim)}
    arrays = {"x": x.reshape(rows, length), "gamma": gamma.reshape(length)}
    return Arranged(arrays, {"epsilon": epsilon}, results, compute_type(fmt))


OPERATOR = Operator(
    name="rms_norm",
    aclnn_name="aclnnRmsNormGrad",
    parameters=(Parameter("dy"), Parameter("x"), Parameter("rstd"), Parameter("gamma")),
    outputs=("dxOut", "dgammaOut"),
    forward_parameters=(Parameter("x"), Parameter("gamma"), Parameter("epsilon", "float", 1e-6)),
    page=page,
    arrange_backward=arrange_backward,
    arrange_forward=arrange_forward,
)
