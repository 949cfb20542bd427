"""Puzzles on the gradient of cross entropy: softmax minus one-hot, who counts, by what is divided, and two extras;
and, in tiles, a target at the edge of a tile, and a sum of which each core has a part.
"""

import math

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.puzzles.detective import Detective
from aclnn_viz.puzzles.puzzle import Curve, Puzzle, Reads
from aclnn_viz.puzzles.symptoms import table
from aclnn_viz.puzzles.tiles.detective import TileDetective
from aclnn_viz.operators import operator

from aclnn_viz.operators.cross_entropy_loss import page

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
        "Softmax minus one-hot",
        ("grad",),
        (
            "Only one j of the inner loop adds anything. Which?",
            "What is left for each c is p_c, less 1 at the target. logProb is the logarithm of p.",
            "hit = target[:, None] == np.arange(logProb.shape[1]); return np.exp(logProb) - ...",
        ),
        Reads(small("logProb", "target"), "grad", (0, 1)),
        counting("logProb", "target"),
        lambda logProb, target: _kernel(
            gradLoss=np.ones(()), logProb=logProb, target=target, reduction="sum"
        ),
    ),
    Puzzle(
        ce_target_weight,
        "Who counts",
        ("weights",),
        (
            "weight[target] looks up every row. What does it do where the target is -100?",
            "Look up an index that exists in the ignored rows, and replace the result by 0.",
            "counted = target != ignoreIndex; np.where(counted, weight[np.where(counted, target, 0)], ...)",
        ),
        Reads(small("target", "weight", "ignoreIndex"), "weights", (0,)),
        ignoring("target", "weight", "ignoreIndex"),
        lambda target, weight, ignoreIndex: page.target_weight(
            XP, target, weight, ignoreIndex, weight
        ),
    ),
    Puzzle(
        ce_divisor,
        "By what is divided",
        ("total",),
        (
            "It is not the number of rows, as soon as there are weights.",
            "Choose the rows that count first, then look up their weights, then add.",
            "return np.sum(weight[target[...]])",
        ),
        Reads(small("target", "weight", "ignoreIndex"), "total", ()),
        ignoring("target", "weight", "ignoreIndex"),
        lambda target, weight, ignoreIndex: page.divisors(XP, target, weight, ignoreIndex)[
            "weightSum"
        ],
    ),
    Puzzle(
        ce_mean_gradient,
        "The weighted mean",
        ("grad",),
        (
            "It is the product of three puzzles before: softmax minus one-hot, a weight of the row, a divisor.",
            "The weight of a row is that of its target: it needs a column axis, not a row axis.",
            "gradLoss * (w / np.sum(w))[:, None] * (np.exp(logProb) - hit), where w is 0 in ignored rows",
        ),
        Reads(small("gradLoss", "logProb", "target", "weight", "ignoreIndex"), "grad", (0, 1)),
        ignoring("gradLoss", "logProb", "target", "weight", "ignoreIndex"),
        lambda weight, **inputs: _kernel(weightOptional=weight, reduction="mean", **inputs),
    ),
    Puzzle(
        ce_smoothing,
        "Smoothed labels",
        ("grad",),
        (
            "Write the (N, C) array of what every class is to have, the target distribution times the weights.",
            "The gradient is p times the row sum of that array, minus the array itself.",
            "wanted = labelSmoothing / C * weight + (1 - labelSmoothing) * weight[target][:, None] * hit",
        ),
        Reads(small("logProb", "target", "weight", labelSmoothing=0.3), "grad", (0, 1)),
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
    ),
    Puzzle(
        ce_zloss,
        "The z-loss",
        ("grad",),
        (
            "The chain rule has three links: the square, the log-sum-exp, the row's gradient.",
            "The derivative of lse by the logits is the softmax, which is saved as a logarithm.",
            "return (2 * scale * ...)[:, None] * np.exp(logProb)",
        ),
        Reads(small("gradZloss", "logProb", "lse", scale=0.2), "grad", (0, 1)),
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
    ),
)

NO_WEIGHTS = {"weightOptional": None}

DETECTIVES = (
    Detective(
        6,
        "by_what",
        "cross_entropy_loss",
        "Divided by what?",
        "Some means are wrong, in every row that counts. Sums never are.",
        (
            ("mean", {}),
            ("mean, no weights", NO_WEIGHTS),
            ("mean, no row ignored", {"target": 1}),
            ("mean, no weights, no row ignored", NO_WEIGHTS | {"target": 1}),
            ("sum", {"reduction": "sum"}),
            ("none", {"reduction": "none"}),
        ),
        table,
        (
            "mean forgotten",
            "weights forgotten",
            "mean over all rows",
            "mean over the counted rows",
            "weight of the column",
        ),
        (
            "Sums are right, with weights and ignored rows: what is left that only a mean has?",
            "Without weights it is right, though rows are ignored.",
            "So rows are counted rightly, but not weighed.",
        ),
        "mean over the counted rows",
    ),
)


def target_lane(target, tileLength):
    """In which tile of a row the column target (n,) lies, and in which lane of it; both count from 0."""
    tile, lane = np.zeros_like(target), np.zeros_like(target)
    for i in range(target.size):
        lane[i] = target[i]
        while lane[i] >= tileLength:
            tile[i], lane[i] = tile[i] + 1, lane[i] - tileLength
    return tile, lane


TILE_PUZZLES = (
    Puzzle(
        target_lane,
        "Where the target lies",
        ("tile", "lane"),
        (
            "The first column of the second tile is no longer in the first.",
            "A whole division, and its remainder.",
            "return target // tileLength, target % ...",
        ),
        Curve("target", 0.0, 300.0, ({"tileLength": 64.0},), (64.0, 128.0, 192.0)),
        (
            {"target": np.array([0.0, 1.0, 63.0, 64.0, 65.0, 128.0, 299.0]), "tileLength": 64.0},
            {"target": np.array([6847.0, 6848.0, 6849.0]), "tileLength": 6848.0},
        ),
    ),
)

TILE_DETECTIVES = (
    TileDetective(
        3,
        "alone",
        "cross_entropy_loss",
        "Best when alone",
        "A mean over all rows. The more cores help, the larger the gradients become.",
        (
            ("mean, 1 core", {"shape": (9, 20), "cores": 1}),
            ("mean, 3 cores", {"shape": (9, 20), "cores": 3}),
            ("sum, 3 cores", {"shape": (9, 20), "cores": 3, "reduction": "sum"}),
            ("mean, 3 cores, 100 classes", {"shape": (9, 100), "cores": 3, "labelSmoothing": 0.3}),
        ),
        table,
        (
            "weights of the first tile",
            "column tile of zero",
            "own rows alone",
            "target at a tile's edge",
        ),
        (
            "Which of the three changes: cores, reduction, classes?",
            "Without a mean nothing is divided, and it is right.",
            "By what does a core divide that knows its own rows only?",
        ),
        "own rows alone",
    ),
)
