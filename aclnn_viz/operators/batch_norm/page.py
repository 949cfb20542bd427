"""Formulas of batch normalisation, forward and backward, as array code to run and prove: y = (x - mean) * rstd * weight + bias per channel c of x (N, C, P).

In training the mean and rstd are those of the batch, saved as saveMean and saveInvstd; else they follow from the running ones,
which are constants.

Source: aclnnBatchNormBackward, CANN operator documentation; its saveVar with eps is saveInvstd, in which eps is already.
"""

from aclnn_viz.operators.families.norms import moments, through

AXES = {
    "input": ".c.",
    "weight": "c",
    "bias": "c",
    "runningMean": "c",
    "runningVar": "c",
    "output": ".c.",
    "meanOut": "c",
    "invstdOut": "c",
    "gradOut": ".c.",
    "saveMean": "c",
    "saveInvstd": "c",
    "gradInput": ".c.",
    "gradWeight": "c",
    "gradBias": "c",
}
CHANNEL = (0, 2)


def wide(channel):
    return channel[None, :, None]


def weighted(x, weight):
    return x if weight is None else x * wide(weight)


def forward(xp, input, weight, bias, runningMean, runningVar, training, eps):
    if training:
        mean, rstd = moments(xp, input, eps, CHANNEL)
    else:
        mean, rstd = wide(runningMean), 1.0 / xp.sqrt(wide(runningVar) + eps)
    return {
        "output": weighted((input - mean) * rstd, weight) + wide(bias),
        "meanOut": mean[0, :, 0],
        "invstdOut": rstd[0, :, 0],
    }


def backward(
    xp, gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, training, eps
):
    rstd = wide(saveInvstd) if training else 1.0 / xp.sqrt(wide(runningVar) + eps)
    xhat = (input - wide(saveMean if training else runningMean)) * rstd
    grad = weighted(gradOut, weight)
    return {
        "gradInput": through(xp, grad, xhat, rstd, CHANNEL) if training else grad * rstd,
        "gradWeight": xp.sum(gradOut * xhat, axis=CHANNEL),
        "gradBias": xp.sum(gradOut, axis=CHANNEL),
    }
