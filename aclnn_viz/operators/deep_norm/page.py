"""Formulas of layer normalisation of u = alpha * x + gx in rows, forward and backward, as array code to run and prove: y = (u - mean) * rstd * gamma + beta.

Source: aclnnDeepNormGrad, CANN operator documentation; mean and rstd are those of alpha * x + gx, not of x + gx.
"""

from aclnn_viz.operators.families.norms import moments, through

AXES = {
    "x": "r.",
    "gx": "r.",
    "beta": ".",
    "gamma": ".",
    "y": "r.",
    "meanOut": "r.",
    "rstdOut": "r.",
    "dy": "r.",
    "mean": "r.",
    "rstd": "r.",
    "dxOut": "r.",
    "dgxOut": "r.",
    "dbetaOut": ".",
    "dgammaOut": ".",
}


def forward(xp, x, gx, beta, gamma, alpha, epsilon):
    u = alpha * x + gx
    mean, rstd = moments(xp, u, epsilon, 1)
    return {"y": (u - mean) * rstd * gamma + beta, "meanOut": mean, "rstdOut": rstd}


def backward(xp, dy, x, gx, gamma, mean, rstd, alpha):
    xhat = (alpha * x + gx - mean) * rstd
    grad = through(xp, dy * gamma, xhat, rstd, 1)
    return {
        "dxOut": alpha * grad,
        "dgxOut": grad,
        "dbetaOut": xp.sum(dy, axis=0),
        "dgammaOut": xp.sum(dy * xhat, axis=0),
    }
