"""aclnnCrossEntropyLossGrad: logProb (N, C), target (N,), gradLoss (N,) for "none" and one number otherwise."""

import numpy as np

from aclnn_viz.arrays.driver import Result
from aclnn_viz.dtypes import FLOAT32, FLOAT64
from aclnn_viz.errors import problem
from aclnn_viz.kernels import cross_entropy_loss as page
from aclnn_viz.operators.operator import Arranged, Operator
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.shapes import compute_type, need_dtype, need_float, need_option, need_rank, need_shape

ATTRIBUTES = (Parameter("reduction", "str", "mean"), Parameter("ignoreIndex", "int", -100),
              Parameter("labelSmoothing", "float", 0.0), Parameter("lseSquareScaleForZloss", "float", 0.0))


def _check_rows(name, scores, target, weight, attributes):
    need_rank(name, scores, 2, 2)
    fmt = need_float(name, scores)
    rows, classes = scores.shape
    need_option("reduction", attributes["reduction"], ("none", "mean", "sum"))
    if not 0.0 <= attributes["labelSmoothing"] <= 1.0:
        raise ValueError(problem("labelSmoothing must lie in [0, 1]", f"{attributes['labelSmoothing']}", "mend it"))
    if target.dtype not in (np.int64, np.int32):
        raise TypeError(problem("target must be int64 or int32", f"{target.dtype}", "pass class numbers"))
    need_shape("target", target, (rows,), f"one class for each row of {name}")
    if weight is not None:
        need_shape("weightOptional", weight, (classes,), f"one weight for each column of {name}")
        need_dtype("weightOptional", weight, [FLOAT32, FLOAT64] if fmt is FLOAT64 else [FLOAT32], "whatever logProb is")
    bad = np.flatnonzero(((target < 0) | (target >= classes)) & (target != attributes["ignoreIndex"]))
    if bad.size:
        raise ValueError(problem(
            f"every target must lie in [0, {classes}) or equal ignoreIndex {attributes['ignoreIndex']}",
            f"target[{bad[0]}] = {target[bad[0]]} ({bad.size} such)", "mend the targets or set ignoreIndex"))
    return fmt, rows, classes


def _prelude(attributes):
    def prelude(page, xp, arrays):
        return page.divisors(xp, arrays["target"], arrays["weightOptional"], attributes["ignoreIndex"])
    return prelude


def _per_row(name, tensor, rows, reduction, fmt):
    """gradLoss or gradZloss as (N,) or, when the loss is one number, as (1,)."""
    need_dtype(name, tensor, [fmt], "that of logProb")
    if reduction == "none":
        need_shape(name, tensor, (rows,), 'one value a row for reduction "none"')
    elif tensor.shape not in ((), (1,)):
        raise ValueError(problem(f'{name} must be one number for reduction "{reduction}"', f"shape {tensor.shape}",
                                 'pass shape (), or use reduction "none"'))
    return tensor.reshape(-1)


def arrange_backward(gradLoss, logProb, target, weightOptional, gradZlossOptional, lseForZlossOptional,
                     **attributes) -> Arranged:
    fmt, rows, classes = _check_rows("logProb", logProb, target, weightOptional, attributes)
    arrays = {"gradLoss": _per_row("gradLoss", gradLoss, rows, attributes["reduction"], fmt), "logProb": logProb,
              "target": target, "weightOptional": weightOptional, "gradZlossOptional": None,
              "lseForZlossOptional": None}
    if gradZlossOptional is not None:
        arrays["gradZlossOptional"] = _per_row(
            "gradZlossOptional", gradZlossOptional, rows, attributes["reduction"], fmt)
    if lseForZlossOptional is not None:
        need_shape("lseForZlossOptional", lseForZlossOptional, (rows,), "one value for each row of logProb")
        need_dtype("lseForZlossOptional", lseForZlossOptional, [fmt], "that of logProb")
        arrays["lseForZlossOptional"] = lseForZlossOptional
    elif attributes["lseSquareScaleForZloss"] != 0.0:
        raise ValueError(problem("lseForZlossOptional is needed when lseSquareScaleForZloss is not 0", "None",
                                 "pass the lse that the forward operator saved"))
    results = {"xGradOut": Result((rows, classes), fmt, (rows, classes))}
    return Arranged(arrays, attributes, results, compute_type(fmt), prelude=_prelude(attributes))


def arrange_forward(input, target, weightOptional, **attributes) -> Arranged:
    fmt, rows, classes = _check_rows("input", input, target, weightOptional, attributes)
    if classes == 0:
        raise ValueError(problem("input must have at least one class", f"shape {input.shape}", "give it C >= 1"))
    single = attributes["reduction"] != "none"
    loss = Result((1,), fmt, ()) if single else Result((rows,), fmt, (rows,))
    results = {"loss": loss, "logProb": Result((rows, classes), fmt, (rows, classes)), "zloss": loss,
               "lseForZloss": Result((rows,), fmt, (rows,))}
    arrays = {"input": input, "target": target, "weightOptional": weightOptional}
    return Arranged(arrays, attributes, results, compute_type(fmt), page.REDUCED_AXES if single else page.AXES,
                    _prelude(attributes))


OPERATOR = Operator(
    name="cross_entropy_loss",
    aclnn_name="aclnnCrossEntropyLossGrad",
    parameters=(Parameter("gradLoss"), Parameter("logProb"), Parameter("target"),
                Parameter("weightOptional", default=None), Parameter("gradZlossOptional", default=None),
                Parameter("lseForZlossOptional", default=None), *ATTRIBUTES),
    outputs=("xGradOut",),
    forward_parameters=(Parameter("input"), Parameter("target"), Parameter("weightOptional", default=None),
                        *ATTRIBUTES),
    page=page,
    arrange_backward=arrange_backward,
    arrange_forward=arrange_forward,
)
