"""Formulas of group norm + swish, forward and backward, as array code to run and prove:
x-hat = (x - mean) * rstd, z = gamma * x-hat + beta, y = z * sigmoid(s * z).

x is (N, G, D, H): sample, group, channel of the group, position. mean and rstd are (N, G, 1, 1), one a sample and
group; gamma and beta are (G, D, 1).

Source: aclnnGroupNormSwishGrad, CANN operator documentation. It prints dx without the factor 1/n and takes its two
sums from the outputs, which add up the samples: both sums belong to one sample and one group.
"""

AXES = {
    "x": "ng..",
    "mean": "ng..",
    "rstd": "ng..",
    "gamma": "g..",
    "beta": "g..",
    "y": "ng..",
    "dy": "ng..",
    "dxOut": "ng..",
    "dgammaOut": "g..",
    "dbetaOut": "g..",
}
GROUP = (2, 3)


def forward(xp, x, gamma, beta, eps, swishScale):
    mean = xp.mean(x, axis=GROUP, keepdims=True)
    centred = x - mean
    rstd = 1.0 / xp.sqrt(xp.mean(centred * centred, axis=GROUP, keepdims=True) + eps)
    z = centred * rstd * gamma + beta
    sigmoid, _ = sigmoids(xp, swishScale * z)
    return {"y": z * sigmoid, "mean": mean, "rstd": rstd}


def sigmoids(xp, t):
    """Return sigmoid(t) and sigmoid(-t); 1 - sigmoid(t) would have no digits left for large t."""
    tail = xp.exp(-xp.abs(t))  # the exponent is never positive, so exp cannot overflow
    large, small = 1.0 / (1.0 + tail), tail / (1.0 + tail)
    return xp.where(t < 0.0, small, large), xp.where(t < 0.0, large, small)


def swish_slope(xp, z, s=1.0):
    """Return d/dz of z * sigmoid(s * z)."""
    # beyond these bounds the slope is 0 or 1 in every format; t * sigmoid(-t) would be inf * 0
    t = xp.guard(s * z, -2e4, 2e4)
    sigmoid, complement = sigmoids(xp, t)
    return sigmoid * (1.0 + t * complement)


FACTORS = {"swish": swish_slope}  # elementwise: it can be tested on every number of a 16-bit format


def backward(xp, dy, mean, rstd, x, gamma, beta, swishScale):
    xhat = (x - mean) * rstd
    dz = dy * swish_slope(xp, xhat * gamma + beta, swishScale)
    dxhat = dz * gamma
    along = xp.mean(dxhat * xhat, axis=GROUP, keepdims=True)  # part of the gradient through rstd
    shift = xp.mean(dxhat, axis=GROUP, keepdims=True)  # part of the gradient through the mean
    return {
        "dxOut": (dxhat - xhat * along - shift) * rstd,
        "dgammaOut": xp.sum(dz * xhat, axis=(0, 3))[..., None],
        "dbetaOut": xp.sum(dz, axis=(0, 3))[..., None],
    }
