"""Formulas that several activations share: sigmoid, GELU, and the derivative of GELU."""


def sigmoid(xp, x):
    """Return 1 / (1 + exp(-x)); where exp(-x) overflows the result is 0, as it should be."""
    return 1.0 / (1.0 + xp.exp(-x))


# in this order: sqrt(1/2); 2 / sqrt(pi); sqrt(2 / pi); cubic coefficient
ROOT_HALF, ERF_SLOPE, ROOT, CUBIC = (
    0.7071067811865476,
    1.1283791670955126,
    0.7978845608028654,
    0.044715,
)


def gaussian(xp, x, approximate):
    """Return GELU, x * (1 + erf(x / sqrt(2))) / 2; "tanh" replaces erf by tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))."""
    inner = (
        xp.erf(ROOT_HALF * x) if approximate == "none" else xp.tanh(ROOT * (x + CUBIC * x * x * x))
    )
    return 0.5 * x * (1.0 + inner)


def gaussian_slope(xp, x, approximate):
    """Return the derivative of GELU."""
    if approximate == "none":
        z = ROOT_HALF * x
        return 0.5 * (1.0 + xp.erf(z)) + 0.5 * z * (ERF_SLOPE * xp.exp(-z * z))
    t = xp.tanh(ROOT * (x + CUBIC * x * x * x))
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * (ROOT * (1.0 + 3.0 * (CUBIC * x * x)))
