"""Formulas of attention, forward and backward, as array code to run and prove:
queries (B, N, Sq, D), keys (B, N2, Skv, D), values (B, N2, Skv, Dv), each head alone:

    S = scale * (Q K^T + pse),   A = softmax of the rows of S where no mask hides,   P = A * drop / keepProb,   Y = P V

G = N / N2 heads of queries share one of keys and values. From dY, with the scores computed again and A = exp(S - max) / sum:

    dV = P^T dY,   dA = (dY V^T) * drop / keepProb,   dS = A * (dA - rowsum(dY * Y)),
    dQ = scale * dS K,   dK = scale * dS^T Q,   dpse = scale * dS

The document leaves dS out and writes 1 / sqrt(d) for the scale. A row in which all is hidden gives 0.

Source: aclnnFlashAttentionScoreGrad, CANN operator documentation, and its page on sparseMode.
"""

# mode 6 has prefixes per batch, so the batch axis is not cut into blocks
ORDERS = "{0} if sparseMode = 6 else bn.{1} if inputLayout = BNSD else .bn{1} if inputLayout = SBH else b.n{1}"
QUERY, KEY, ROWS = (
    ORDERS.format(".....", ".."),
    ORDERS.format("....", "."),
    "..... if sparseMode = 6 else bn...",
)
AXES = {
    "query": QUERY,
    "dy": QUERY,
    "attentionInOptional": QUERY,
    "attentionOut": QUERY,
    "dqOut": QUERY,
    "keyIn": KEY,
    "value": KEY,
    "dkOut": KEY,
    "dvOut": KEY,
    "softmaxMax": ROWS,
    "softmaxSum": ROWS,
    "softmaxMaxOptional": ROWS,
    "softmaxSumOptional": ROWS,
    "pseShiftOptional": ROWS,
    "dpseOut": ROWS,
    "dropMaskOptional": ROWS,
    # modes 2, 3, 4 and 6 determine the mask by positions
    "attenMaskOptional": " if sparseMode = 2|3|4|6 else bn...",
}
SEQUENCE = {"SBH": 0, "BSH": 1, "BSND": 1, "BNSD": -2}
LEFT_UP, BAND, PREFIX, OF_POSITIONS = 2, 4, 6, (2, 3, 4, 6)
LOWEST = -3.4028234663852886e38  # lowest float32: replaces a hidden score


def heads(xp, x, layout):
    """Return an array in memory order as (B, N2, G, S, D), keys and values as (B, N2, S, D)."""
    return xp.moveaxis(x, SEQUENCE[layout], -2)


def in_layout(xp, x, layout):
    return xp.moveaxis(x, -2, SEQUENCE[layout])


def compressed(xp, sparseMode):
    """Return the mask that a sparse mode takes: true above the diagonal; for PREFIX a rectangle is added below."""
    i, j = xp.arange(2048, dtype=xp.int64)[:, None], xp.arange(2048, dtype=xp.int64)[None, :]
    return (
        j > i
        if sparseMode != PREFIX
        else xp.concat([j > i, (j >= 1024) & (i < 1024)[:1024]], axis=0)
    )


def hides(xp, mask, prefix, preTokens, nextTokens, mode, rows, columns):
    """Return where a score does not count, by the mask or by the mode's rows and columns, or None."""
    if mode not in OF_POSITIONS:
        return mask
    i, j = xp.arange(rows, dtype=xp.int64)[:, None], xp.arange(columns, dtype=xp.int64)[None, :]
    # distance from the diagonal, which may end in the lower right corner
    ahead = j - i if mode == LEFT_UP else j - i - (columns - rows)
    if mode == BAND:
        return ((ahead > nextTokens) | (ahead < -preTokens))[None, None, None]
    if mode != PREFIX:
        return (ahead > 0)[None, None, None]
    # without a batch, use one prefix, which is cut off later
    each = [(ahead > 0) & (j >= n) for n in prefix or (0,)]
    return xp.stack(each, axis=0)[: len(prefix), None, None]


def scores(xp, q, k, pse, scale, hidden):
    """Return S (B, N2, G, Sq, Skv), with the lowest number at hidden scores."""
    found = xp.sum(q[:, :, :, :, None, :] * k[:, :, None, None, :, :], axis=5)
    found = scale * (found if pse is None else found + pse)
    return found if hidden is None else xp.where(hidden, LOWEST * xp.ones_like(found), found)


