"""Conventions of layer norm."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import SILENT, both, gradients, lost

DOCUMENT = "rstd and mean are inputs"
CODE = "ops-nn norm/layer_norm_grad_v3/op_host/op_api/aclnn_layer_norm_backward.cpp"
DY = np.array([[1.0, 2.0, -1.0], [0.5, -2.0, 1.0]])


def ours(x, eps=0.0, dy=DY, **given) -> dict:
    """The gradients for a weight of ones, with mean and rstd of the forward pass unless they are given."""
    op, x = operator("layer_norm"), np.asarray(x, np.float64)
    ones, shape = np.ones(x.shape[-1]), x.shape[-1:]
    saved = op.forward(input=x, normalizedShape=shape, weightOptional=ones, biasOptional=0 * ones, eps=eps)
    return op.backward(**{"gradOut": dy, "input": x, "normalizedShape": shape, "mean": saved["meanOut"],
                          "rstd": saved["rstdOut"], "weightOptional": ones, "biasOptional": 0 * ones} | given)


def theirs(torch, x, eps=0.0, dy=DY) -> dict:
    shape = np.shape(x)[-1:]
    return gradients(torch, lambda x, *parameters: torch.nn.functional.layer_norm(x, shape, *parameters, eps), dy,
                     gradInputOut=x, gradWeightOut=np.ones(shape), gradBiasOut=np.zeros(shape))


FLAT, LOST, NOTHING = np.full((2, 3), 4.0), [[np.nan, 1, 2], [1, 2, 4]], np.zeros((0, 3))
ONE = np.array([[1.0, 0, 0]])

row = both(ours, theirs)
CONVENTIONS = (
    row("zero divisor", "rows of equal numbers, eps = 0: rstd = inf; elements of each gradient that are nan",
        lambda of: lost(of(FLAT)), [6, 3, 0], SILENT, "0 * inf in x-hat", "the formula as printed: 0 * inf"),
    row("parameter", "rstd = -1, which no forward pass saves: gradients of x = [1, 2, 3], dy = [1, 0, 0]",
        lambda of: np.vstack(list(of([[1, 2, 3]], dy=ONE, rstd=-np.ones((1, 1))).values())),
        [[-1 / 3, 1 / 3, 0], [1, 0, 0], [1, 0, 0]], DOCUMENT, "rstd is taken as it is",
        "a kernel must be right for any rstd that it is given", "saves and reads its own"),
    row("parameter", "biasOptional is nan: elements of each gradient that are nan",
        lambda of: lost(of(DY, biasOptional=np.full(3, np.nan))), [0, 0, 0], "the bias is in no formula",
        "the bias is not read", "no formula reads it", "does not take the bias"),
    row("parameter", "weightOptional is null: gradInputOut of x = [1, 2, 3], dy = [1, 0, 0], rstd = 1",
        lambda of: of([[1, 2, 3]], dy=ONE, rstd=np.ones((1, 1)), weightOptional=None)["gradInputOut"][0],
        [1 / 3, -1 / 3, 0], "a null weight is ones", "a tensor of ones is made", "as documented",
        "a missing weight is ones"),
    row("not finite", "one element of input is nan: elements of each gradient that are nan", lambda of: lost(of(LOST)),
        [3, 3, 0], SILENT, "as the formula: mean and rstd of the row are nan",
        "the saved mean of that row is nan, and the gradient of the weight sums over the rows"),
    row("empty", "no rows, input of shape (0, 3): gradWeightOut and gradBiasOut",
        lambda of: list(of(NOTHING, dy=NOTHING).values())[1:], [[0, 0, 0], [0, 0, 0]], "empty tensors are not supported",
        f"filled with 0 ({CODE})", "an empty sum is 0"),
    row("empty", "nothing is asked for: the outputs",
        lambda of: ", ".join(of(DY, outputMask=(False, False, False))) or "none",
        "none", "outputMask tells what is put out", f"success, and nothing runs ({CODE})", "what is not asked for is absent",
        "has a mask of outputs"),
)
