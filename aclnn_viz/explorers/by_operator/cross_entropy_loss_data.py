"""The explorer of the cross-entropy gradient, state and numbers: what may be moved, and what is computed of it.

What is varied: the logits, by their spread and by how far the target leads; class weights, ignored rows, label
smoothing, the reduction, gradLoss, the z-loss; the format and what computes the gradient. What is seen: xGradOut as a
map of rows and classes, with every target and every ignored row marked; the softmax of one row beside the distribution
that it is pulled to, and the gradient as their scaled difference; of which rows and weights the divisor of the mean is
made; how far each row of the gradient is from summing to 0, and from the truth.
What is understood: a row of the gradient is softmax minus target, times one number, so it sums to 0 whatever weights
and smoothing do; only a rounded logProb (the operator takes its exp for the softmax as it comes) and the z-loss break
that. Smoothing moves the place where the gradient vanishes below certainty. Weights enter twice, in the row and in the
divisor, and where nothing is left to divide by, the mean is 0/0: NaN everywhere.
"""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.explorers import fields
from aclnn_viz.explorers.arrays import XP, double
from aclnn_viz.explorers.device import computed_by, gradients, host
from aclnn_viz.explorers.state import check_indices, choice, real, whole
from aclnn_viz.operators import operator
from aclnn_viz.operators.products import ASCEND_950, PRODUCTS
from aclnn_viz.words.messages import message

OP = operator("cross_entropy_loss")
WEIGHTS = {
    "none": "none",
    "rising": "rising",
    "balanced": message("balanced by frequency"),
    "random": "random",
    "half": message("0 for odd classes"),
}


@dataclass(frozen=True)
class State:
    """What can be moved."""

    reduction: str = choice(
        "mean",
        {name: name for name in ("none", "mean", "sum")},
        "reduction",
        "Operator",
        names=True,
    )
    labelSmoothing: float = real(
        0.1,
        0.0,
        1.0,
        0.01,
        "labelSmoothing",
        "Operator",
        "the share of the target that all classes get",
    )
    weight: str = choice(
        "rising", WEIGHTS, "weightOptional", "Operator", "the weights of the classes"
    )
    ignoreIndex: int = whole(
        0, -100, 63, "ignoreIndex", "Operator", "rows with this target do not count"
    )
    lseSquareScaleForZloss: float = real(
        0.0, 0.0, 0.5, 0.01, "z-loss", "Operator", "lseSquareScaleForZloss"
    )
    dtype: str = fields.dtype()
    row: int = whole(3, 0, 63, "row", "Cell", below="rows")
    column: int = whole(2, 0, 63, "class", "Cell", below="classes")
    spread: float = real(
        1.5, 0.0, 20.0, 0.1, "spread", "Tensors", "the standard deviation of the logits"
    )
    lead: float = real(1.5, -10.0, 20.0, 0.1, "lead", "Tensors", "added to the logit of the target")
    ignored: float = real(
        0.15, 0.0, 1.0, 0.05, "ignored", "Tensors", "the share of rows whose target is ignoreIndex"
    )
    gradLoss: float = real(
        1.0,
        -4.0,
        4.0,
        0.05,
        "gradLoss",
        "Tensors",
        "for reduction none, times a number from 0.5 to 1.5 a row",
    )
    rows: int = whole(16, 1, 64, "N", "Tensors")
    classes: int = whole(10, 1, 64, "C", "Tensors")
    seed: int = fields.seed()
    device: str = fields.device()
    # The one product whose kernel smooths labels.
    soc: str = choice(
        ASCEND_950.example_soc,
        {p.example_soc: p.example_soc for p in PRODUCTS},
        "soc",
        "Device",
        "the product that the host emulates",
    )
    cann: str = fields.cann()
    plan: str = fields.plan()

    def __post_init__(self):
        check_indices(self)


@dataclass(frozen=True, eq=False)
class Data:
    """What is drawn; N rows, C classes. xGradOut of a row is `factor` times (softmax * the target's sum - target)."""

    xp: object
    state: State
    inputs: dict  # of op.backward
    computed_by: str
    softmax: np.ndarray  # (N, C): exp of the logProb that is given, which may not sum to 1
    counted: np.ndarray  # (N,), bool: not ignored
    weights: np.ndarray  # (C,)
    target: np.ndarray  # (N, C): one-hot, smoothed and weighted; 0 in ignored rows
    factor: np.ndarray  # (N,): gradLoss of the row over the divisor
    divisor: np.ndarray  # W: the weights of the targets of all rows that count
    xGradOut: np.ndarray  # (N, C)
    zloss: np.ndarray  # (N, C): what the z-loss adds by the documents
    errors: np.ndarray  # (N,): largest distance from the truth
    notices: tuple[str, ...]


