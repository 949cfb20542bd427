"""Wrong kernels of the cross entropy gradient."""

import numpy as np

from aclnn_viz.operators.faults.fault import STRIDES, TRUNCATED, Fault
from aclnn_viz.words.messages import message

MASK = "xp.astype(target != ignoreIndex, like.dtype)"
WEIGHT_SUM = "xp.sum(target_weight(xp, target, weight, ignoreIndex, wide))"
NLL = "row_grad * (1.0 - labelSmoothing) * target_weight(xp, target, weightOptional, ignoreIndex, logProb)"
ROW = "row_grad = gradLoss * counted if reduction != \"mean\" else gradLoss / weightSum * counted"
SMOOTH = "smooth = row_grad * labelSmoothing / classes"
SOFTMAX = "softmax_grad = nll + smooth * xp.sum(weight)"
HOT = "grad = grad - xp.where(one_hot(xp, target, classes), nll[:, None], xp.zeros_like(logProb))"
Z_TERM = "2.0 * lseSquareScaleForZloss * lseForZlossOptional * counted * z_grad"
Z_MEAN = "z_grad = z_grad if reduction != \"mean\" else z_grad / rowCount"
UNWEIGHTED = ("there are no weights", {"weightOptional": None})
UNSMOOTHED = ("labelSmoothing is 0", {})
WITHOUT_Z = ("there is no z-loss", {})
SUMMED = ("reduction is sum", {"reduction": "sum"})
ALL_COUNT = ("no row is ignored", {"target": 1})

