"""Forward pages as users write them, to test `derive`, each with shapes and numbers of its other arguments."""

from math import pi, sqrt

ROWS = {"x": ("r", "n")}


def sigmoid(xp, x):
    return 1.0 / (1.0 + xp.exp(-x))


def softplus(xp, x):
    return xp.maximum(x, 0.0) + xp.log(1.0 + xp.exp(-xp.abs(x)))


def gelu_tanh(xp, x):
    u = sqrt(2.0 / pi) * (x + 0.044715 * x**3)
    return {"y": 0.5 * x * (1.0 + xp.tanh(u))}


def fast_gelu(xp, x):
    return {"y": x * sigmoid(xp, 1.702 * x)}


def silu(xp, x):
    return {"y": x / (1.0 + xp.exp(-x))}


def swish(xp, x, beta):
    return {"y": x * sigmoid(xp, beta * x)}


def mish(xp, x):
    t = xp.tanh(softplus(xp, x))
    return {"y": x * t}


def softplus_beta(xp, x, beta, threshold):
    z = beta * x
    return {"y": xp.where(z > threshold, x, xp.log1p(xp.exp(z)) / beta)}


def elu(xp, x, alpha, scale, inputScale):
    return {"y": xp.where(x > 0.0, x * scale, alpha * scale * (xp.exp(x * inputScale) - 1.0))}


def celu(xp, x, alpha):
    return {"y": xp.maximum(x, 0.0) + xp.minimum(alpha * (xp.exp(x / alpha) - 1.0), 0.0)}


def selu(xp, x):
    return {
        "y": 1.0507009873554805
        * (xp.maximum(x, 0.0) + xp.minimum(1.6732632423543772 * xp.expm1(x), 0.0))
    }


def leaky_relu(xp, x, negativeSlope):
    y = xp.where(x > 0.0, x, negativeSlope * x)
    return {"y": y}


def prelu(xp, x, weight):
    w = weight[None, :, None]
    return {"y": xp.where(x > 0.0, x, w * x)}


def relu(xp, x):
    return {"y": xp.maximum(x, 0.0)}


def hardsigmoid(xp, x):
    return {"y": xp.clip(x / 6.0 + 0.5, 0.0, 1.0)}


def hardtanh(xp, x, low, high):
    return {"y": xp.clip(x, low, high)}


def hardswish(xp, x):
    return {"y": x * xp.minimum(xp.maximum(x + 3.0, 0.0), 6.0) / 6.0}


def hardshrink(xp, x, lambd):
    return {"y": xp.where(xp.abs(x) > lambd, x, xp.zeros_like(x))}


def softshrink(xp, x, lambd):
    return {"y": xp.where(x > lambd, x - lambd, xp.where(x < -lambd, x + lambd, xp.zeros_like(x)))}


def threshold(xp, x, limit, value):
    return {"y": xp.where(x > limit, x, xp.full_like(x, 0.0) + value)}


def tanh(xp, x):
    return {"y": xp.tanh(x)}


def plain_sigmoid(xp, x):
    return {"y": sigmoid(xp, x)}


def log_sigmoid(xp, x):
    return {"y": -softplus(xp, -x)}


def softsign(xp, x):
    return {"y": x / (1.0 + abs(x))}


def glu(xp, x):
    half = x.shape[1] // 2
    return {"y": x[:, :half] * sigmoid(xp, x[:, half:])}


def rms_norm(xp, x, gamma, epsilon):
    rstd = 1.0 / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + epsilon)
    return {"y": x * rstd * gamma, "rstd": rstd}


def layer_norm(xp, x, gamma, beta, eps):
    mean = xp.mean(x, axis=-1, keepdims=True)
    centred = x - mean
    rstd = 1.0 / xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + eps)
    xhat = centred * rstd
    return {"y": xhat * gamma + beta, "mean": mean, "rstd": rstd}


def group_norm(xp, x, gamma, beta, eps):
    mean = xp.mean(x, axis=(2, 3), keepdims=True)
    x = x - mean
    rstd = 1.0 / xp.sqrt(xp.mean(x * x, axis=(2, 3), keepdims=True) + eps)
    return {"y": x * rstd * gamma[:, :, None] + beta[:, :, None], "mean": mean, "rstd": rstd}


def softmax(xp, x):
    e = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return {"y": e / xp.sum(e, axis=-1, keepdims=True)}


