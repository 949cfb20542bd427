import numpy as np
from checking.wrong.common import asked, wide


def kernel(
    gradOut,
    input,
    weight,
    runningMean,
    runningVar,
    saveMean,
    saveInvstd,
    training,
    eps,
    outputMask,
):
    shape, count = (1, -1) + (1,) * (input.ndim - 2), input.size // max(input.shape[1], 1)
    g, x, axes = wide(gradOut), wide(input), (0, *range(2, input.ndim))
    mean = wide(saveMean if training else runningMean).reshape(shape)
    rstd = wide(saveInvstd) if training else 1 / np.sqrt(wide(runningVar) + eps)
    w, rstd = 1 if weight is None else wide(weight).reshape(shape), rstd.reshape(shape)
    xhat, grad = (x - mean) * rstd, g * w
    if training:
        grad = grad - np.sum(g * w, axis=axes, keepdims=True) / count
        grad = grad - xhat * np.sum(g * w * xhat, axis=axes, keepdims=True) / count
    kind = input.dtype if weight is None else weight.dtype
    outputs = {
        "gradInput": (grad * rstd).astype(input.dtype),
        "gradWeight": np.sum(g * xhat, axis=axes).astype(kind),
        "gradBias": np.sum(g, axis=axes).astype(kind),
    }
    return asked(outputs, outputMask)
