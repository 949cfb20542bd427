"""Wrong kernels of the gradient of group norm followed by swish."""

import numpy as np

from aclnn_viz.operators.faults.fault import HALF_SUMS, STRIDES, TRUNCATED, Fault
from aclnn_viz.operators.faults.fault import along, ends
from aclnn_viz.words.messages import message

ALONG = "xp.mean(dxhat * xhat, axis=GROUP, keepdims=True)"
SHIFT = "xp.mean(dxhat, axis=GROUP, keepdims=True)"
DX = "(dxhat - xhat * along - shift) * rstd"
DGAMMA = "xp.sum(dz * xhat, axis=(0, 3))[..., None]"
DBETA = "xp.sum(dz, axis=(0, 3))[..., None]"
SLOPE = "sigmoid * (1.0 + t * complement)"
ONE_SAMPLE = ("there is one sample", {"shape": (1, 4, 6)})
UNSCALED = ("gamma is 1", {"gamma": 1.0})


def sums(along, shift):
    return ((ALONG, along), (SHIFT, shift))


FAULTS = (
    Fault("missing 1/n", "the factor is missing in the documented formula", "groups of more than one element",
          sums("xp.sum(dxhat * xhat, axis=GROUP, keepdims=True)", "xp.sum(dxhat, axis=GROUP, keepdims=True)"),
          hidden=("a group has one element", {"shape": (3, 4), "numGroups": 4})),
    Fault("divided by n - 1", "the divisor of the unbiased variance", "groups of more than one element",
          sums("xp.sum(dxhat * xhat, axis=GROUP, keepdims=True) / max(x.shape[2] * x.shape[3] - 1, 1)",
               "xp.sum(dxhat, axis=GROUP, keepdims=True) / max(x.shape[2] * x.shape[3] - 1, 1)")),
    Fault("sums over the batch", "the two sums are taken from dgamma and dbeta, which add up the samples",
          "more than one sample",
          sums("xp.sum(dxhat * xhat, axis=(0, 2, 3), keepdims=True) / (x.shape[2] * x.shape[3])",
               "xp.sum(dxhat, axis=(0, 2, 3), keepdims=True) / (x.shape[2] * x.shape[3])"), hidden=ONE_SAMPLE),
    Fault("documented formula", "sums over the batch without 1/n, as the documentation prints it", "any group",
          sums("xp.sum(dxhat * xhat, axis=(0, 2, 3), keepdims=True)",
               "xp.sum(dxhat, axis=(0, 2, 3), keepdims=True)")),
    Fault("statistics of one channel", "the sums run over a channel, as in instance norm", "groups of several channels",
          sums("xp.mean(dxhat * xhat, axis=3, keepdims=True)", "xp.mean(dxhat, axis=3, keepdims=True)"),
          hidden=("a group has one channel", {"shape": (2, 3, 5), "numGroups": 3})),
    Fault("change of rstd forgotten", "rstd is taken for a constant", "groups of more than two elements",
          {DX: "(dxhat - shift) * rstd"}),
    Fault("change of the mean forgotten", "the mean is taken for a constant, as in RMS norm", "any dy",
          {DX: "(dxhat - xhat * along) * rstd"}),
    Fault("dy forgotten in the projection", "a forward mean is reused for the backward one", "dy that is not 1",
          {ALONG: "xp.mean(gamma * xhat, axis=GROUP, keepdims=True)"}),
    Fault("sigma for rstd", "the saved tensor is taken for the root itself", "rstd that is not 1",
          {DX: "(dxhat - xhat * along - shift) / rstd"}),
    Fault("last rstd forgotten", "the bracket is stored without its factor", "rstd that is not 1",
          {DX: "dxhat - xhat * along - shift"}),
    Fault("swish scale in one factor only", "the kernel of CANN before 9.1.0", "swishScale that is not 1",
          {SLOPE: "sigmoid * (1.0 + z * complement)"}, hidden=("swishScale is 1", {})),
    Fault("swish scale ignored", "the scale is never read", "swishScale that is not 1",
          {"xp.guard(s * z, ": "xp.guard(z, "}, hidden=("swishScale is 1", {})),
    Fault("swish skipped", "the gradient of the group norm alone", "any dy",
          {"dz = dy * swish_slope(xp, xhat * gamma + beta, swishScale)": "dz = dy"}),
    Fault("sigmoid for the swish slope", "the gate is taken for a constant", "z that is not 0", {SLOPE: "sigmoid"}),
    Fault("swish of x-hat", "gamma and beta are left out before the activation", "gamma not 1 or beta not 0",
          {"swish_slope(xp, xhat * gamma + beta, swishScale)": "swish_slope(xp, xhat, swishScale)"}),
    Fault("beta forgotten", "z is recomputed without beta", "beta that is not 0",
          {"swish_slope(xp, xhat * gamma + beta, swishScale)": "swish_slope(xp, xhat * gamma, swishScale)"},
          hidden=("beta is 0", {"beta": 0.0})),
    Fault("mean forgotten", "x-hat as in RMS norm", "a mean that is not 0",
          {"xhat = (x - mean) * rstd": "xhat = x * rstd"}),
    Fault("gamma forgotten in dx", "the gradient of the normalisation without the scale", "gamma that is not 1",
          {"dxhat = dz * gamma": "dxhat = dz"}, hidden=UNSCALED),
    Fault("gamma twice in the projection", "dz was scaled before, and is scaled again", "gamma that is not 1",
          {ALONG: "xp.mean(dxhat * gamma * xhat, axis=GROUP, keepdims=True)"}, hidden=UNSCALED),
    Fault("dgamma with gamma", "dz was scaled by gamma before", "gamma that is not 1",
          {DGAMMA: "xp.sum(dxhat * xhat, axis=(0, 3))[..., None]"}, hidden=UNSCALED),
    Fault("dgamma with x", "dgamma sums dz * x, not normalised", "x that is not normalised",
          {DGAMMA: "xp.sum(dz * x, axis=(0, 3))[..., None]"}),
    Fault("dgamma of the last sample", "each sample overwrites dgamma instead of adding to it", "more than one sample",
          {DGAMMA: "xp.sum(dz[-1:] * xhat[-1:], axis=(0, 3))[..., None]"}, hidden=ONE_SAMPLE),
    Fault("dbeta averaged", "the samples are averaged instead of summed", "more than one sample",
          {DBETA: "xp.sum(xp.mean(dz, axis=0), axis=2)[..., None]"}, hidden=ONE_SAMPLE),
    Fault("dbeta of dy", "the gradient of y itself, before the activation", "any dy",
          {DBETA: "xp.sum(dy, axis=(0, 3))[..., None]"}),
    Fault("exp overflows", "sigmoid as exp(t) / (1 + exp(t)): inf / inf", "t above 89 in float32",
          {"tail = xp.exp(-xp.abs(t))": "tail = xp.exp(t)",
           "    return xp.where(t < 0.0, small, large), xp.where(t < 0.0, large, small)":
           "    return small, large"}, hidden=("t is small", {})),
    HALF_SUMS, STRIDES, TRUNCATED,
)


def regions(values, output, shape):
    if output != "dxOut":
        return ends(shape, 0, message("channel"))
    group = np.arange(shape[1]) // max(shape[1] // values["numGroups"], 1)
    return {message("first group"): along(shape, 1, group == 0), message("other groups"): along(shape, 1, group > 0),
            **ends(shape, 0, message("sample"))}


# What usual tests feed.
USUAL_SHAPE = (2, 4, 4, 4)


def vendor_options(uniform, number):
    names = {"x": USUAL_SHAPE, "dy": USUAL_SHAPE, "gamma": (4,), "beta": (4,), "mean": (2, 2), "rstd": (2, 2)}
    return {name: uniform(-5, 5, *lengths) for name, lengths in names.items()} | {
        "numGroups": 2, "swishScale": float(uniform(0.1, 2))}

#: One of each kind: a wrong formula, one that is slightly wrong, and one that is seldom seen.
KINDS = {"formula": "missing 1/n", "slight": "divided by n - 1",
         "seldom": "dgamma of the last sample"}