FAULTS = (
    Fault("mean over the counted rows", "the divisor of the mean counts rows instead of adding their weights",
          "weights and mean", {WEIGHT_SUM: "xp.sum(mask(xp, target, ignoreIndex, wide))"}, hidden=UNWEIGHTED),
    Fault("mean over all rows", "the divisor of the mean is N", "weights or ignored rows, and mean",
          {WEIGHT_SUM: "xp.sum(xp.ones(target.shape[0], dtype=xp.float64))"}, hidden=SUMMED),
    Fault("mean forgotten", "mean is treated as sum", "mean",
          {ROW: "row_grad = gradLoss * counted"}, hidden=SUMMED),
    Fault("ignored rows not zeroed", "the mask of ignored rows is not applied: they get their softmax", "ignored rows",
          {MASK: "xp.ones(target.shape[0], dtype=like.dtype)"}, hidden=ALL_COUNT),
    Fault("negative ignoreIndex not ignored", "rows are masked only if ignoreIndex >= 0, as in the vendor's golden",
          "rows with the target -100", {MASK: "xp.astype((target != ignoreIndex) | (ignoreIndex < 0), like.dtype)"},
          hidden=("ignoreIndex is positive", {"ignoreIndex": 2})),
    Fault("weights forgotten", "weightOptional is never read", "weights",
          {"    if weight is None:\n        return counted": "    if True:\n        return counted",
           "if weightOptional is None else weightOptional\n    softmax":
           "if True else weightOptional\n    softmax"}, hidden=UNWEIGHTED),
    Fault("weight of the column", "each column is scaled by its own weight instead of that of the target", "weights",
          {NLL: "row_grad * (1.0 - labelSmoothing) * counted",
           HOT: "grad = (grad - xp.where(one_hot(xp, target, classes), nll[:, None], xp.zeros_like(logProb)))"
                " * weight[None, :]"}, hidden=UNWEIGHTED),
    Fault("one-hot forgotten", "the softmax alone", "any counted row", {HOT: "grad = grad"}),
    Fault("one-hot off by one", "classes are counted from 1", "any counted row",
          {"== xp.arange(classes, dtype=target.dtype)[None, :]":
           "== xp.arange(classes, dtype=target.dtype)[None, :] + 1"}),
    Fault("sign flipped", "the gradient of the log-likelihood instead of the loss", "any counted row",
          {"return {\"xGradOut\": grad}": "return {\"xGradOut\": -grad}"}),
    Fault("exp forgotten", "logProb is taken for the softmax", "any counted row",
          {"grad = xp.exp(logProb) * softmax_grad": "grad = logProb * softmax_grad"}),
    Fault("softmax renormalised", "the softmax is computed again from logProb", "logProb whose rows do not sum to 1",
          {"grad = xp.exp(logProb) * softmax_grad":
           "grad = xp.exp(logProb) / xp.sum(xp.exp(logProb), axis=1, keepdims=True) * softmax_grad"},
          hidden=("logProb is a log-softmax", {})),
    Fault("1 - smoothing forgotten", "the smoothed part is added to the whole loss", "labelSmoothing that is not 0",
          {NLL: "row_grad * target_weight(xp, target, weightOptional, ignoreIndex, logProb)"}, hidden=UNSMOOTHED),
    Fault("smoothing ignored", "labelSmoothing is never read", "labelSmoothing that is not 0",
          {"    classes = logProb.shape[1]": "    classes, labelSmoothing = logProb.shape[1], 0.0"},
          hidden=UNSMOOTHED),
    Fault("smoothing without weights", "the smoothed part takes every class alike", "labelSmoothing and weights",
          {"if weightOptional is None else weightOptional\n    softmax":
           "if True else weightOptional\n    softmax"}, hidden=UNSMOOTHED),
    Fault("smoothing over C - 1", "the other classes share it, as in another definition", "labelSmoothing",
          {SMOOTH: "smooth = row_grad * labelSmoothing / max(classes - 1, 1)"}, hidden=UNSMOOTHED),
    Fault("smoothing not divided by C", "every class gets the whole of it", "labelSmoothing",
          {SMOOTH: "smooth = row_grad * labelSmoothing"}, hidden=UNSMOOTHED),
    Fault("smoothing missing in the softmax", "only the target distribution is smoothed, not the weight of the softmax",
          "labelSmoothing", {SOFTMAX: "softmax_grad = nll"}, hidden=UNSMOOTHED),
    Fault("z-loss ignored", "the tensors of the z-loss are never read, as on Atlas A2", "lseSquareScaleForZloss not 0",
          {Z_TERM: f"0.0 * {Z_TERM}"}, hidden=WITHOUT_Z),
    Fault("2 of the z-loss forgotten", "the square is differentiated without its 2", "lseSquareScaleForZloss not 0",
          {Z_TERM: Z_TERM.removeprefix("2.0 * ")}, hidden=WITHOUT_Z),
    Fault("z-loss in ignored rows", "the mask is not applied to the z-loss", "z-loss and ignored rows",
          {Z_TERM: Z_TERM.replace(" * counted", "")}, hidden=WITHOUT_Z),
    Fault("z-loss over the weights", "the mean of the z-loss divides by the sum of weights", "z-loss, weights and mean",
          {Z_MEAN: Z_MEAN.replace("rowCount", "weightSum")}, hidden=WITHOUT_Z),
    Fault("gradZloss forgotten", "the z-loss gets the gradient of the loss alone", "z-loss with a gradient of its own",
          {"z_grad = gradLoss if gradZlossOptional is None else gradLoss + gradZlossOptional": "z_grad = gradLoss"},
          hidden=WITHOUT_Z),
    Fault("gradLoss forgotten", "the gradient of the loss is taken for 1", "gradLoss that is not 1",
          {"    classes = logProb.shape[1]":
           "    classes, gradLoss = logProb.shape[1], xp.ones_like(gradLoss)"},
          hidden=("gradLoss is 1", {"gradLoss": 1.0})),
    Fault("gradLoss of the first row", "one number is read where there is one for each row", "reduction none",
          {"    classes = logProb.shape[1]": "    classes, gradLoss = logProb.shape[1], gradLoss[:1]"},
          hidden=SUMMED),
    Fault("zero where all rows are ignored", "no rows, no gradient, as in PyTorch; the device divides 0 by 0",
          "mean with all rows ignored",
          {"gradLoss / weightSum * counted": "gradLoss / (weightSum + (weightSum == 0.0)) * counted"},
          hidden=ALL_COUNT),
    STRIDES, TRUNCATED,
)


def regions(values, output, shape):
    target = values["target"][:, np.newaxis]
    ignored, hit = target == values["ignoreIndex"], target == np.arange(shape[1])
    return {message("ignored rows"): ignored, message("target columns"): hit & ~ignored,
            message("other columns"): ~hit & ~ignored}


# What usual tests feed.
USUAL_SHAPE = (16, 8)
ONES = {"gradLoss": 1.0, "input": 1.0, "weightOptional": 1.0, "target": 1}


def vendor_options(uniform, number):
    return {"logProb": uniform(-10, -1e-9, *USUAL_SHAPE), "reduction": ("mean", "sum", "none")[number % 3]}

#: One of each kind: a wrong formula, one that is slightly wrong, and one that is seldom seen.
KINDS = {"formula": "mean over all rows", "slight": "softmax renormalised",
         "seldom": "ignored rows not zeroed"}
