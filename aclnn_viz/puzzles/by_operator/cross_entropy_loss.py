"""Puzzles on the gradient of cross entropy: softmax minus one-hot, who counts, by what is divided, and two extras;
and, in tiles, a target at the edge of a tile, and a sum of which each core has a part.
"""

import math

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.operators import operator
from aclnn_viz.operators.cross_entropy_loss import page
from aclnn_viz.puzzles.puzzle import Puzzle, Reads

XP = NumPyArrays()


def drawn(seed, rows, classes, *names, ignored=(), ignoreIndex=-100):
    """Log-probabilities of a softmax, targets of which some are ignored, weights that differ."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0.0, 2.0, (rows, classes))
    lse = np.log(np.sum(np.exp(logits), axis=1))
    target = rng.integers(0, classes, rows)
    target[list(ignored)] = ignoreIndex
    everything = {
        "gradLoss": np.asarray(rng.normal()),
        "gradZloss": rng.normal(size=rows),
        "logProb": logits - lse[:, None],
        "target": target,
        "weight": rng.uniform(0.3, 2.0, classes),
        "lse": lse,
        "ignoreIndex": ignoreIndex,
    }
    return {name: everything[name] for name in names}


def ce_softmax(logProb, target):
    """The gradient by the logits (N, C) of the sum over the rows of -logProb[target], through the Jacobian of the
    log-softmax: d logProb_j / d logit_c is (1 if j = c, else 0) - p_c."""
    grad = np.zeros_like(logProb)
    for n in range(logProb.shape[0]):
        for c in range(logProb.shape[1]):
            for j in range(logProb.shape[1]):
                upstream = -1.0 if j == target[n] else 0.0
                grad[n, c] += upstream * ((1.0 if j == c else 0.0) - math.exp(logProb[n, c]))
    return grad


def ce_target_weight(target, weight, ignoreIndex):
    """The weight of the target of every row (N,), and 0 for the rows whose target is ignoreIndex, whatever number that
    is."""
    weights = np.zeros(target.size)
    for n in range(target.size):
        if target[n] != ignoreIndex:
            weights[n] = weight[target[n]]
    return weights


def ce_divisor(target, weight, ignoreIndex):
    """What "mean" divides by: one number, the sum of the weights of the targets that count."""
    total = 0.0
    for n in range(target.size):
        if target[n] != ignoreIndex:
            total += weight[target[n]]
    return total


def ce_mean_gradient(gradLoss, logProb, target, weight, ignoreIndex):
    """The gradient by the logits (N, C) of the weighted mean of the losses; gradLoss is one number."""
    total = 0.0
    for n in range(target.size):
        if target[n] != ignoreIndex:
            total += weight[target[n]]
    grad = np.zeros_like(logProb)
    for n in range(target.size):
        if target[n] != ignoreIndex:
            for c in range(logProb.shape[1]):
                hit = 1.0 if c == target[n] else 0.0
                grad[n, c] = gradLoss * weight[target[n]] / total * (math.exp(logProb[n, c]) - hit)
    return grad


def ce_smoothing(logProb, target, weight, labelSmoothing):
    """The gradient by the logits (N, C) of the sum of smoothed losses: (1 - a) of the weight goes to the target, a / C
    of its own weight to every class."""
    rows, classes = logProb.shape
    grad = np.zeros_like(logProb)
    for n in range(rows):
        for j in range(classes):
            upstream = -labelSmoothing / classes * weight[j]
            if j == target[n]:
                upstream -= (1.0 - labelSmoothing) * weight[j]
            for c in range(classes):
                grad[n, c] += upstream * ((1.0 if j == c else 0.0) - math.exp(logProb[n, c]))
    return grad


def ce_zloss(gradZloss, logProb, lse, scale):
    """The gradient by the logits (N, C) of the z-loss, scale lse^2, of every row, given gradZloss (N,) and lse (N,);
    d lse / d logit_c is p_c."""
    grad = np.zeros_like(logProb)
    for n in range(logProb.shape[0]):
        of_the_square = gradZloss[n] * scale * (lse[n] + lse[n])
        for c in range(logProb.shape[1]):
            grad[n, c] = of_the_square * math.exp(logProb[n, c])
    return grad


def _kernel(**inputs):
    return operator("cross_entropy_loss").backward(**inputs)["xGradOut"]


def ignoring(*names):
    """No row ignored, one row, some ignored by -100, by a class, and by -1."""
    return (
        drawn(0, 5, 4, *names),
        drawn(1, 1, 3, *names),
        drawn(2, 6, 4, *names, ignored=(1, 4)),
        drawn(3, 7, 3, *names, ignored=(0, 5), ignoreIndex=2),
        drawn(4, 5, 4, *names, ignored=(2,), ignoreIndex=-1),
    )


def counting(*names):
    return tuple(
        drawn(seed, rows, classes, *names)
        for seed, rows, classes in ((0, 5, 4), (1, 1, 3), (2, 9, 6))
    )


def small(*names, **more):
    return drawn(7, 3, 3, *names, ignored=(1,) if "ignoreIndex" in names else ()) | more


PUZZLES = (
    Puzzle(
        ce_softmax,
        counting("logProb", "target"),
        lambda logProb, target: _kernel(
            gradLoss=np.ones(()), logProb=logProb, target=target, reduction="sum"
        ),
        picture=Reads(small("logProb", "target"), "grad", (0, 1)),
    ),
    Puzzle(
        ce_target_weight,
        ignoring("target", "weight", "ignoreIndex"),
        lambda target, weight, ignoreIndex: page.target_weight(
            XP, target, weight, ignoreIndex, weight
        ),
        picture=Reads(small("target", "weight", "ignoreIndex"), "weights", (0,)),
    ),
    Puzzle(
        ce_divisor,
        ignoring("target", "weight", "ignoreIndex"),
        lambda target, weight, ignoreIndex: page.divisors(XP, target, weight, ignoreIndex)[
            "weightSum"
        ],
        picture=Reads(small("target", "weight", "ignoreIndex"), "total", ()),
    ),
    Puzzle(
        ce_mean_gradient,
        ignoring("gradLoss", "logProb", "target", "weight", "ignoreIndex"),
        lambda weight, **inputs: _kernel(weightOptional=weight, reduction="mean", **inputs),
        picture=Reads(
            small("gradLoss", "logProb", "target", "weight", "ignoreIndex"), "grad", (0, 1)
        ),
    ),
    Puzzle(
        ce_smoothing,
        tuple(
            one | {"labelSmoothing": a}
            for a in (0.3, 0.0, 1.0)
            for one in counting("logProb", "target", "weight")
        ),
        lambda logProb, target, weight, labelSmoothing: _kernel(
            gradLoss=np.ones(()),
            logProb=logProb,
            target=target,
            weightOptional=weight,
            reduction="sum",
            labelSmoothing=labelSmoothing,
        ),
        picture=Reads(small("logProb", "target", "weight", labelSmoothing=0.3), "grad", (0, 1)),
    ),
    Puzzle(
        ce_zloss,
        tuple(one | {"scale": 0.2} for one in counting("gradZloss", "logProb", "lse")),
        lambda gradZloss, logProb, lse, scale: _kernel(
            gradLoss=np.zeros(len(lse)),
            logProb=logProb,
            target=np.zeros(len(lse), np.int64),
            gradZlossOptional=gradZloss,
            lseForZlossOptional=lse,
            lseSquareScaleForZloss=scale,
            reduction="none",
        ),
        picture=Reads(small("gradZloss", "logProb", "lse", scale=0.2), "grad", (0, 1)),
    ),
)

NONE = None


def target_lane(target, tileLength):
    """In which tile of a row the column target (n,) lies, and in which lane of it; both count from 0."""
    tile, lane = np.zeros_like(target), np.zeros_like(target)
    for i in range(target.size):
        lane[i] = target[i]
        while lane[i] >= tileLength:
            tile[i], lane[i] = tile[i] + 1, lane[i] - tileLength
    return tile, lane


TILE_PUZZLES = (Puzzle(target_lane),)
