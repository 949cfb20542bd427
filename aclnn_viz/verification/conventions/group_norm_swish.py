"""Conventions of group norm + swish."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import SILENT, Convention, gradient

KERNEL = "ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h"
TILING = "ops-nn norm/group_norm_swish_grad/op_host/group_norm_swish_grad_tiling.cpp"


def gradients(x, eps=0.0, swishScale=1.0, numGroups=1, beta=0.0, **given) -> dict:
    """The gradients for dy and gamma of ones, with mean and rstd of the forward pass."""
    op, x = operator("group_norm_swish"), np.asarray(x, np.float64)
    gamma = np.ones(x.shape[1])
    options = {"x": x, "gamma": gamma, "beta": gamma * beta, "numGroups": numGroups, "swishScale": swishScale}
    saved = op.forward(**options, eps=eps)
    return op.backward(dy=np.ones(x.shape), mean=saved["mean"], rstd=saved["rstd"], **options, **given)


def in_torch(x, eps=0.0, swishScale=1.0, numGroups=1, beta=0.0, by="x"):
    """PyTorch's gradient of z * sigmoid(s z), z its group_norm, by x, or by gamma or beta."""
    x = np.asarray(x, np.float64)

    def run(torch):
        start = {"x": x, "weight": np.ones(x.shape[1]), "bias": np.full(x.shape[1], beta)}
        fixed = {name: torch.tensor(value) for name, value in start.items()}

        def swish(t):
            given = fixed | {by: t}
            z = torch.nn.functional.group_norm(given["x"], numGroups, given["weight"], given["bias"], eps)
            return z * torch.sigmoid(swishScale * z)
        return gradient(torch, swish, start[by])
    return run


FLAT = [[[2.0, 2.0]]]
ONE = [[[5.0]]]
LOST = [[[np.nan, 1.0], [2.0, 4.0]], [[1.0, 2.0], [3.0, 5.0]]]

CONVENTIONS = (
    Convention("zero divisor", "a group of equal numbers, eps = 0: rstd = inf; dxOut", lambda: gradients(FLAT)["dxOut"],
               [[[np.nan] * 2]], SILENT, "0 * inf in x-hat", [[[np.nan] * 2]], "the formula as printed: 0 * inf",
               in_torch(FLAT)),
    Convention("zero divisor", "the same: dgammaOut", lambda: gradients(FLAT)["dgammaOut"], [np.nan], SILENT,
               "0 * inf in x-hat", [np.nan], "the formula as printed: 0 * inf", in_torch(FLAT, by="weight")),
    Convention("zero divisor", "a group of one element, eps = 1e-4: dxOut", lambda: gradients(ONE, 1e-4)["dxOut"],
               [[[0.0]]], SILENT, "0", "refuses groups of one element in training",
               "one element always normalises to 0"),
    Convention("parameter", "swishScale = 0: dbetaOut for x = [0, 2]", lambda: gradients(
        [[[0.0, 2.0]]], swishScale=0.0)["dbetaOut"], [1.0], "suggested value 1.0",
        f"taken: sigmoid is 1/2 ({TILING} has no check)", [1.0], "y = z / 2 is as good a function as any",
        in_torch([[[0.0, 2.0]]], swishScale=0.0, by="bias")),
    Convention("parameter", "swishScale = 2, whatever CANN it is: dgammaOut for x = [0, 2], eps = 0",
               lambda: gradients([[[0.0, 2.0]]], swishScale=2.0)["dgammaOut"], [1.18157],
               "T has the factor swishScale", f"kernels before 9.1.0 leave it out of T ({KERNEL}, tag by tag)",
               [1.18157],
               "the formula; a prediction for such a device leaves the factor out, and device.run refuses the call",
               in_torch([[[0.0, 2.0]]], swishScale=2.0, by="weight")),
    Convention("parameter", "z = 1e5 in the tail of the sigmoid, swishScale = -1: dxOut of a group of two",
               lambda: gradients([[[0.0, 2.0]]], swishScale=-1.0, beta=1e5)["dxOut"], [[[0.0, 0.0]]], SILENT,
               "exp overflows, and 1 / inf is 0", [[[0.0, 0.0]]],
               "the slope is 0 there; t * sigmoid(-t) must not become inf * 0",
               in_torch([[[0.0, 2.0]]], swishScale=-1.0, beta=1e5)),
    Convention("not finite", "one x of the first sample is nan, one group: elements of dxOut, dgammaOut, dbetaOut that "
               "are nan", lambda: [int(np.isnan(value).sum()) for value in gradients(LOST).values()], [4, 2, 2], SILENT,
               "as the formula: mean and rstd of the group are nan", [4, 2, 2],
               "the saved mean of that group is nan; the other sample keeps its dx",
               lambda torch: [int(np.isnan(in_torch(LOST, by=by)(torch)).sum()) for by in ("x", "weight", "bias")]),
    Convention("not finite", "beta = inf, and beta = -inf: dbetaOut for x = [0, 2], eps = 0", lambda: [
        gradients([[[0.0, 2.0]]], beta=end)["dbetaOut"] for end in (np.inf, -np.inf)], [[2.0], [0.0]],
               "s y - s y / (exp(-s y) + 1): inf - inf, and -inf / inf", f"nan: the formula as printed ({KERNEL})",
               [[np.nan], [np.nan]], "the slope of swish has the limits 1 and 0, and the kit returns them",
               lambda torch: [in_torch([[[0.0, 2.0]]], beta=end, by="bias")(torch) for end in (np.inf, -np.inf)]),
    Convention("empty", "no samples, x of shape (0, 2, 3): dgammaOut and dbetaOut",
               lambda: [gradients(np.zeros((0, 2, 3)))[name] for name in ("dgammaOut", "dbetaOut")], [[0, 0], [0, 0]],
               "empty tensors are not supported", "a plan for nothing: phase 1 succeeds, and phase 2 fails",
               [[0, 0], [0, 0]], "an empty sum is 0",
               lambda torch: [in_torch(np.zeros((0, 2, 3)), by=by)(torch) for by in ("weight", "bias")]),
    Convention("parameter", "dgammaIsRequire = false: names of the outputs",
               lambda: ", ".join(gradients(FLAT, dgammaIsRequire=False)), "dxOut, dbetaOut",
               "whether dgamma is to be output", f"a null dgammaOut is refused all the same; float32 is filled with 0, "
               f"16 bits are left as they were ({KERNEL})", "has a mask of outputs",
               "what is not asked for is absent, so that nobody reads it"),
)
