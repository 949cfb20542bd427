import numpy as np


def kernel(
    gradLoss,
    logProb,
    target,
    weightOptional,
    gradZlossOptional,
    lseForZlossOptional,
    reduction,
    ignoreIndex,
    labelSmoothing,
    lseSquareScaleForZloss,
):
    rows, classes = logProb.shape
    log_p = logProb.astype(np.float32)
    p = np.exp(log_p)
    w = np.ones(classes, np.float32) if weightOptional is None else weightOptional
    counted = [row for row in range(rows) if target[row] != ignoreIndex]
    divisor = np.float32(1)
    if reduction == "mean":
        divisor = np.sum([w[target[row]] for row in counted], dtype=np.float32)
    if reduction == "mean" and (not counted):
        return {"xGradOut": np.full_like(logProb, np.nan)}
    upstream = gradLoss.astype(np.float32).reshape(-1)
    z_upstream = (
        None if gradZlossOptional is None else gradZlossOptional.astype(np.float32).reshape(-1)
    )
    out = np.zeros((rows, classes), np.float32)
    for row in range(rows):
        at = row if reduction == "none" else 0
        share = upstream[at] / divisor
        if target[row] == ignoreIndex:
            out[row] = share * p[row]
            continue
        t, s = (target[row], np.float32(labelSmoothing))
        wt = w[t]
        keep = 1 - s
        even = s / classes
        desired = even * w
        desired = desired.astype(np.float32)
        desired[t] += keep * wt
        total = np.sum(desired, dtype=np.float32)
        out[row] = share * (p[row] * total - desired)
        if lseForZlossOptional is not None:
            grad = upstream[at] + (0 if z_upstream is None else z_upstream[at])
            count = len(counted) if reduction == "mean" else 1
            lse = lseForZlossOptional.astype(np.float32)
            out[row] += (
                p[row]
                * 2
                * np.float32(lseSquareScaleForZloss)
                * lse[row]
                * grad
                / np.float32(count)
            )
    return {"xGradOut": out.astype(logProb.dtype)}
