import numpy as np
from checking.wrong.common import asked


def kernel(gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask):
    n = int(np.prod(normalizedShape))
    rows = input.size // n if n else 0
    xs, dys = (part.astype(np.float32).reshape(rows, n) for part in (input, gradOut))
    m, r = (part.astype(np.float32).ravel() for part in (mean, rstd))
    w = (
        np.ones(n, np.float32)
        if weightOptional is None
        else weightOptional.astype(np.float32).ravel()
    )
    dx, dw, db = (np.zeros_like(xs), np.zeros(n, np.float32), np.zeros(n, np.float32))
    for row in range(rows):
        centred = xs[row] - m[row]
        hat = centred * r[row]
        grad = dys[row] * w
        first, second = (np.sum(grad, dtype=np.float32), np.sum(grad * hat, dtype=np.float32))
        count = np.float32(n)
        dx[row] = (grad * count - first - hat * second) * (r[row] / count)
        term = dys[row] * hat
        dw += term
        db += dys[row]
    kind = input.dtype if weightOptional is None else weightOptional.dtype
    shape = tuple(normalizedShape)
    outputs = {
        "gradInputOut": dx.reshape(input.shape).astype(input.dtype),
        "gradWeightOut": dw.reshape(shape).astype(kind),
        "gradBiasOut": db.reshape(shape).astype(kind),
    }
    return asked(outputs, outputMask)
