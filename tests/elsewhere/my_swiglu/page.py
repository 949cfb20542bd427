"""SwiGLU: x is cut in halves a and b along dim, out = silu(a) * b with silu(a) = a * sigmoid(a).

Source: Shazeer, "GLU variants improve transformer" (2020); aclnnSwiGluGrad, CANN operator documentation.
"""

AXES = {"x": "a..b", "out": "a.b", "yGrad": "a.b", "xGrad": "a..b"}


def sigmoid(xp, x):
    return 1.0 / (1.0 + xp.exp(-x))


def forward(xp, x):
    a, b = x[:, 0], x[:, 1]
    return {"out": a * sigmoid(xp, a) * b}


def backward(xp, yGrad, x):
    a, b = x[:, 0], x[:, 1]
    s = sigmoid(xp, a)
    slope = s * (1.0 + a * sigmoid(xp, -a))  # of silu: 1 - s would cancel where a is large
    return {"xGrad": xp.stack([yGrad * b * slope, yGrad * a * s], axis=1)}
