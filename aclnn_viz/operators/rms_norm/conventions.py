"""Conventions of rms norm."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import SILENT, both, gradients, lost

TILING = "ops-nn norm/rms_norm_grad/op_host/rms_norm_grad_tiling.cpp"
DY = np.array([[1.0, 2.0, -1.0], [0.5, -2.0, 1.0]])
FINITE = "inputs must not contain inf or nan on Atlas inference series; else nothing"


def ours(x, epsilon=0.0, dy=DY, **given) -> dict:
    """Both gradients for gamma of ones and, unless it is given, the rstd of the forward pass."""
    op, x = operator("rms_norm"), np.asarray(x, np.float64)
    gamma = np.ones(x.shape[-1])
    saved = op.forward(x=x, gamma=gamma, epsilon=epsilon)["rstd"]
    return op.backward(dy=dy, x=x, gamma=gamma, **{"rstd": saved} | given)


def theirs(torch, x, epsilon=0.0, dy=DY) -> dict:
    """Those of PyTorch's rms_norm, which computes rstd anew."""
    shape = np.shape(x)[-1:]
    return gradients(torch, lambda x, gamma: torch.nn.functional.rms_norm(x, shape, gamma, epsilon), dy,
                     dxOut=x, dgammaOut=np.ones(shape))


ZERO = [[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]]
LOST = [[np.nan, 1.0, 2.0], [1.0, 2.0, 2.0]]
WIDE = [[np.inf, 1.0, 2.0], [1.0, 2.0, 2.0]]
NOTHING = np.zeros((0, 3))

row = both(ours, theirs)
CONVENTIONS = (
    row("zero divisor", "a row of zeros, epsilon = 0: rstd = inf; dxOut of that row", lambda of: of(ZERO)["dxOut"][0],
        [np.nan] * 3, SILENT, "dy * gamma - (0 * inf) * mean, nan", "the formula as printed: 0 * inf"),
    row("zero divisor", "the same with epsilon = 1e-6: dxOut of that row is dy * gamma / sqrt(epsilon)",
        lambda of: of(ZERO, 1e-6)["dxOut"][0] / 1e3, [1, 2, -1], "the formula", "the formula", "the formula"),
    row("parameter", "rstd = -1, which no forward pass saves: gradients of x = [1, 2, 2], dy = [1, 0, 0]",
        lambda of: np.vstack(list(of([[1.0, 2, 2]], dy=np.array([[1.0, 0, 0]]), rstd=-np.ones((1, 1))).values())),
        [[-2 / 3, 2 / 3, 2 / 3], [-1, 0, 0]], "rstd is an input", "rstd is taken as it is",
        "a kernel must be right for any rstd that it is given", "computes rstd itself"),
    row("not finite", "x[0, 0] = nan: elements of dxOut and dgammaOut that are nan", lambda of: lost(of(LOST)), [3, 3],
        FINITE, "as the formula: rstd of the row is nan, and the sum over the rows, too",
        "the saved rstd of that row is nan, and dgamma sums over the rows"),
    row("not finite", "x[0, 0] = inf: rstd = 0; elements of dxOut and dgammaOut that are nan", lambda of: lost(of(WIDE)),
        [3, 1], FINITE, "as the formula: inf * 0 in x-hat",
        "x-hat is inf * 0 there, and every mean of the row is nan"),
    row("empty", "no rows, x of shape (0, 3): dgammaOut", lambda of: of(NOTHING, dy=NOTHING)["dgammaOut"], [0, 0, 0],
        "supported, by the newest document; older ones: not",
        f"561002 from the tiling, on Ascend 950 nan ({TILING}; op_kernel/arch35/rms_norm_grad_empty_dgamma.h)",
        "an empty sum is 0"),
    row("empty", "rows without elements, x of shape (2, 0): shapes of dxOut and dgammaOut",
        lambda of: ", ".join(str(value.shape) for value in of(NOTHING.reshape(2, 0), dy=NOTHING.reshape(2, 0)).values()),
        "(2, 0), (0,)", "supported, by the newest document; older ones: not", "success, and nothing runs",
        "nothing has no gradient", "refuses an empty normalized shape or returns nothing, by version"),
)
