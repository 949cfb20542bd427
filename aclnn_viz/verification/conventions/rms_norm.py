"""Conventions of rms norm."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import SILENT, Convention, gradient

TILING = "ops-nn norm/rms_norm_grad/op_host/rms_norm_grad_tiling.cpp"
DY = np.array([[1.0, 2.0, -1.0], [0.5, -2.0, 1.0]])
FINITE = "inputs must not contain inf or nan on Atlas inference series; else nothing"


def gradients(x, epsilon=0.0, dy=DY, **given) -> dict:
    """Both gradients for gamma of ones and, unless it is given, the rstd of the forward pass."""
    op, x = operator("rms_norm"), np.asarray(x, np.float64)
    gamma = np.ones(x.shape[-1])
    saved = op.forward(x=x, gamma=gamma, epsilon=epsilon)["rstd"]
    return op.backward(dy=dy, x=x, gamma=gamma, **{"rstd": saved} | given)


def in_torch(x, epsilon=0.0, dy=DY, by="x"):
    """PyTorch's gradient by x or gamma of its rms_norm, which computes rstd anew."""
    x = np.asarray(x, np.float64)

    def run(torch):
        def of_x(t):
            return torch.nn.functional.rms_norm(t, x.shape[-1:], eps=epsilon)

        def of_gamma(t):
            return torch.nn.functional.rms_norm(torch.tensor(x), x.shape[-1:], t, eps=epsilon)
        return gradient(torch, of_x, x, dy) if by == "x" else gradient(torch, of_gamma, np.ones(x.shape[-1]), dy)
    return run


ZERO = [[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]]
LOST = [[np.nan, 1.0, 2.0], [1.0, 2.0, 2.0]]
WIDE = [[np.inf, 1.0, 2.0], [1.0, 2.0, 2.0]]
NOTHING = np.zeros((0, 3))

CONVENTIONS = (
    Convention("zero divisor", "a row of zeros, epsilon = 0: rstd = inf; dxOut of that row",
               lambda: gradients(ZERO)["dxOut"][0], [np.nan] * 3, SILENT, "dy * gamma - (0 * inf) * mean, nan",
               [np.nan] * 3, "the formula as printed: 0 * inf", lambda torch: in_torch(ZERO)(torch)[0]),
    Convention("zero divisor", "the same with epsilon = 1e-6: dxOut of that row is dy * gamma / sqrt(epsilon)",
               lambda: gradients(ZERO, 1e-6)["dxOut"][0] / 1e3, [1, 2, -1], "the formula", "the formula", [1, 2, -1],
               "the formula", lambda torch: in_torch(ZERO, 1e-6)(torch)[0] / 1e3),
    Convention("parameter", "rstd = -1, which no forward pass saves: gradients of x = [1, 2, 2], dy = [1, 0, 0]",
               lambda: np.vstack(list(gradients([[1.0, 2, 2]], dy=np.array([[1.0, 0, 0]]),
                                                rstd=-np.ones((1, 1))).values())),
               [[-2 / 3, 2 / 3, 2 / 3], [-1, 0, 0]], "rstd is an input", "rstd is taken as it is",
               "computes rstd itself", "a kernel must be right for any rstd that it is given"),
    Convention("not finite", "x[0, 0] = nan: elements of dxOut and dgammaOut that are nan",
               lambda: [int(np.isnan(value).sum()) for value in gradients(LOST).values()], [3, 3], FINITE,
               "as the formula: rstd of the row is nan, and the sum over the rows, too", [3, 3],
               "the saved rstd of that row is nan, and dgamma sums over the rows",
               lambda torch: [int(np.isnan(in_torch(LOST, by=by)(torch)).sum()) for by in ("x", "gamma")]),
    Convention("not finite", "x[0, 0] = inf: rstd = 0; elements of dxOut and dgammaOut that are nan",
               lambda: [int(np.isnan(value).sum()) for value in gradients(WIDE).values()], [3, 1], FINITE,
               "as the formula: inf * 0 in x-hat", [3, 1], "x-hat is inf * 0 there, and every mean of the row is nan",
               lambda torch: [int(np.isnan(in_torch(WIDE, by=by)(torch)).sum()) for by in ("x", "gamma")]),
    Convention("empty", "no rows, x of shape (0, 3): dgammaOut", lambda: gradients(NOTHING, dy=NOTHING)["dgammaOut"],
               [0, 0, 0], "supported, by the newest document; older ones: not",
               f"561002 from the tiling, on Ascend 950 nan ({TILING}; op_kernel/arch35/rms_norm_grad_empty_dgamma.h)",
               [0, 0, 0], "an empty sum is 0", in_torch(NOTHING, dy=NOTHING, by="gamma")),
    Convention("empty", "rows without elements, x of shape (2, 0): shapes of dxOut and dgammaOut",
               lambda: ", ".join(str(value.shape) for value in gradients(
                   np.zeros((2, 0)), dy=np.zeros((2, 0))).values()), "(2, 0), (0,)",
               "supported, by the newest document; older ones: not", "success, and nothing runs",
               "refuses an empty normalized shape or returns nothing, by version", "nothing has no gradient"),
)
