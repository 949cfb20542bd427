"""Group norm and swish: one task a sample and group; its channels one after another, two sums, a second sweep."""

import numpy as np

SLIPS = (
    "gate alone",
    "scale not in the slope",
    "scale not in the gate",
    "channel of the group taken for the channel",
    "positions not counted",
    "dgamma of the last sample",
    "dbeta before swish",
    "shift forgotten",
    "correction along x-hat forgotten",
    "statistics of sample 0",
    "rstd missing at the end",
    "mean after rstd",
    "beta forgotten",
    "dgamma of x",
    "positions past the last block",
    "gamma missing in the sums",
    "sums of a channel",
    "gamma twice",
    "gate of x-hat",
)


def kernel(
    slip,
    dy,
    mean,
    rstd,
    x,
    gamma,
    beta,
    numGroups,
    dataFormatOptional,
    swishScale,
    dgammaIsRequire,
    dbetaIsRequire,
):
    samples, channels = x.shape[:2]
    each, space = channels // numGroups, int(np.prod(x.shape[2:]))
    xs, dys = (part.astype(np.float32).reshape(samples, numGroups, each, space) for part in (x, dy))
    m, r = (part.astype(np.float32).reshape(samples, numGroups) for part in (mean, rstd))
    g, b = gamma.astype(np.float32), beta.astype(np.float32)
    s = np.float32(swishScale)
    dx = np.zeros_like(xs)
    dgamma, dbeta = np.zeros(channels, np.float32), np.zeros(channels, np.float32)
    read = space - space % 8 if slip == "positions past the last block" and space > 8 else space
    for n in range(samples):
        for k in range(numGroups):
            stat = 0 if slip == "statistics of sample 0" else n
            first = second = np.float32(0)
            kept = []
            for j in range(each):
                c = j if slip == "channel of the group taken for the channel" else k * each + j
                hat = (xs[n, k, j] - m[stat, k]) * r[stat, k]
                if slip == "mean after rstd":
                    hat = xs[n, k, j] * r[stat, k] - m[stat, k]
                z = (
                    hat
                    if slip == "gate of x-hat"
                    else hat * g[c] + (0 if slip == "beta forgotten" else b[c])
                )
                with np.errstate(over="ignore"):
                    e = np.exp(-(z if slip == "scale not in the gate" else s * z))
                gate, rest = (
                    1 / (1 + e),
                    np.where(np.isinf(e), np.float32(1), e / (1 + np.where(np.isinf(e), 1, e))),
                )
                turn = z if slip == "scale not in the slope" else s * z
                d = dys[n, k, j] * (gate + np.where(gate > 0, turn * gate * rest, 0))
                d = dys[n, k, j] * gate if slip == "gate alone" else d
                own = k * each + j
                dg = np.sum(
                    (d * (xs[n, k, j] if slip == "dgamma of x" else hat))[:read], dtype=np.float32
                )
                db = np.sum(
                    (dys[n, k, j] if slip == "dbeta before swish" else d)[:read], dtype=np.float32
                )
                dgamma[own] = dg if slip == "dgamma of the last sample" else dgamma[own] + dg
                dbeta[own] += db
                weight = (
                    1
                    if slip == "gamma missing in the sums"
                    else g[c] * g[c]
                    if slip == "gamma twice"
                    else g[c]
                )
                mine = (
                    np.sum(d, dtype=np.float32) * weight,
                    np.sum(d * hat, dtype=np.float32) * weight,
                )
                first, second = first + mine[0], second + mine[1]
                kept.append((hat, d * (g[c] * g[c] if slip == "gamma twice" else g[c]), mine))
            count = np.float32(each if slip == "positions not counted" else each * space)
            for j, (hat, d, mine) in enumerate(kept):
                if slip == "sums of a channel":
                    first, second, count = *mine, np.float32(space)
                c1 = np.float32(0) if slip == "shift forgotten" else first / count
                c2 = np.float32(0) if slip == "correction along x-hat forgotten" else second / count
                dx[n, k, j] = (d - c1 - hat * c2) * (
                    1 if slip == "rstd missing at the end" else r[stat, k]
                )
    outputs = {"dxOut": dx.reshape(x.shape).astype(x.dtype)}
    if dgammaIsRequire:
        outputs["dgammaOut"] = dgamma.astype(gamma.dtype)
    if dbetaIsRequire:
        outputs["dbetaOut"] = dbeta.astype(beta.dtype)
    return outputs
