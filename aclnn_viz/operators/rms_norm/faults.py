"""Wrong kernels of the RMS norm gradient."""

import numpy as np

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.operators.faults.fault import HALF_SUMS, STRIDES, TRUNCATED, Fault
from aclnn_viz.operators.faults.fault import ends
from aclnn_viz.words.messages import message

MEAN = "xp.mean(dy * gamma * xhat, axis=-1, keepdims=True)"
DX = "(dy * gamma - xhat * projection(xp, dy, xhat, gamma)) * rstd"
DGAMMA = "xp.sum(dy * xhat, axis=0)"


def mean(text):
    return ((MEAN, text),)


def dx(text):
    return ((DX, text),)


def dgamma(text):
    return ((DGAMMA, text),)


def recomputed(text):
    return (("    xhat = normalised(x, rstd)\n    return {", f"    rstd = {text}\n    xhat = normalised(x, rstd)\n    "
             "return {"),)


FAULTS = (
    Fault("missing 1/n", "the row mean is written as a row sum", "rows of more than one element",
          mean("xp.sum(dy * gamma * xhat, axis=-1, keepdims=True)"), hidden=("n = 1", {"shape": (4, 1)})),
    Fault("divided by n - 1", "the divisor of the unbiased variance", "rows of more than one element",
          mean("xp.sum(dy * gamma * xhat, axis=-1, keepdims=True) / max(x_hat_length(xhat) - 1, 1)") + (
              ("def projection(", "def x_hat_length(xhat):\n    return xhat.shape[-1]\n\n\ndef projection("),)),
    Fault("projection missing", "rstd is taken for a constant", "any dy that is not orthogonal to x",
          dx("dy * gamma * rstd"), hidden=("dy is 0", {"dy": 0.0})),
    Fault("dy forgotten in the projection", "the forward mean is reused for the backward one", "dy that is not 1",
          mean("xp.mean(gamma * xhat, axis=-1, keepdims=True)"), hidden=("dy is 1", {"dy": 1.0})),
    Fault("gamma forgotten in the projection", "the mean is taken of dy instead of dy * gamma", "gamma that is not 1",
          mean("xp.mean(dy * xhat, axis=-1, keepdims=True)"), hidden=("gamma is 1", {"gamma": 1.0})),
    Fault("gamma forgotten in dx", "the gradient of the normalisation without the scale", "gamma that is not 1",
          dx("(dy - xhat * projection(xp, dy, xhat, gamma)) * rstd"), hidden=("gamma is 1", {"gamma": 1.0})),
    Fault("gamma twice in the projection", "dy was scaled before, and is scaled again", "gamma that is not 1",
          mean("xp.mean(dy * gamma * gamma * xhat, axis=-1, keepdims=True)"), hidden=("gamma is 1", {"gamma": 1.0})),
    Fault("x for x-hat", "the projection is taken along x, not along the normalised x", "rstd that is not 1",
          dx("(dy * gamma - x * projection(xp, dy, xhat, gamma)) * rstd")),
    Fault("sigma for rstd", "the saved tensor is taken for the root itself", "rstd that is not 1",
          dx("(dy * gamma - xhat * projection(xp, dy, xhat, gamma)) / rstd")),
    Fault("last rstd forgotten", "the bracket is stored without its factor", "rstd that is not 1",
          dx("dy * gamma - xhat * projection(xp, dy, xhat, gamma)")),
    Fault("rstd squared", "the factor is applied in the loop and again at the store", "rstd that is not 1",
          dx("(dy * gamma - xhat * projection(xp, dy, xhat, gamma)) * rstd * rstd")),
    Fault("sign of the projection", "plus for minus", "any dy that is not orthogonal to x",
          dx("(dy * gamma + xhat * projection(xp, dy, xhat, gamma)) * rstd"), hidden=("dy is 0", {"dy": 0.0})),
    Fault("eps outside the root", "rstd is recomputed as 1 / (rms + eps)", "rows that are not much larger than eps",
          recomputed("1.0 / (xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True)) + 1e-6)")),
    Fault("rstd recomputed without eps", "the saved rstd is not read", "rows that are not much larger than eps",
          recomputed("1.0 / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True))")),
    Fault("one mean for all rows", "the sum runs over the whole tile", "more than one row",
          mean("xp.mean(dy * gamma * xhat)"), hidden=("there is one row", {"shape": (1, 16)})),
    Fault("dgamma of the last row", "each row overwrites dgamma instead of adding to it", "more than one row",
          dgamma("(dy * xhat)[-1]"), hidden=("there is one row", {"shape": (1, 16)})),
    Fault("dgamma averaged", "the rows are averaged instead of summed", "more than one row",
          dgamma("xp.mean(dy * xhat, axis=0)"), hidden=("there is one row", {"shape": (1, 16)})),
    Fault("dgamma with x", "dgamma sums dy * x, without rstd", "rstd that is not 1", dgamma("xp.sum(dy * x, axis=0)")),
    Fault("dgamma with gamma", "dy was scaled by gamma before", "gamma that is not 1",
          dgamma("xp.sum(dy * gamma * xhat, axis=0)"), hidden=("gamma is 1", {"gamma": 1.0})),
    Fault("tail of the row forgotten", "only whole tiles of 16 are summed", "n that 16 does not divide",
          mean("xp.sum((dy * gamma * xhat)[:, :xhat.shape[1] // 16 * 16], axis=-1, keepdims=True) / xhat.shape[1]"),
          hidden=("16 divides n", {"shape": (4, 32)})),
    Fault("x-hat rounded to 16 bits", "an intermediate is stored in the format of the inputs", "16-bit inputs",
          {"    xhat = normalised(x, rstd)\n    return {":
           "    xhat = xp.to_storage(normalised(x, rstd))\n    return {"},
          plan=Plan("x-hat in 16 bits"), hidden=("the format is float32", {})),
    HALF_SUMS, STRIDES, TRUNCATED,
)


def regions(values, output, shape):
    found = ends(shape, -1 % len(shape), message("column")) if shape else {}
    if output == "dxOut":
        lead = len(shape) - values["gamma"].ndim
        row = np.arange(values["rstd"].size).reshape(values["rstd"].shape[:lead] + (1,) * values["gamma"].ndim)
        found |= {message("first row"): row == 0, message("last row"): row == values["rstd"].size - 1,
                  message("rows between"): (row > 0) & (row < values["rstd"].size - 1)}
    return found


# What usual tests feed.
USUAL_SHAPE = (8, 16)


def vendor_options(uniform, number):
    return {"x": uniform(-5, 5, *USUAL_SHAPE), "dy": uniform(-5, 5, *USUAL_SHAPE),
            "rstd": uniform(0, 5, USUAL_SHAPE[0], 1)}

#: One of each kind: a wrong formula, one that is slightly wrong, and one that is seldom seen.
KINDS = {"formula": "missing 1/n", "slight": "divided by n - 1",
         "seldom": "tail of the row forgotten"}