def inputs(state: State, xp=XP, op=OP) -> dict:
    """Return the inputs of op.backward that a state stands for, with the logProb that its logits give."""
    shape = state.rows, state.classes
    rng = np.random.default_rng(state.seed)
    target = rng.integers(0, state.classes, state.rows)
    logits = state.spread * rng.standard_normal(shape)
    logits = xp.where(
        target[:, np.newaxis] == np.arange(state.classes), logits + state.lead, logits
    )
    first_ignored = rng.permutation(state.rows) < round(state.ignored * state.rows)
    target = np.where(first_ignored, state.ignoreIndex, target)
    upstream = xp.reshape(state.gradLoss, ())
    if state.reduction == "none":
        upstream = upstream * rng.uniform(0.5, 1.5, state.rows)
    attributes = {
        name: getattr(state, name)
        for name in ("reduction", "ignoreIndex", "labelSmoothing", "lseSquareScaleForZloss")
    }
    weight = _weight(state, target)
    saved = op.forward(
        input=xp.round_to(logits, state.dtype), target=target, weightOptional=weight, **attributes
    )
    zloss = state.lseSquareScaleForZloss != 0.0
    return {
        "gradLoss": xp.round_to(upstream, state.dtype),
        "logProb": saved["logProb"],
        "target": target,
        "weightOptional": weight,
        "lseForZlossOptional": saved["lseForZloss"] if zloss else None,
        **attributes,
    }


def _weight(state: State, target: np.ndarray) -> np.ndarray | None:
    classes = np.arange(state.classes)
    if state.weight == "none":
        return None
    if state.weight == "balanced":
        counted = target[target != state.ignoreIndex]
        weight = counted.size / state.classes / np.maximum((counted[:, None] == classes).sum(0), 1)
    else:
        weight = {
            "rising": np.linspace(0.5, 2.0, state.classes),
            "half": np.float64(classes % 2 == 0),
            "random": np.random.default_rng(state.seed + 1).uniform(0.25, 2.0, state.classes),
        }[state.weight]
    return np.float32(weight)


def compute(state: State, backward=host(OP)) -> Data:
    """Return what is drawn for a state; `backward(state, inputs)` returns the outputs of op.backward, and notices.

    Raises whatever `backward` raises. It is asked without the z-loss, which no product computes.
    """
    with np.errstate(all="ignore"):
        return data(XP, state, **gathered(state, backward))


def gathered(state: State, backward=host(OP), xp=XP, op=OP) -> dict:
    """Return what kernels make of a state, and their truth: the arguments of `data`."""
    given = inputs(state, xp, op)
    plain = given | {"lseForZlossOptional": None, "lseSquareScaleForZloss": 0.0}
    outputs, notices = gradients(op, state, plain, backward)
    right, with_zloss = op.truth(**plain)["xGradOut"], None
    if given["lseForZlossOptional"] is not None:
        with_zloss = op.truth(**given)["xGradOut"]
        notices += (
            message(
                "No product computes the z-loss: xGradOut is without it, and what the documents add to it is drawn "
                "beside it."
            ),
        )
    return {
        "given": given,
        "xGradOut": outputs["xGradOut"],
        "right": right,
        "with_zloss": with_zloss,
        "notices": notices,
    }


def data(xp, state: State, given: dict, xGradOut, right, with_zloss, notices=()) -> Data:
    """Return what is drawn of a state, of `given` inputs, what came out and what is `right`, all arrays of `xp` but the target."""
    xGradOut, target, weight = double(xp, xGradOut), given["target"], given["weightOptional"]
    counted = target != state.ignoreIndex
    weights = np.ones(state.classes) if weight is None else double(xp, weight)
    hit = counted[:, None] & (target[:, None] == np.arange(state.classes))
    own = xp.sum(weights * hit, axis=1)
    smoothing = state.labelSmoothing
    goal = (
        smoothing / state.classes * weights * counted[:, None] + (1.0 - smoothing) * weights * hit
    )
    divisor = xp.sum(own)
    factor = (
        double(xp, given["gradLoss"]) / (divisor if state.reduction == "mean" else 1.0) * counted
    )
    return Data(
        xp=xp,
        state=state,
        inputs=given,
        computed_by=computed_by(state),
        softmax=xp.exp(double(xp, given["logProb"])),
        counted=counted,
        weights=weights,
        target=goal,
        factor=factor,
        divisor=divisor,
        xGradOut=xGradOut,
        zloss=np.zeros(xGradOut.shape) if with_zloss is None else with_zloss - right,
        errors=xp.max(xp.abs(xGradOut - right), axis=1),
        notices=notices,
    )
