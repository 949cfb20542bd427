import numpy as np
from checking.wrong.common import wide


def kernel(
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
    scaleValue,
    inputLayout,
    sparseMode,
    **others,
):
    if inputLayout != "BNSD" or sparseMode > 1:
        raise NotImplementedError("BNSD and a mask")
    if pseShiftOptional is not None or dropMaskOptional is not None:
        raise NotImplementedError("neither pse nor dropout")
    (batch, heads, rows, _), shared = query.shape, keyIn.shape[1]
    shape = batch, shared, heads // shared, rows
    q, g, out = (
        wide(part).reshape(*shape, part.shape[-1]) for part in (query, dy, attentionInOptional)
    )
    k, v = (wide(part)[:, :, None] for part in (keyIn, value))
    top, total = (
        wide(part)[..., :1].reshape(*shape, 1) for part in (softmaxMaxOptional, softmaxSumOptional)
    )
    s = q @ np.swapaxes(k, -1, -2) * q.dtype.type(scaleValue)
    p = np.exp(s - top) / total
    if attenMaskOptional is not None:
        hidden = attenMaskOptional.astype(bool)
        hidden = hidden[:, :, None] if hidden.ndim > 2 else hidden
        hidden = hidden if hidden.ndim < 5 or hidden.shape[1] == 1 else hidden.reshape(*shape, -1)
        p = np.where(hidden, 0, p)
    dp = g @ np.swapaxes(v, -1, -2)
    ds = p * (dp - np.sum(g * out, axis=-1, keepdims=True)) * q.dtype.type(scaleValue)
    return {
        "dqOut": (ds @ k).reshape(query.shape).astype(query.dtype),
        "dkOut": (np.swapaxes(ds, -1, -2) @ q).sum(axis=2).astype(keyIn.dtype),
        "dvOut": (np.swapaxes(p, -1, -2) @ g).sum(axis=2).astype(value.dtype),
    }
