"""Conventions of group norm + swish."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import SILENT, both, gradients, lost

KERNEL = "ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h"
TILING = "ops-nn norm/group_norm_swish_grad/op_host/group_norm_swish_grad_tiling.cpp"


def ours(x, eps=0.0, swishScale=1.0, numGroups=1, beta=0.0, **given) -> dict:
    """The gradients for dy and gamma of ones, with mean and rstd of the forward pass."""
    op, x = operator("group_norm_swish"), np.asarray(x, np.float64)
    gamma = np.ones(x.shape[1])
    options = {"x": x, "gamma": gamma, "beta": gamma * beta, "numGroups": numGroups, "swishScale": swishScale}
    saved = op.forward(**options, eps=eps)
    return op.backward(dy=np.ones(x.shape), mean=saved["mean"], rstd=saved["rstd"], **options, **given)


def theirs(torch, x, eps=0.0, swishScale=1.0, numGroups=1, beta=0.0) -> dict:
    """PyTorch's of z * sigmoid(s z), z its group_norm."""
    def swish(*tensors):
        z = torch.nn.functional.group_norm(tensors[0], numGroups, *tensors[1:], eps)
        return z * torch.sigmoid(swishScale * z)

    ones = np.ones(np.shape(x)[1])
    return gradients(torch, swish, dxOut=x, dgammaOut=ones, dbetaOut=ones * beta)


FLAT = [[[2.0, 2.0]]]
ONE = [[[5.0]]]
TWO = [[[0.0, 2.0]]]
LOST = [[[np.nan, 1.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 5.0]]]

row = both(ours, theirs)
CONVENTIONS = (
    row("zero divisor", "a group of equal numbers, eps = 0: rstd = inf; dxOut", lambda of: of(FLAT)["dxOut"],
        [[[np.nan] * 2]], SILENT, "0 * inf in x-hat", "the formula as printed: 0 * inf"),
    row("zero divisor", "the same: dgammaOut", lambda of: of(FLAT)["dgammaOut"], [np.nan], SILENT, "0 * inf in x-hat",
        "the formula as printed: 0 * inf"),
    row("zero divisor", "a group of one element, eps = 1e-4: dxOut", lambda of: of(ONE, 1e-4)["dxOut"], [[[0.0]]], SILENT,
        "0", "one element always normalises to 0", "refuses groups of one element in training"),
    row("parameter", "swishScale = 0: dbetaOut for x = [0, 2]", lambda of: of(TWO, swishScale=0.0)["dbetaOut"], [1.0],
        "suggested value 1.0", f"taken: sigmoid is 1/2 ({TILING} has no check)", "y = z / 2 is as good a function as any"),
    row("parameter", "swishScale = 2, whatever CANN it is: dgammaOut for x = [0, 2], eps = 0",
        lambda of: of(TWO, swishScale=2.0)["dgammaOut"], [1.18157], "T has the factor swishScale",
        f"kernels before 9.1.0 leave it out of T ({KERNEL}, tag by tag)",
        "the formula; a prediction for such a device leaves the factor out, and device.run refuses the call"),
    row("parameter", "z = 1e5 in the tail of the sigmoid, swishScale = -1: dxOut of a group of two",
        lambda of: of(TWO, swishScale=-1.0, beta=1e5)["dxOut"], [[[0.0, 0.0]]], SILENT, "exp overflows, and 1 / inf is 0",
        "the slope is 0 there; t * sigmoid(-t) must not become inf * 0"),
    row("not finite", "one x of the first sample is nan, one group: elements of dxOut, dgammaOut, dbetaOut that are nan",
        lambda of: lost(of(LOST)), [4, 2, 2], SILENT, "as the formula: mean and rstd of the group are nan",
        "the saved mean of that group is nan; the other sample keeps its dx"),
    row("not finite", "beta = inf, and beta = -inf: dbetaOut for x = [0, 2], eps = 0",
        lambda of: [of(TWO, beta=end)["dbetaOut"] for end in (np.inf, -np.inf)], [[2.0], [0.0]],
        "s y - s y / (exp(-s y) + 1): inf - inf, and -inf / inf", f"nan: the formula as printed ({KERNEL})",
        "the slope of swish has the limits 1 and 0, and the kit returns them", [[np.nan], [np.nan]]),
    row("empty", "no samples, x of shape (0, 2, 3): dgammaOut and dbetaOut",
        lambda of: list(of(np.zeros((0, 2, 3))).values())[1:], [[0, 0], [0, 0]], "empty tensors are not supported",
        "a plan for nothing: phase 1 succeeds, and phase 2 fails", "an empty sum is 0"),
    row("parameter", "dgammaIsRequire = false: names of the outputs", lambda of: ", ".join(of(FLAT, dgammaIsRequire=False)),
        "dxOut, dbetaOut", "whether dgamma is to be output", f"a null dgammaOut is refused all the same; float32 is filled "
        f"with 0, 16 bits are left as they were ({KERNEL})", "what is not asked for is absent, so that nobody reads it",
        "has a mask of outputs"),
)
