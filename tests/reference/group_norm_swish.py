"""Group norm followed by swish: y = u sigmoid(s u), u = xhat gamma + beta, xhat = (x - mean) rstd, s = swishScale.

mean and rstd belong to a sample and a group of C / numGroups channels with n = C / numGroups * HxW elements.
"""

import math

import numpy as np

from .exact import divide, each, exact, inverse_root, mp, zeros


def sigmoid(z):
    return 1 / (1 + each(mp.exp, -z))


def by_group(x, numGroups):
    """Return x (N, C, ...) as (N, numGroups, n), and the channel of an element given its group and place."""
    channels, pixels = x.shape[1] // numGroups, math.prod(x.shape[2:])
    return x.reshape(
        x.shape[0], numGroups, channels * pixels
    ), lambda group, k: group * channels + k // pixels


def forward(*, x, gamma, beta, numGroups, eps=1e-5, swishScale=1.0):
    """Return `y` (as x), `mean` and `rstd` (N, numGroups), rstd = 1 / sqrt(biased variance + eps)."""

    def by_channel(given):
        return exact(given).reshape(-1, *[1] * (np.ndim(x) - 2))

    values, _ = by_group(exact(x), numGroups)
    count = max(values.shape[2], 1)
    means = np.sum(values, axis=2, keepdims=True) / count
    rstds = inverse_root(np.sum((values - means) ** 2, axis=2, keepdims=True) / count + mp.mpf(eps))
    xhat = ((values - means) * rstds).reshape(np.shape(x))
    u = xhat * by_channel(gamma) + by_channel(beta)
    y = u * sigmoid(mp.mpf(swishScale) * u)
    return {"y": y, "mean": means[..., 0], "rstd": rstds[..., 0]}


def backward(
    *,
    dy,
    mean,
    rstd,
    x,
    gamma,
    beta,
    numGroups,
    dataFormatOptional="NCHW",
    swishScale=1.0,
    dgammaIsRequire=True,
    dbetaIsRequire=True,
):
    """Return `dxOut`, and `dgammaOut` and `dbetaOut` if their flags are on.

    mean and rstd are used as given. du = dy sigmoid(s u) (1 + s u (1 - sigmoid(s u))), and within a sample and group
    dx = rstd (du gamma - xhat / n sum(gamma du xhat) - 1 / n sum(gamma du)); dgamma = sum(du xhat) and dbeta = sum(du)
    run over all samples. dataFormatOptional is not read: channels are axis 1.
    """
    dx, dgamma, dbeta = [], zeros(np.shape(gamma)), zeros(np.shape(beta))
    for c, _, _, r, dys, g, xhat, u in groups_of(dy, mean, rstd, x, gamma, beta, numGroups):
        z = mp.mpf(swishScale) * u
        du = dys * sigmoid(z) * (1 + z * sigmoid(-z))
        projection, shift = divide(np.sum(g * du * xhat), u.size), divide(np.sum(g * du), u.size)
        np.add.at(dgamma, c, du * xhat)
        np.add.at(dbeta, c, du)
        dx.append(r * (du * g - xhat * projection - shift))
    dx = exact(dx).reshape(np.shape(x))
    return wanted(dx, dgamma, dbeta, dgammaIsRequire, dbetaIsRequire)


def groups_of(dy, mean, rstd, x, gamma, beta, numGroups):
    """Yield (channels of the elements, x, mean, rstd, dy, gamma, xhat, u) of every sample and group."""
    values, channel = by_group(exact(x), numGroups)
    dys, _ = by_group(exact(dy), numGroups)
    gamma, beta = exact(gamma), exact(beta)
    means, rstds = exact(mean).reshape(values.shape[:2]), exact(rstd).reshape(values.shape[:2])
    for at in np.ndindex(means.shape):
        c = np.array([channel(at[1], k) for k in range(values.shape[2])], int)
        xhat = (values[at] - means[at]) * rstds[at]
        yield (
            c,
            values[at],
            means[at],
            rstds[at],
            dys[at],
            gamma[c],
            xhat,
            xhat * gamma[c] + beta[c],
        )


def wanted(dx, dgamma, dbeta, dgammaIsRequire, dbetaIsRequire):
    out = {"dxOut": dx}
    if dgammaIsRequire:
        out["dgammaOut"] = dgamma
    if dbetaIsRequire:
        out["dbetaOut"] = dbeta
    return out


def terms(
    *,
    x,
    beta,
    dataFormatOptional="NCHW",
    swishScale=1.0,
    dgammaIsRequire=True,
    dbetaIsRequire=True,
    **given,
):
    """Return S of `dxOut`, `dgammaOut` and `dbetaOut`; the time grows with n^2.

    du counts as its two terms, D = |dy| sigmoid (1 + |s u| (1 - sigmoid)). Terms of dx_i: |rstd gamma_i| D_i,
    |rstd xhat_i| / n |gamma_k xhat_k| D_k and |rstd| / n |gamma_k| D_k of every k in the group; of dgamma: D |xhat|;
    of dbeta: D. Intermediates, for every k: u_k with the parts |xhat_k gamma_k| + |beta_k|, and x_k - mean with the
    parts |x_k| + |mean|, each times the absolute derivative of the whole element (through u_k as well).
    """
    s = mp.mpf(swishScale)
    dx, dgamma, dbeta = [], zeros(np.shape(beta)), zeros(np.shape(beta))
    for c, value, m, r, dys, g, xhat, u in groups_of(x=x, beta=beta, **given):
        p, q, n = sigmoid(s * u), sigmoid(-s * u), u.size
        du, size = dys * p * (1 + s * u * q), abs(dys) * p * (1 + abs(s * u) * q)
        slope = dys * s * p * q * (2 + s * u * (q - p))  # d du / d u
        u_parts = abs(xhat * g) + abs(exact(beta)[c])
        xhat_parts = abs(r) * (abs(value) + abs(m))
        moved = abs(du + slope * g * xhat) * xhat_parts
        np.add.at(dgamma, c, size * abs(xhat) + abs(slope * xhat) * u_parts + moved)
        np.add.at(dbeta, c, size + abs(slope) * u_parts + abs(slope * g) * xhat_parts)
        # the derivatives of each element by the u and the xhat of each
        by_u = (np.diag(g) - (xhat[:, None] * xhat + 1) * g / n) * slope
        by_xhat = by_u * g - xhat[:, None] * g * du / n
        by_xhat -= np.eye(n, dtype=int) * divide(np.sum(g * du * xhat), n)
        parts = abs(r * by_u) * u_parts + abs(r * by_xhat) * xhat_parts
        sums = abs(xhat) * np.sum(abs(g * xhat) * size) + np.sum(abs(g) * size)
        dx.append(abs(r) * (abs(g) * size + sums / n) + np.sum(parts, axis=1))
    dx = exact(dx).reshape(np.shape(x))
    return wanted(dx, dgamma, dbeta, dgammaIsRequire, dbetaIsRequire)
