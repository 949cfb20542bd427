"""Formulas of RMS normalisation of rows, forward and backward, as array code to run and prove: y = gamma * x * rstd, rstd = 1 / sqrt(mean(x^2) + epsilon).

Source: aclnnRmsNormGrad, CANN operator documentation; it prints dgamma without the sum over the rows.
"""

AXES = {
    "x": "r.",
    "gamma": ".",
    "y": "r.",
    "rstd": "r.",
    "dy": "r.",
    "dxOut": "r.",
    "dgammaOut": ".",
}


def forward(xp, x, gamma, epsilon):
    rstd = 1.0 / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + epsilon)
    return {"y": normalised(x, rstd) * gamma, "rstd": rstd}


def normalised(x, rstd):
    """Return x-hat. The saved rstd (rows, 1) is used, never recomputed: a kernel must be right for any given rstd."""
    return x * rstd


def projection(xp, dy, xhat, gamma):
    """Return the row mean of dy * gamma * x-hat (rows, 1): the part of the gradient along x.

    dx lacks this part, because scaling a row leaves the output (nearly) unchanged.
    """
    return xp.mean(dy * gamma * xhat, axis=-1, keepdims=True)


def backward(xp, dy, x, rstd, gamma):
    xhat = normalised(x, rstd)
    return {
        "dxOut": (dy * gamma - xhat * projection(xp, dy, xhat, gamma)) * rstd,
        "dgammaOut": xp.sum(dy * xhat, axis=0),
    }
