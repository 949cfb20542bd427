"""Cross entropy of logits (N, C) and class indices (N,), with class weights, smoothing and z-loss."""

import numpy as np

from .exact import divide, each, exact, mp, signed, zeros


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
    total = np.sum(per_row, initial=mp.zero)
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
        largest = max(logits[n])
        lse[n] = largest + mp.log(np.sum(each(mp.exp, logits[n] - largest)))
        log_prob[n] = logits[n] - lse[n]
        if t == ignoreIndex:
            continue
        total_weight += weight[t]
        count += 1
        entropy[n] = -(1 - smoothing) * weight[t] * log_prob[n, t]
        if smoothing:
            entropy[n] -= smoothing / classes * np.sum(weight * log_prob[n])
        zloss[n] = scale * lse[n] ** 2
    z = reduced(zloss, count, reduction)
    loss = np.asarray(reduced(entropy, total_weight, reduction) + z, dtype=object)
    return {"loss": loss, "logProb": log_prob, "zloss": z, "lseForZloss": lse}


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
    part=signed,
):
    """Return `xGradOut` (N, C); exp(logProb) serves as the softmax, whether its rows sum to 1 or not.

    A target equal to ignoreIndex is ignored, negative or not; any other outside [0, C) raises ValueError. A mean over
    ignored rows alone is nan. z-loss counts when its scale is not 0 and lseForZlossOptional is given: 2 scale lse g of
    g = gradLoss and of g = gradZloss.
    """
    log_prob, grad = exact(logProb), exact(gradLoss).ravel()
    classes, out = log_prob.shape[1], zeros(log_prob.shape)
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
        prob = each(mp.exp, log_prob[n])
        out[n] = part(prob * nll) + prob * np.sum(part(smooth * weight)) + part(-smooth * weight)
        if mask:
            out[n, t] += part(-nll)
        for z in z_grads if with_zloss else []:
            out[n] += part(prob * (2 * scale * lse[n] * mask * divide(z[row], count_divisor)))
    return {"xGradOut": out}


def terms(**inputs):
    """Return S of `xGradOut`.

    |prob nll|, |nll| at the target, |prob smooth w_k| of every class k, |smooth w_c|, and |prob 2 scale lse g| / count
    of g = gradLoss and g = gradZloss. Intermediate: for a mean with weights, the divisor W = sum of the targets'
    weights, |d out / d W| = |part of out without z-loss| / |W|. The number of rows is exact and not counted.
    """
    sizes = backward(**inputs, part=abs)["xGradOut"]
    weight, ignored = inputs.get("weightOptional"), inputs.get("ignoreIndex", -100)
    if inputs.get("reduction", "mean") == "mean" and weight is not None:
        chosen = [exact(weight)[t] for t in np.ravel(inputs["target"]) if t != ignored]
        dilution = divide(sum(map(abs, chosen), mp.zero), abs(sum(chosen, mp.zero)))
        sizes += dilution * abs(backward(**inputs | {"lseForZlossOptional": None})["xGradOut"])
    return {"xGradOut": sizes}
