"""Formulas of cross entropy of logits (N, C), forward and backward, as array code to run and prove, with class targets,
weights, ignored rows, label smoothing and z-loss.

For a row with target t and mask m (0 if t is ignored): p = softmax, w_t its weight, a the label smoothing,

    loss = m * ((1 - a) * w_t * -log p_t + a/C * sum_c w_c * -log p_c) / W + zloss,    zloss = m * scale * lse^2 / M

with W the sum of m * w_t and M that of m for "mean", both 1 for "sum" and "none". W = 0 gives nan, as on the device.
That the loss contains zloss is inferred: backward multiplies its derivative by gradLoss + gradZloss.

Source: aclnnCrossEntropyLossGrad, CANN operator documentation.
"""

AXES = {
    "input": "n.",
    "target": "n",
    "weightOptional": ".",
    "weightSum": "",
    "rowCount": "",
    "loss": "n",
    "logProb": "n.",
    "zloss": "n",
    "lseForZloss": "n",
    "gradLoss": "n",
    "gradZlossOptional": "n",
    "lseForZlossOptional": "n",
    "xGradOut": "n.",
}


def mask(xp, target, ignoreIndex, like):
    """Return 1 for rows that count, 0 for ignored rows."""
    return xp.astype(target != ignoreIndex, like.dtype)


def target_weight(xp, target, weight, ignoreIndex, like):
    """Return w_t (N,), 0 in ignored rows; their target may lie outside [0, C), so it is not looked up."""
    counted = mask(xp, target, ignoreIndex, like)
    if weight is None:
        return counted
    # without classes every row is ignored, and no weight can be looked up
    if weight.shape[0] == 0:
        return counted
    ignored = target == ignoreIndex
    return xp.where(
        ignored, counted, xp.take(weight, xp.where(ignored, xp.zeros_like(target), target))
    )


def divisors(xp, target, weightOptional, ignoreIndex):
    """Return W, the sum of weights, and M, the number of rows, of the mean over all rows; a block sees only its own."""
    wide = xp.zeros(0, dtype=xp.float64)
    weight = None if weightOptional is None else xp.astype(weightOptional, xp.float64)
    return {
        "weightSum": xp.sum(target_weight(xp, target, weight, ignoreIndex, wide)),
        "rowCount": xp.sum(mask(xp, target, ignoreIndex, wide)),
    }


PRELUDE = divisors  # called once with the whole inputs, before `backward` gets blocks of rows


def one_hot(xp, target, classes):
    return target[:, None] == xp.arange(classes, dtype=target.dtype)[None, :]


def forward(
    xp,
    input,
    target,
    weightOptional,
    weightSum,
    rowCount,
    reduction,
    ignoreIndex,
    labelSmoothing,
    lseSquareScaleForZloss,
):
    classes = input.shape[1]
    top = xp.max(input, axis=1, keepdims=True)  # after subtracting the maximum, exp cannot overflow
    lse = xp.log(xp.sum(xp.exp(input - top), axis=1, keepdims=True)) + top
    log_prob = input - lse
    counted = mask(xp, target, ignoreIndex, input)
    hit = one_hot(xp, target, classes)
    nll = -xp.sum(xp.where(hit, log_prob, xp.zeros_like(log_prob)), axis=1)
    loss = (
        (1.0 - labelSmoothing) * target_weight(xp, target, weightOptional, ignoreIndex, input) * nll
    )
    if labelSmoothing != 0.0:
        weighted = log_prob if weightOptional is None else log_prob * weightOptional
        loss = loss - labelSmoothing / classes * counted * xp.sum(weighted, axis=1)
    zloss = counted * lseSquareScaleForZloss * lse[:, 0] * lse[:, 0]
    if reduction == "mean":
        loss, zloss = loss / weightSum, zloss / rowCount
    loss = loss + zloss
    if reduction != "none":
        loss, zloss = xp.sum(loss, keepdims=True), xp.sum(zloss, keepdims=True)
    return {"loss": loss, "logProb": log_prob, "zloss": zloss, "lseForZloss": lse[:, 0]}


def backward(
    xp,
    gradLoss,
    logProb,
    target,
    weightOptional,
    gradZlossOptional,
    lseForZlossOptional,
    weightSum,
    rowCount,
    reduction,
    ignoreIndex,
    labelSmoothing,
    lseSquareScaleForZloss,
):
    classes = logProb.shape[1]
    counted = mask(xp, target, ignoreIndex, logProb)
    row_grad = gradLoss * counted if reduction != "mean" else gradLoss / weightSum * counted
    nll = (
        row_grad
        * (1.0 - labelSmoothing)
        * target_weight(xp, target, weightOptional, ignoreIndex, logProb)
    )
    smooth = row_grad * labelSmoothing / classes
    weight = xp.ones(classes, dtype=logProb.dtype) if weightOptional is None else weightOptional
    softmax_grad = nll + smooth * xp.sum(weight)
    if lseForZlossOptional is not None:
        z_grad = gradLoss if gradZlossOptional is None else gradLoss + gradZlossOptional
        z_grad = z_grad if reduction != "mean" else z_grad / rowCount
        softmax_grad = (
            softmax_grad + 2.0 * lseSquareScaleForZloss * lseForZlossOptional * counted * z_grad
        )
    # The saved log-probabilities define the softmax; rows that do not sum to 1 are not renormalised.
    grad = xp.exp(logProb) * softmax_grad[:, None]
    grad = grad - xp.where(one_hot(xp, target, classes), nll[:, None], xp.zeros_like(logProb))
    if labelSmoothing != 0.0:
        grad = grad - smooth[:, None] * weight[None, :]
    return {"xGradOut": grad}
