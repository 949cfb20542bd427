"""Cross entropy, row by row: softmax times the sum of what is desired, less what is desired; then the z-loss term."""

import numpy as np

SLIPS = (
    "mean over the counted rows",
    "mean over all rows",
    "ignored rows keep softmax",
    "weight at the target alone",
    "smoothing over the other classes",
    "smoothing not weighted",
    "log-probability taken for softmax",
    "upstream of the first row",
    "sum divided, too",
    "target not lowered by the smoothing",
    "weight by place",
    "weight of the row number",
    "smoothing of the target alone",
    "softmax not weighted by the sum",
    "classes past the last block",
    "row of the last core",
    "softmax normalised anew",
    "weights not read",
)


# Atlas A2 takes no smoothing: these are judged beyond what it takes.
BEYOND = (
    "smoothing over the other classes",
    "smoothing not weighted",
    "target not lowered by the smoothing",
    "smoothing of the target alone",
)


def kernel(
    slip,
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
    p = log_p if slip == "log-probability taken for softmax" else np.exp(log_p)
    if slip == "softmax normalised anew":
        p = p / np.sum(p, axis=1, keepdims=True) if classes else p
    w = (
        np.ones(classes, np.float32)
        if weightOptional is None or slip == "weights not read"
        else weightOptional
    )
    counted = [row for row in range(rows) if target[row] != ignoreIndex]
    divisor = np.float32(1)
    if reduction == "mean" or reduction == "sum" and slip == "sum divided, too":
        divisor = np.sum([w[target[row]] for row in counted], dtype=np.float32)
        divisor = np.float32(len(counted)) if slip == "mean over the counted rows" else divisor
        divisor = np.float32(rows) if slip == "mean over all rows" else divisor
    if reduction == "mean" and not counted:
        return {"xGradOut": np.full_like(logProb, np.nan)}
    upstream = gradLoss.astype(np.float32).reshape(-1)
    z_upstream = (
        None if gradZlossOptional is None else gradZlossOptional.astype(np.float32).reshape(-1)
    )
    out = np.zeros((rows, classes), np.float32)
    last = rows - rows % 4 if slip == "row of the last core" and rows > 4 else rows
    for row in range(last):
        at = row if reduction == "none" and slip != "upstream of the first row" else 0
        share = upstream[at] / divisor
        if target[row] == ignoreIndex:
            if slip == "ignored rows keep softmax":
                out[row] = share * p[row]
            continue
        t, s = target[row], np.float32(labelSmoothing)
        wt = w[row % classes] if slip == "weight of the row number" else w[t]
        keep = 1 if slip == "target not lowered by the smoothing" else 1 - s
        even = (
            s / (classes - 1)
            if slip == "smoothing over the other classes" and classes > 1
            else s / classes
        )
        desired = even * (np.ones(classes, np.float32) if slip == "smoothing not weighted" else w)
        if slip == "smoothing over the other classes":
            desired = desired.copy()
            desired[t] = 0
        if slip == "smoothing of the target alone":
            desired = np.zeros(classes, np.float32)
        desired = desired.astype(np.float32)
        desired[t] += keep * wt
        total = np.sum(desired, dtype=np.float32)
        if slip == "weight at the target alone":
            total = total / wt if wt else total
        if slip == "softmax not weighted by the sum":
            total = np.float32(1)
        out[row] = share * (p[row] * (w if slip == "weight by place" else 1) * total - desired)
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
        if slip == "classes past the last block" and classes > 8:
            out[row, classes - classes % 8 :] = 0
    return {"xGradOut": out.astype(logProb.dtype)}
