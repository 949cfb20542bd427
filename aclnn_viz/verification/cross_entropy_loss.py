"""What is verified of cross entropy."""

from itertools import product

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.codes import ACL_INT8, ACL_INT64
from aclnn_viz.dtypes import FLOAT64
from aclnn_viz.operators import operator
from aclnn_viz.products import A2, A3, ASCEND_950
from aclnn_viz.verification.contract import HALVES_AND_FLOAT, INVALID, TILING, nulls
from aclnn_viz.verification.definitions import inlined

SHAPES = ((1, 1), (1, 5), (7, 2), (33, 17), (0, 3), (65, 257))
MODES = tuple({"reduction": reduction, "labelSmoothing": smoothing, "lseSquareScaleForZloss": scale} | weight
              for reduction, (smoothing, scale), weight in product(
                  ("none", "mean", "sum"), ((0.0, 0.0), (0.1, 0.0), (0.0, 0.25), (0.2, 0.1)),
                  ({}, {"weightOptional": None})))
#: A large case for the accuracy report: shape and mode.
REPORTED = ((400, 500), {"labelSmoothing": 0.1})


def draw(dtype, shape, mode, seed) -> dict:
    return case("cross_entropy_loss", dtype=dtype, shape=shape, seed=seed, **mode).inputs


def magnitudes(*, gradLoss, logProb, target, weightOptional=None, gradZlossOptional=None, lseForZlossOptional=None,
               reduction="mean", ignoreIndex=-100, labelSmoothing=0.0, lseSquareScaleForZloss=0.0) -> dict:
    """S of each output element: softmax part, one-hot part, smoothing and z-loss."""
    rows, classes = logProb.shape
    w = np.ones(classes) if weightOptional is None else weightOptional.astype(np.float64)
    m = (target != ignoreIndex).astype(np.float64)
    w_t = m * w[np.where(m > 0, target, 0)]
    total, w, w_t = np.sum(w_t), np.abs(w), np.abs(w_t)
    g = np.abs(np.broadcast_to(gradLoss.astype(np.float64), rows))
    # Weights of both signs cancel in their sum, whose error then counts as often.
    loss = (g / np.abs(total) * (np.sum(w_t) / np.abs(total)) if reduction == "mean" else g) * m
    p = np.exp(logProb.astype(np.float64))
    nll, smoothing = loss * (1 - labelSmoothing) * w_t, loss * labelSmoothing / classes
    s = p * (nll + smoothing * np.sum(w))[:, None] + smoothing[:, None] * w
    s[np.arange(rows)[m > 0], target[m > 0]] += nll[m > 0]
    if lseForZlossOptional is not None:
        gz = g if gradZlossOptional is None else g + np.abs(gradZlossOptional.astype(np.float64))
        gz = gz / np.sum(m) if reduction == "mean" else gz
        s += p * np.abs(2 * lseSquareScaleForZloss * lseForZlossOptional.astype(np.float64) * m * gz)[:, None]
    return {"xGradOut": s}


def smooth(rng, mode, forward=operator("cross_entropy_loss").forward):
    """A point, its loss by the given forward pass (z-loss counts once more, as an output), and the gradient there."""
    op = operator("cross_entropy_loss")
    target = np.array([0, 3, -100, 1, 2, 2])
    options = dict(mode) | {"target": target, "weightOptional": rng.uniform(0.5, 2, 5)}
    if "weightOptional" in mode:
        options["weightOptional"] = None
    point = {"input": 2 * rng.standard_normal((6, 5))}
    shape = (6,) if mode["reduction"] == "none" else ()
    seed, seed_z = np.asarray(rng.standard_normal(shape)), np.asarray(rng.standard_normal(shape))

    def loss(p):
        out = forward(**p, **options)
        return float(np.sum(seed * out["loss"]) + np.sum(seed_z * out["zloss"]))

    saved = op.forward(**point, **options)
    grad = op.backward(gradLoss=seed, logProb=saved["logProb"], gradZlossOptional=seed_z,
                       lseForZlossOptional=saved["lseForZloss"], **options)
    return point, loss, {"input": grad["xGradOut"]}


def small(mode, seed) -> dict:
    """A small case in float32 with ignored rows."""
    return draw("float32", (5, 4), mode, seed)


def symbols(inputs):
    """The sizes of the derived formulas, and the inputs by the names that stand in them, absent ones made neutral."""
    from derivations.cross_entropy_loss import C, N

    rows, classes = inputs["logProb"].shape
    neutral = {"weightOptional": np.ones(classes), "gradZlossOptional": np.zeros(inputs["gradLoss"].shape),
               "lseForZlossOptional": np.zeros(rows)}
    given = {name: value for name, value in inputs.items() if value is not None}
    return {N: rows, C: classes}, neutral | given


def symbolic_forward(*, input, target, weightOptional, reduction, **numbers) -> dict:
    """The definition that the gradient was derived from, evaluated: the loss of each row, then the reduction."""
    from derivations import evaluate

    rows, classes = input.shape
    values = {"x": input, "target": target, "ignoreIndex": -100, "N": rows, "C": classes, **numbers}
    values["weightOptional"] = np.ones(classes) if weightOptional is None else weightOptional

    def value(name):
        node, definition = inlined("cross_entropy_loss", name, "mean")
        return evaluate(definition, values, dict.fromkeys(node.indices, rows))

    loss, zloss = value("row"), value("zrow")
    if reduction == "mean":
        loss, zloss = loss / value("W"), zloss / value("count")
    if reduction != "none":
        loss, zloss = np.sum(loss), np.sum(zloss)
    return {"loss": loss + zloss, "zloss": zloss}


#: Formats that a call in one format may have, by product; all else is refused.
SUPPORTED = dict.fromkeys((A2, A3, ASCEND_950), HALVES_AND_FLOAT)
#: Arguments of phase 1 that pass: (shape, dtype) of tensors.
GOOD = dict(gradLoss=((),), logProb=((4, 3),), target=((4,), ACL_INT64), weightOptional=((3,),),
            gradZlossOptional=None, lseForZlossOptional=None, reduction="mean", ignoreIndex=-100,
            labelSmoothing=0.0, lseSquareScaleForZloss=0.0, xGradOut=((4, 3),))
#: (what is spoiled, the status of phase 1 on an Atlas A2 with CANN 9.1).
CLAUSES = (
    ({}, 0), *nulls("gradLoss logProb target xGradOut"), ({"weightOptional": None}, 0),
    ({"logProb": ((4, 3), ACL_INT8)}, INVALID), ({"target": ((4,), ACL_INT8)}, INVALID),
    ({"target": ((5,), ACL_INT64)}, TILING), ({"weightOptional": ((4,),)}, TILING), ({"reduction": None}, 0),
)


def plain(fmt) -> dict:
    """Negative targets are read unguarded before CANN 9.0, and refused on 950."""
    return {"ignoreIndex": 9} | ({"weightOptional": None} if fmt is FLOAT64 else {})
