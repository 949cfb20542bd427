"""Cross entropy of logits (N, C) and class indices (N,), with class weights, smoothing and z-loss."""

import numpy as np

from .exact import divide, exact, mp, zeros


def checked(target, classes, ignoreIndex, reduction):
    """Return the targets as integers."""
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"reduction {reduction!r}")
    target = [int(t) for t in np.asarray(target).ravel()]
    for t in target:
        if t != ignoreIndex and not 0 <= t < classes:
            raise ValueError(f"target {t} outside [0, {classes})")
    return target


def class_weights(weightOptional, classes):
    return exact(np.ones(classes) if weightOptional is None else weightOptional)


def reduced(per_row, divisor, reduction):
    """Reduce the row values; mean divides by the given number."""
    if reduction == "none":
        return per_row
    total = mp.zero
    for value in per_row:
        total += value
    return np.array(divide(total, divisor) if reduction == "mean" else total, dtype=object)


def forward(
    *,
    input,
    target,
    weightOptional=None,
    reduction="mean",
    ignoreIndex=-100,
    labelSmoothing=0.0,
    lseSquareScaleForZloss=0.0,
):
    """Return `loss`, `logProb` (N, C), `zloss` and `lseForZloss` (N,).

    A row's zloss is scale * logsumexp^2. The loss contains it: the documented backward sends gradLoss into it.
    A mean divides the cross entropy by the sum of the targets' weights, zloss by the number of rows not ignored.
    """
    logits = exact(input)
    rows, classes = logits.shape
    target = checked(target, classes, ignoreIndex, reduction)
    weight = class_weights(weightOptional, classes)
    smoothing, scale = mp.mpf(labelSmoothing), mp.mpf(lseSquareScaleForZloss)
    log_prob, lse, entropy, zloss = zeros((rows, classes)), zeros(rows), zeros(rows), zeros(rows)
    total_weight, count = mp.zero, mp.zero
    for n, t in enumerate(target):
        largest, total = max(logits[n]), mp.zero
        for c in range(classes):
            total += mp.exp(logits[n, c] - largest)
        lse[n] = largest + mp.log(total)
        for c in range(classes):
            log_prob[n, c] = logits[n, c] - lse[n]
        if t == ignoreIndex:
            continue
        total_weight += weight[t]
        count += 1
        entropy[n] = -(1 - smoothing) * weight[t] * log_prob[n, t]
        if smoothing:
            for c in range(classes):
                entropy[n] -= smoothing / classes * weight[c] * log_prob[n, c]
        zloss[n] = scale * lse[n] ** 2
    z = reduced(zloss, count, reduction)
    loss = np.asarray(reduced(entropy, total_weight, reduction) + z, dtype=object)
    return {"loss": loss, "logProb": log_prob, "zloss": z, "lseForZloss": lse}


def rows_of(
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
    """Yield (n, target or None, softmax of the row, class weights, nll, smooth, [z terms]) with the documented names.

    A row's z terms are the parts of 2 scale lse zGrad that come from gradLoss and from gradZloss.
    """
    log_prob, grad = exact(logProb), exact(gradLoss).ravel()
    rows, classes = log_prob.shape
    target = checked(target, classes, ignoreIndex, reduction)
    weight = class_weights(weightOptional, classes)
    smoothing, scale = mp.mpf(labelSmoothing), mp.mpf(lseSquareScaleForZloss)
    z_grads = [grad] if gradZlossOptional is None else [grad, exact(gradZlossOptional).ravel()]
    weight_divisor, count_divisor = mp.one, mp.one
    if reduction == "mean":
        weight_divisor = sum((weight[t] for t in target if t != ignoreIndex), mp.zero)
        count_divisor = sum((mp.one for t in target if t != ignoreIndex), mp.zero)
    with_zloss = scale != 0 and lseForZlossOptional is not None
    lse = exact(lseForZlossOptional).ravel() if with_zloss else None
    for n, t in enumerate(target):
        row = n if reduction == "none" else 0
        mask = int(t != ignoreIndex)
        target_weight = weight[t] if mask else mp.zero
        nll = divide(grad[row] * (1 - smoothing), weight_divisor) * mask * target_weight
        smooth = divide(grad[row], weight_divisor) * smoothing / classes * mask
        z_terms = (
            [2 * scale * lse[n] * mask * divide(z[row], count_divisor) for z in z_grads]
            if with_zloss
            else []
        )
        yield n, t if mask else None, [mp.exp(v) for v in log_prob[n]], weight, nll, smooth, z_terms


def backward(
    *,
    gradLoss,
    logProb,
    target,
    weightOptional=None,
    gradZlossOptional=None,
    lseForZlossOptional=None,
    reduction="mean",
    ignoreIndex=-100,
    labelSmoothing=0.0,
    lseSquareScaleForZloss=0.0,
):
    """Return `xGradOut` (N, C); exp(logProb) serves as the softmax, whether its rows sum to 1 or not.

    A target equal to ignoreIndex is ignored, negative or not; any other outside [0, C) raises ValueError. A mean over
    ignored rows alone is nan. z-loss counts when its scale is not 0 and lseForZlossOptional is given.
    """
    out = zeros(np.shape(logProb))
    for n, t, prob, weight, nll, smooth, z_terms in rows_of(
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
        smooth_total = mp.zero
        for w in weight:
            smooth_total += smooth * w
        for c in range(out.shape[1]):
            out[n, c] = (
                prob[c] * nll - (nll if c == t else 0) + prob[c] * smooth_total - smooth * weight[c]
            )
            for z in z_terms:
                out[n, c] += prob[c] * z
    return {"xGradOut": out}


def terms(
    *,
    gradLoss,
    logProb,
    target,
    weightOptional=None,
    gradZlossOptional=None,
    lseForZlossOptional=None,
    reduction="mean",
    ignoreIndex=-100,
    labelSmoothing=0.0,
    lseSquareScaleForZloss=0.0,
):
    """Return S of `xGradOut`.

    |prob nll|, |nll| at the target, |prob smooth w_k| of every class k, |smooth w_c|, and |prob 2 scale lse g| / count
    of g = gradLoss and g = gradZloss. Intermediate: for a mean with weights, the divisor W = sum of the targets'
    weights, |d out / d W| = |part of out without z-loss| / |W|. The number of rows is exact and not counted.
    """
    out = zeros(np.shape(logProb))
    dilution = mp.zero
    if reduction == "mean" and weightOptional is not None:
        chosen = [
            w
            for t in np.asarray(target).ravel()
            if t != ignoreIndex
            for w in [exact(weightOptional)[int(t)]]
        ]
        dilution = divide(sum(map(abs, chosen), mp.zero), abs(sum(chosen, mp.zero)))
    for n, t, prob, weight, nll, smooth, z_terms in rows_of(
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
        smooth_total, smooth_size = mp.zero, mp.zero
        for w in weight:
            smooth_total += smooth * w
            smooth_size += abs(smooth * w)
        for c in range(out.shape[1]):
            at_target = nll if c == t else mp.zero
            divided = prob[c] * nll - at_target + prob[c] * smooth_total - smooth * weight[c]
            out[n, c] = (
                prob[c] * abs(nll)
                + abs(at_target)
                + prob[c] * smooth_size
                + abs(smooth * weight[c])
                + abs(divided) * dilution
            )
            for z in z_terms:
                out[n, c] += prob[c] * abs(z)
    return {"xGradOut": out}
