import numpy as np


def kernel(
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
    each, space = (channels // numGroups, int(np.prod(x.shape[2:])))
    xs, dys = (part.astype(np.float32).reshape(samples, numGroups, each, space) for part in (x, dy))
    m, r = (part.astype(np.float32).reshape(samples, numGroups) for part in (mean, rstd))
    g = gamma.astype(np.float32)
    s = np.float32(swishScale)
    dx = np.zeros_like(xs)
    dgamma, dbeta = (np.zeros(channels, np.float32), np.zeros(channels, np.float32))
    for n in range(samples):
        for k in range(numGroups):
            first = second = np.float32(0)
            kept = []
            for j in range(each):
                c = k * each + j
                hat = (xs[n, k, j] - m[n, k]) * r[n, k]
                z = hat
                with np.errstate(over="ignore"):
                    e = np.exp(-(s * z))
                gate, rest = (
                    1 / (1 + e),
                    np.where(np.isinf(e), np.float32(1), e / (1 + np.where(np.isinf(e), 1, e))),
                )
                turn = s * z
                d = dys[n, k, j] * (gate + np.where(gate > 0, turn * gate * rest, 0))
                own = k * each + j
                dg = np.sum((d * hat)[:space], dtype=np.float32)
                db = np.sum(d[:space], dtype=np.float32)
                dgamma[own] = dgamma[own] + dg
                dbeta[own] += db
                weight = g[c]
                mine = (
                    np.sum(d, dtype=np.float32) * weight,
                    np.sum(d * hat, dtype=np.float32) * weight,
                )
                first, second = (first + mine[0], second + mine[1])
                kept.append((hat, d * g[c], mine))
            count = np.float32(each * space)
            for j, (hat, d, mine) in enumerate(kept):
                c1 = first / count
                c2 = second / count
                dx[n, k, j] = (d - c1 - hat * c2) * r[n, k]
    outputs = {"dxOut": dx.reshape(x.shape).astype(x.dtype)}
    if dgammaIsRequire:
        outputs["dgammaOut"] = dgamma.astype(gamma.dtype)
    if dbetaIsRequire:
        outputs["dbetaOut"] = dbeta.astype(beta.dtype)
    return outputs
