"""aclnnGroupNormSwishGrad: x (N, C, ...), mean and rstd (N, numGroups), gamma and beta (C,)."""

from math import prod

from aclnn_viz.arrays.driver import Result
from aclnn_viz.dtypes import FLOAT32, FLOAT64
from aclnn_viz.errors import problem
from aclnn_viz.kernels import group_norm_swish as page
from aclnn_viz.operators.operator import Arranged, Operator
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.shapes import compute_type, need_dtype, need_float, need_rank, need_shape


def _checked(x, gamma, beta, numGroups):
    """Return the formats of x and gamma and the canonical shapes of x, of a statistic and of a channel parameter."""
    need_rank("x", x, 2, 8)
    samples, channels = x.shape[:2]
    if numGroups < 1 or channels % numGroups or not channels:
        raise ValueError(problem("numGroups must be positive and divide the C of x", f"{numGroups} groups, x {x.shape}",
                                 "choose a divisor of C, which must be at least 1"))
    fmt = need_float("x", x)
    allowed = [fmt] if fmt is FLOAT64 else [fmt, FLOAT32]
    for name, tensor in (("gamma", gamma), ("beta", beta)):
        need_shape(name, tensor, (channels,), "the channels of x")
    parameter = need_dtype("gamma", gamma, allowed, "that of x, or float32")
    need_dtype("beta", beta, [parameter], "that of gamma")
    depth = channels // numGroups
    canonical = (samples, numGroups, depth, prod(x.shape[2:]))
    return fmt, parameter, canonical, (samples, numGroups, 1, 1), (numGroups, depth, 1)


def arrange_backward(dy, mean, rstd, x, gamma, beta, numGroups, dataFormatOptional, swishScale, dgammaIsRequire,
                     dbetaIsRequire) -> Arranged:
    fmt, parameter, images, statistic, channel = _checked(x, gamma, beta, numGroups)
    need_shape("dy", dy, x.shape, "that of x")
    need_dtype("dy", dy, [fmt], "that of x")
    for name, tensor in (("mean", mean), ("rstd", rstd)):
        need_shape(name, tensor, images[:2], "N of x and numGroups")
        need_dtype(name, tensor, [parameter], "that of gamma")
    arrays = {"dy": dy.reshape(images), "mean": mean.reshape(statistic), "rstd": rstd.reshape(statistic),
              "x": x.reshape(images), "gamma": gamma.reshape(channel), "beta": beta.reshape(channel)}
    results = {"dxOut": Result(images, fmt, x.shape)}
    if dgammaIsRequire:
        results["dgammaOut"] = Result(channel, parameter, gamma.shape)
    if dbetaIsRequire:
        results["dbetaOut"] = Result(channel, parameter, gamma.shape)
    return Arranged(arrays, {"swishScale": swishScale}, results, compute_type(fmt))


def arrange_forward(x, gamma, beta, numGroups, eps, swishScale) -> Arranged:
    fmt, parameter, images, statistic, channel = _checked(x, gamma, beta, numGroups)
    results = {"y": Result(images, fmt, x.shape), "mean": Result(statistic, parameter, images[:2]),
               "rstd": Result(statistic, parameter, images[:2])}
    arrays = {"x": x.reshape(images), "gamma": gamma.reshape(channel), "beta": beta.reshape(channel)}
    return Arranged(arrays, {"eps": eps, "swishScale": swishScale}, results, compute_type(fmt))


OPERATOR = Operator(
    name="group_norm_swish",
    aclnn_name="aclnnGroupNormSwishGrad",
    parameters=(*map(Parameter, ("dy", "mean", "rstd", "x", "gamma", "beta")), Parameter("numGroups", "int"),
                Parameter("dataFormatOptional", "str", "NCHW"), Parameter("swishScale", "float", 1.0),
                Parameter("dgammaIsRequire", "bool", True), Parameter("dbetaIsRequire", "bool", True)),
    outputs=("dxOut", "dgammaOut", "dbetaOut"),
    forward_parameters=(*map(Parameter, ("x", "gamma", "beta")), Parameter("numGroups", "int"),
                        Parameter("eps", "float", 1e-5), Parameter("swishScale", "float", 1.0)),
    page=page,
    arrange_backward=arrange_backward,
    arrange_forward=arrange_forward,
    all_outputs={"dgammaIsRequire": True, "dbetaIsRequire": True},
)
