"""Conventions of layer norm."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.conventions.model import SILENT, Convention, gradient

DOCUMENT = "rstd and mean are inputs"
CODE = "ops-nn norm/layer_norm_grad_v3/op_host/op_api/aclnn_layer_norm_backward.cpp"
DY = np.array([[1.0, 2.0, -1.0], [0.5, -2.0, 1.0]])
EACH = ("input", "weight", "bias")


def gradients(x, eps=0.0, dy=DY, **given) -> dict:
    """The gradients for a weight of ones, with mean and rstd of the forward pass unless they are given."""
    op, x = operator("layer_norm"), np.asarray(x, np.float64)
    ones, shape = np.ones(x.shape[-1]), x.shape[-1:]
    saved = op.forward(input=x, normalizedShape=shape, weightOptional=ones, biasOptional=0 * ones, eps=eps)
    return op.backward(**{"gradOut": dy, "input": x, "normalizedShape": shape, "mean": saved["meanOut"],
                          "rstd": saved["rstdOut"], "weightOptional": ones, "biasOptional": 0 * ones} | given)


def in_torch(x, eps=0.0, dy=DY, by="input"):
    x = np.asarray(x, np.float64)

    def run(torch):
        start = {"input": x, "weight": np.ones(x.shape[-1]), "bias": np.zeros(x.shape[-1])}
        fixed = {name: torch.tensor(value) for name, value in start.items()}

        def normalised(t):
            given = fixed | {by: t}
            return torch.nn.functional.layer_norm(given["input"], x.shape[-1:], given["weight"], given["bias"], eps)
        return gradient(torch, normalised, start[by], dy)
    return run


def lost(values) -> list:
    return [int(np.isnan(value).sum()) for value in values]


FLAT, LOST, NOTHING = np.full((2, 3), 4.0), [[np.nan, 1, 2], [1, 2, 4]], np.zeros((0, 3))

CONVENTIONS = (
    Convention("zero divisor", "rows of equal numbers, eps = 0: rstd = inf; elements of each gradient that are nan",
               lambda: lost(gradients(FLAT).values()), [6, 3, 0], SILENT, "0 * inf in x-hat", [6, 3, 0],
               "the formula as printed: 0 * inf", lambda torch: lost(in_torch(FLAT, by=by)(torch) for by in EACH)),
    Convention("parameter", "rstd = -1, which no forward pass saves: gradients of x = [1, 2, 3], dy = [1, 0, 0]",
               lambda: np.vstack(list(gradients([[1, 2, 3]], dy=np.array([[1.0, 0, 0]]),
                                                rstd=-np.ones((1, 1))).values())),
               [[-1 / 3, 1 / 3, 0], [1, 0, 0], [1, 0, 0]], DOCUMENT, "rstd is taken as it is", "saves and reads its own",
               "a kernel must be right for any rstd that it is given"),
    Convention("parameter", "biasOptional is nan: elements of each gradient that are nan",
               lambda: lost(gradients(DY, biasOptional=np.full(3, np.nan)).values()), [0, 0, 0],
               "the bias is in no formula", "the bias is not read", "does not take the bias", "no formula reads it"),
    Convention("parameter", "weightOptional is null: gradInputOut of x = [1, 2, 3], dy = [1, 0, 0], rstd = 1",
               lambda: gradients([[1, 2, 3]], dy=np.array([[1.0, 0, 0]]), rstd=np.ones((1, 1)),
                                 weightOptional=None)["gradInputOut"][0], [1 / 3, -1 / 3, 0],
               "a null weight is ones", "a tensor of ones is made", "a missing weight is ones", "as documented"),
    Convention("not finite", "one element of input is nan: elements of each gradient that are nan",
               lambda: lost(gradients(LOST).values()), [3, 3, 0], SILENT,
               "as the formula: mean and rstd of the row are nan", [3, 3, 0],
               "the saved mean of that row is nan, and the gradient of the weight sums over the rows",
               lambda torch: lost(in_torch(LOST, by=by)(torch) for by in EACH)),
    Convention("empty", "no rows, input of shape (0, 3): gradWeightOut and gradBiasOut",
               lambda: [gradients(NOTHING, dy=NOTHING)[name] for name in ("gradWeightOut", "gradBiasOut")],
               [[0, 0, 0], [0, 0, 0]], "empty tensors are not supported", f"filled with 0 ({CODE})",
               [[0, 0, 0], [0, 0, 0]], "an empty sum is 0",
               lambda torch: [in_torch(NOTHING, dy=NOTHING, by=by)(torch) for by in ("weight", "bias")]),
    Convention("empty", "nothing is asked for: the outputs", lambda: ", ".join(gradients(
        DY, outputMask=(False, False, False))) or "none", "none", "outputMask tells what is put out",
        f"success, and nothing runs ({CODE})", "has a mask of outputs", "what is not asked for is absent"),
)
