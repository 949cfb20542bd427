"""Formulas of group normalisation, forward and backward, as array code to run and prove:
y = gamma * x-hat + beta, where x-hat = (x - mean) * rstd of each sample and group.

x is (N, G, D, H): sample, group, channel of the group, position; mean and rstd are (N, G).

Source: aclnnGroupNormBackward, CANN operator documentation. It prints gradInput with gamma before the bracket and the sums of
gradBetaOut and gradGammaOut in it: both sums belong to one sample and one group, and gamma stands in them.
"""

from aclnn_viz.operators.families.norms import moments, through

AXES = {
    "input": "ng..",
    "gamma": "g.",
    "beta": "g.",
    "output": "ng..",
    "meanOut": "ng",
    "rstdOut": "ng",
    "gradOut": "ng..",
    "mean": "ng",
    "rstd": "ng",
    "gradInput": "ng..",
    "gradGammaOut": "g.",
    "gradBetaOut": "g.",
}
GROUP = (2, 3)


def weighted(x, gamma):
    return x if gamma is None else x * gamma[None, :, :, None]


def forward(xp, input, gamma, beta, eps):
    mean, rstd = moments(xp, input, eps, GROUP)
    scaled = weighted((input - mean) * rstd, gamma)
    return {
        "output": scaled + beta[None, :, :, None],
        "meanOut": mean[:, :, 0, 0],
        "rstdOut": rstd[:, :, 0, 0],
    }


def backward(xp, gradOut, input, mean, rstd, gamma):
    rstd = rstd[:, :, None, None]
    xhat = (input - mean[:, :, None, None]) * rstd
    return {
        "gradInput": through(xp, weighted(gradOut, gamma), xhat, rstd, GROUP),
        "gradGammaOut": xp.sum(gradOut * xhat, axis=(0, 3)),
        "gradBetaOut": xp.sum(gradOut, axis=(0, 3)),
    }