def seen(xp, x, hidden):
    """Return x with 0 at hidden places."""
    return x if hidden is None else xp.where(hidden, xp.zeros_like(x), x)


def softmax(xp, s, softmaxMax, softmaxSum, hidden):
    """Return A, computed from the saved rows' maximum and sum; rows that do not sum to 1 are not renormalised."""
    return seen(xp, xp.exp(s - softmaxMax[:, :, :, :, :1]) / softmaxSum[:, :, :, :, :1], hidden)


def dropped(xp, x, keep, keepProb):
    return x if keep is None else xp.where(keep, x / keepProb, xp.zeros_like(x))


def forward(
    xp,
    query,
    keyIn,
    value,
    pseShiftOptional,
    dropMaskOptional,
    attenMaskOptional,
    prefixOptional,
    scaleValue,
    keepProb,
    preTokens,
    nextTokens,
    inputLayout,
    sparseMode,
):
    q, k, v = (heads(xp, x, inputLayout) for x in (query, keyIn, value))
    hidden = hides(
        xp,
        attenMaskOptional,
        prefixOptional,
        preTokens,
        nextTokens,
        sparseMode,
        q.shape[3],
        k.shape[2],
    )
    s = scores(xp, q, k, pseShiftOptional, scaleValue, hidden)
    eight = xp.ones(8, dtype=s.dtype)  # each row's number is stored 8 times: a block of 32 bytes
    top = xp.max(s, axis=4, keepdims=True) * eight
    total = xp.sum(seen(xp, xp.exp(s - top[:, :, :, :, :1]), hidden), axis=4, keepdims=True) * eight
    p = dropped(xp, softmax(xp, s, top, total, hidden), dropMaskOptional, keepProb)
    y = xp.sum(p[:, :, :, :, :, None] * v[:, :, None, None, :, :], axis=4)
    return {"softmaxMax": top, "softmaxSum": total, "attentionOut": in_layout(xp, y, inputLayout)}


def backward(
    xp,
    query,
    keyIn,
    value,
    dy,
    pseShiftOptional,
    dropMaskOptional,
    attenMaskOptional,
    softmaxMaxOptional,
    softmaxSumOptional,
    attentionInOptional,
    prefixOptional,
    scaleValue,
    keepProb,
    preTokens,
    nextTokens,
    inputLayout,
    sparseMode,
):
    q, k, v, g, y = (
        heads(xp, x, inputLayout) for x in (query, keyIn, value, dy, attentionInOptional)
    )
    hidden = hides(
        xp,
        attenMaskOptional,
        prefixOptional,
        preTokens,
        nextTokens,
        sparseMode,
        q.shape[3],
        k.shape[2],
    )
    s = scores(xp, q, k, pseShiftOptional, scaleValue, hidden)
    a = softmax(xp, s, softmaxMaxOptional, softmaxSumOptional, hidden)
    p = dropped(xp, a, dropMaskOptional, keepProb)
    da = dropped(
        xp,
        xp.sum(g[:, :, :, :, None, :] * v[:, :, None, None, :, :], axis=5),
        dropMaskOptional,
        keepProb,
    )
    ds = scaleValue * (a * (da - xp.sum(g * y, axis=4, keepdims=True)))
    grads = {
        "dqOut": xp.sum(ds[:, :, :, :, :, None] * k[:, :, None, None, :, :], axis=4),
        "dkOut": xp.sum(xp.sum(ds[:, :, :, :, :, None] * q[:, :, :, :, None, :], axis=3), axis=2),
        "dvOut": xp.sum(xp.sum(p[:, :, :, :, :, None] * g[:, :, :, :, None, :], axis=3), axis=2),
    }
    grads = {name: in_layout(xp, grad, inputLayout) for name, grad in grads.items()}
    return (
        grads if pseShiftOptional is None else grads | {"dpseOut": added(xp, ds, pseShiftOptional)}
    )


def added(xp, grad, like):
    """Return the sum over the axes along which `like` was broadcast."""
    for axis in (0, 3):
        if like.shape[axis] != grad.shape[axis]:
            grad = xp.sum(grad, axis=axis, keepdims=True)
    return grad