def nll(xp, x, target, smoothing):
    shifted = x - xp.max(x, axis=1, keepdims=True)
    logp = shifted - xp.log(xp.sum(xp.exp(shifted), axis=1, keepdims=True))
    hit = target[:, None] == xp.arange(x.shape[1])[None, :]
    picked = xp.sum(xp.where(hit, logp, xp.zeros_like(logp)), axis=1)
    return {
        "loss": -xp.mean((1.0 - smoothing) * picked + smoothing * xp.mean(logp, axis=1)),
        "logp": logp,
    }


def swiglu(xp, x):
    a, b = x[:, 0], x[:, 1]
    return {"y": a * sigmoid(xp, a) * b}


def bilinear(xp, image, grid):
    """Sample an image (c, h, w) at grid (p, 2) in pixels."""
    height, width = image.shape[1], image.shape[2]
    flat = xp.reshape(image, (image.shape[0], height * width))
    column, row = xp.floor(grid[:, 0]), xp.floor(grid[:, 1])
    u, v = grid[:, 0] - column, grid[:, 1] - row
    total = 0.0
    for down in (0, 1):
        for right in (0, 1):
            i, j = xp.astype(row, xp.int64) + down, xp.astype(column, xp.int64) + right
            inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
            at = xp.where(inside, i * width + j, xp.zeros_like(i))
            weight = (v if down else 1.0 - v) * (u if right else 1.0 - u)
            value = xp.take(flat, at, axis=1) * weight
            total = total + xp.where(inside, value, xp.zeros_like(value))
    return {"y": total}


def pooled(xp, x):
    """Return average pooling of windows of k by k that do not overlap: x (n, h, k, w, k)."""
    return {"y": xp.mean(x, axis=(2, 4))}


def pooled_1d(xp, x, kernel=3, stride=2, padding=1):
    """Return average pooling of overlapping windows of the padded rows of x."""
    windows = (x.shape[1] + 2 * padding - kernel) // stride + 1
    total = 0.0
    for k in range(kernel):
        at = xp.arange(windows) * stride - padding + k
        inside = (at >= 0) & (at < x.shape[1])
        total = total + xp.take(x, xp.clip(at, 0, x.shape[1] - 1), axis=1) * xp.astype(
            inside, x.dtype
        )
    return {"y": total / kernel}


#: name: (function, wrt, saved, shapes, labels, numbers)
ALL = {
    f.__name__: (f, wrt, saved, shapes, labels, numbers)
    for f, wrt, saved, shapes, labels, numbers in (
        *(
            (f, "x", "", ROWS, {}, numbers)
            for f, numbers in (
                (gelu_tanh, {}),
                (fast_gelu, {}),
                (silu, {}),
                (swish, {"beta": 1.3}),
                (mish, {}),
                (softplus_beta, {"beta": 1.3, "threshold": 2.0}),
                (elu, {"alpha": 0.7, "scale": 1.2, "inputScale": 0.9}),
                (celu, {"alpha": 0.7}),
                (selu, {}),
                (leaky_relu, {"negativeSlope": 0.1}),
                (relu, {}),
                (hardsigmoid, {}),
                (hardtanh, {"low": -0.7, "high": 0.9}),
                (hardswish, {}),
                (hardshrink, {"lambd": 0.5}),
                (softshrink, {"lambd": 0.5}),
                (threshold, {"limit": 0.3, "value": 7.0}),
                (log_sigmoid, {}),
                (softsign, {}),
            )
        ),
        (tanh, "x", "y", ROWS, {}, {}),
        (plain_sigmoid, "x", "y", ROWS, {}, {}),
        (prelu, "x weight", "", {"x": ("n", "c", "p"), "weight": ("c",)}, {}, {}),
        (rms_norm, "x gamma", "rstd", ROWS | {"gamma": ("n",)}, {}, {"epsilon": 1e-6}),
        (
            layer_norm,
            "x gamma beta",
            "mean rstd",
            ROWS | {"gamma": ("n",), "beta": ("n",)},
            {},
            {"eps": 1e-5},
        ),
        (
            group_norm,
            "x gamma beta",
            "mean rstd",
            {"x": ("n", "g", "d", "h"), "gamma": ("g", "d"), "beta": ("g", "d")},
            {},
            {"eps": 1e-5},
        ),
        (softmax, "x", "y", ROWS, {}, {}),
        (
            nll,
            "x",
            "logp",
            {"x": ("r", "n"), "target": ("r",)},
            {"target": "n"},
            {"smoothing": 0.1},
        ),
        (swiglu, "x", "", {"x": ("r", 2, "n")}, {}, {}),
        (bilinear, "image grid", "", {"image": ("c", "h", "w"), "grid": ("p", 2)}, {}, {}),
        (pooled, "x", "", {"x": ("n", "h", 2, "w", 2)}, {}, {}),
        (pooled_1d, "x", "", ROWS, {}, {}),
    )
}


