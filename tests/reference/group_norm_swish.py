"""Group norm followed by swish: y = u sigmoid(s u), u = xhat gamma + beta, xhat = (x - mean) rstd, s = swishScale.

mean and rstd belong to a sample and a group of C / numGroups channels with n = C / numGroups * HxW elements.
"""

import math

from .exact import divide, exact, mp, zeros


def sigmoid(z):
    return 1 / (1 + mp.exp(-z))


def by_group(x, numGroups):
    """Return x (N, C, ...) as (N, numGroups, n), and the channel of an element given its group and place."""
    channels, pixels = x.shape[1] // numGroups, math.prod(x.shape[2:])
    return x.reshape(
        x.shape[0], numGroups, channels * pixels
    ), lambda group, k: group * channels + k // pixels


def forward(*, x, gamma, beta, numGroups, eps=1e-5, swishScale=1.0):
    """Return `y` (as x), `mean` and `rstd` (N, numGroups), rstd = 1 / sqrt(biased variance + eps)."""
    x, gamma, beta, eps, s = exact(x), exact(gamma), exact(beta), mp.mpf(eps), mp.mpf(swishScale)
    values, channel = by_group(x, numGroups)
    samples, groups, n = values.shape
    y, means, rstds = zeros(values.shape), zeros((samples, groups)), zeros((samples, groups))
    for sample in range(samples):
        for group in range(groups):
            mean, variance = mp.zero, mp.zero
            for k in range(n):
                mean += values[sample, group, k] / n
            for k in range(n):
                variance += (values[sample, group, k] - mean) ** 2 / n
            rstd = divide(mp.one, mp.sqrt(variance + eps))
            means[sample, group], rstds[sample, group] = mean, rstd
            for k in range(n):
                c = channel(group, k)
                u = (values[sample, group, k] - mean) * rstd * gamma[c] + beta[c]
                y[sample, group, k] = u * sigmoid(s * u)
    return {"y": y.reshape(x.shape), "mean": means, "rstd": rstds}


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
    x, gamma, beta, s = exact(x), exact(gamma), exact(beta), mp.mpf(swishScale)
    values, channel = by_group(x, numGroups)
    dys, _ = by_group(exact(dy), numGroups)
    samples, groups, n = values.shape
    means, rstds = exact(mean).reshape(samples, groups), exact(rstd).reshape(samples, groups)
    dx, dgamma, dbeta = zeros(values.shape), zeros(gamma.shape), zeros(beta.shape)
    for sample in range(samples):
        for group in range(groups):
            r = rstds[sample, group]
            xhats, dus = [], []
            projection, shift = mp.zero, mp.zero
            for k in range(n):
                c = channel(group, k)
                xhat = (values[sample, group, k] - means[sample, group]) * r
                u = xhat * gamma[c] + beta[c]
                du = dys[sample, group, k] * sigmoid(s * u) * (1 + s * u * sigmoid(-s * u))
                dgamma[c] += du * xhat
                dbeta[c] += du
                projection += gamma[c] * du * xhat
                shift += gamma[c] * du
                xhats.append(xhat)
                dus.append(du)
            for k in range(n):
                c = channel(group, k)
                dx[sample, group, k] = r * (
                    dus[k] * gamma[c] - xhats[k] * projection / n - shift / n
                )
    return wanted(dx.reshape(x.shape), dgamma, dbeta, dgammaIsRequire, dbetaIsRequire)


def wanted(dx, dgamma, dbeta, dgammaIsRequire, dbetaIsRequire):
    out = {"dxOut": dx}
    if dgammaIsRequire:
        out["dgammaOut"] = dgamma
    if dbetaIsRequire:
        out["dbetaOut"] = dbeta
    return out


def terms(
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
    """Return S of `dxOut`, `dgammaOut` and `dbetaOut`; the time grows with n^2.

    du counts as its two terms, D = |dy| sigmoid (1 + |s u| (1 - sigmoid)). Terms of dx_i: |rstd gamma_i| D_i,
    |rstd xhat_i| / n |gamma_k xhat_k| D_k and |rstd| / n |gamma_k| D_k of every k in the group; of dgamma: D |xhat|;
    of dbeta: D. Intermediates, for every k: u_k with the parts |xhat_k gamma_k| + |beta_k|, and x_k - mean with the
    parts |x_k| + |mean|, each times the absolute derivative of the whole element (through u_k as well).
    """
    x, gamma, beta, s = exact(x), exact(gamma), exact(beta), mp.mpf(swishScale)
    values, channel = by_group(x, numGroups)
    dys, _ = by_group(exact(dy), numGroups)
    samples, groups, n = values.shape
    means, rstds = exact(mean).reshape(samples, groups), exact(rstd).reshape(samples, groups)
    dx, dgamma, dbeta = zeros(values.shape), zeros(gamma.shape), zeros(beta.shape)
    for sample in range(samples):
        for group in range(groups):
            m, r = means[sample, group], rstds[sample, group]
            elements = []
            projection, projection_size, shift_size = mp.zero, mp.zero, mp.zero
            for k in range(n):
                c, value, g = channel(group, k), values[sample, group, k], dys[sample, group, k]
                xhat = (value - m) * r
                u = xhat * gamma[c] + beta[c]
                p, q = sigmoid(s * u), sigmoid(-s * u)
                du, size = g * p * (1 + s * u * q), abs(g) * p * (1 + abs(s * u) * q)
                slope = g * s * p * q * (2 + s * u * (q - p))  # d du / d u
                u_parts, xhat_parts = (
                    abs(xhat * gamma[c]) + abs(beta[c]),
                    abs(r) * (abs(value) + abs(m)),
                )
                dgamma[c] += (
                    size * abs(xhat)
                    + abs(slope * xhat) * u_parts
                    + abs(du + slope * gamma[c] * xhat) * xhat_parts
                )
                dbeta[c] += size + abs(slope) * u_parts + abs(slope * gamma[c]) * xhat_parts
                projection += gamma[c] * du * xhat
                projection_size += abs(gamma[c] * xhat) * size
                shift_size += abs(gamma[c]) * size
                elements.append((gamma[c], xhat, du, size, slope, u_parts, xhat_parts))
            for i, (gamma_i, xhat_i, _, size_i, *_) in enumerate(elements):
                total = (
                    abs(r * gamma_i) * size_i
                    + abs(r * xhat_i) / n * projection_size
                    + abs(r) / n * shift_size
                )
                for k, (gamma_k, xhat_k, du_k, _, slope_k, u_parts, xhat_parts) in enumerate(
                    elements
                ):
                    by_u = -(xhat_i * xhat_k + 1) * gamma_k / n
                    by_xhat = -xhat_i * gamma_k * du_k / n
                    if i == k:
                        by_u += gamma_k
                        by_xhat -= projection / n
                    by_u *= slope_k
                    by_xhat += by_u * gamma_k
                    total += abs(r * by_u) * u_parts + abs(r * by_xhat) * xhat_parts
                dx[sample, group, i] = total
    return wanted(dx.reshape(x.shape), dgamma, dbeta, dgammaIsRequire, dbetaIsRequire)