def reused(xp, x, a):
    x = x * 2.0
    x = x + a
    x = xp.exp(x)
    return {"y": x * x}


def two_axes(xp, x):
    return {"y": (x - xp.mean(x, axis=(0, 1), keepdims=True)) ** 3}


def column_sums(xp, x):
    s = xp.sum(x * x, axis=0)
    return {"y": x / s}


def over_its_top(xp, x):
    return {"y": x / xp.max(x, axis=-1, keepdims=True)}


def tops(xp, x):
    return {"y": 2.0 * xp.max(x, axis=1), "z": xp.min(x)}


def branches(xp, x, alpha, square=False):
    if alpha > 0.5:
        return {"y": alpha * (x * x if square else x)}
    return {"y": x * x * x * alpha}


def powers(xp, x, p=3, kind="odd"):
    return {"y": (x**p if kind == "odd" else x) + (x * x + 1.0) ** 0.5 + (x * x + 1.0) ** -1.5}


def several(xp, x, gamma):
    u = x * gamma
    return {"a": u, "b": xp.sum(u * u, axis=1), "c": xp.exp(u)}


def output_of_output(xp, x):
    y = xp.tanh(x)
    return {"y": y, "z": y * y}


def nothing_of_gamma(xp, x, gamma):
    return {"y": 3.0 * x}


def itself(xp, x):
    return {"y": x, "z": x}


def constant(xp, x):
    return {"y": xp.zeros_like(x)}


def moved(xp, x):
    return {"y": xp.reshape(xp.moveaxis(x, 0, 1), (-1,)) ** 2}


def log_sum_exp(xp, x):
    top = xp.max(x, axis=1, keepdims=True)
    return {"y": xp.log(xp.sum(xp.exp(x - top), axis=1)) + top[:, 0]}


def rotated(xp, x, cos, sin):
    half = x.shape[1] // 2
    a, b = x[:, :half], x[:, half:]
    return {"y": xp.concat([a * cos - b * sin, a * sin + b * cos], axis=1)}


def cancels(xp, x, gamma):
    return {"y": x - x + x * gamma / gamma}


def guarded(xp, x):
    return {"y": x / xp.guard(xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True)), 1e-12)}


def alone(xp, x, s):
    return {"y": x * s[0] + s[1], "total": xp.mean(x)}


BOTH, HALVES = ROWS | {"gamma": ("n",)}, {"x": ("r", "2*n"), "cos": ("r", "n"), "sin": ("r", "n")}
#: Less usual pages: names used twice, means over two axes, conditions of Python, several outputs, and outputs of nothing.
OTHERS = {
    f"{f.__name__}{k or ''}": (f, wrt, saved, shapes, {}, numbers)
    for k, (f, wrt, saved, shapes, numbers) in enumerate(
        (
            (reused, "x", "", ROWS, {"a": 0.3}),
            (two_axes, "x", "", ROWS, {}),
            (column_sums, "x", "", ROWS, {}),
            (over_its_top, "x", "", ROWS, {}),
            (tops, "x", "", ROWS, {}),
            (branches, "x", "", ROWS, {"alpha": 0.7, "square": True}),
            (branches, "x", "", ROWS, {"alpha": 0.3, "square": True}),
            (powers, "x", "", ROWS, {}),
            (several, "x gamma", "", BOTH, {}),
            (several, "gamma", "c", BOTH, {}),
            (output_of_output, "x", "", ROWS, {}),
            (output_of_output, "x", "z", ROWS, {}),
            (nothing_of_gamma, "x gamma", "", BOTH, {}),
            (itself, "x", "", ROWS, {}),
            (constant, "x", "", ROWS, {}),
            (moved, "x", "", ROWS, {}),
            (log_sum_exp, "x", "", ROWS, {}),
            (rotated, "x cos sin", "", HALVES, {}),
            (cancels, "x gamma", "", BOTH, {}),
            (guarded, "x", "", ROWS, {}),
            (alone, "x s", "", ROWS | {"s": (2,)}, {}),
            (glu, "x", "", {"x": ("r", "2*n")}, {}),
        )
    )
}
