"""Exact oracles: rounding and places of a format in rational numbers, and the measures by their definitions."""

import math
from fractions import Fraction

PRECISION = {
    "float16": (11, -14),
    "bfloat16": (8, -126),
    "float32": (24, -126),
    "float64": (53, -1022),
}


def place(value: Fraction, name: str) -> int:
    """Return the place of the format's value nearest to a rational (ties to even), counted from zero."""
    bits, low = PRECISION[name]
    if value < 0:
        return -place(-value, name)
    if value == 0:
        return 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > value
    exponent = max(exponent, low)
    steps = round(value / Fraction(2) ** (exponent - bits + 1))  # Fraction rounds half to even
    return min((exponent - low) * 2 ** (bits - 1) + steps, infinity(name))


def infinity(name: str) -> int:
    bits, low = PRECISION[name]
    # one step beyond 2 - 2 low binades of normal numbers and the subnormals
    return (3 - 2 * low) * 2 ** (bits - 1)


def measures(actual, truth, name: str) -> dict[str, float]:
    """Return the measures of finite data, by their definitions in rational arithmetic."""
    a, g = [Fraction(float(v)) for v in actual], [Fraction(float(v)) for v in truth]
    n, eps = len(a), Fraction(1e-7)
    errors = [x - y for x, y in zip(a, g)]
    relative = [abs(e) / (abs(y) + eps) for e, y in zip(errors, g)]
    steps = [abs(place(x, name) - place(y, name)) for x, y in zip(a, g)]
    dot, aa, gg = (sum(x * y for x, y in pairs) for pairs in (zip(a, g), zip(a, a), zip(g, g)))
    return {
        "max_ulp": max(steps),
        "max_abs": float(max(map(abs, errors))),
        "mare": float(max(relative)),
        "max_relative": max(
            float(abs(e) / abs(y)) if y else math.inf * bool(e) if e else 0.0
            for e, y in zip(errors, g)
        ),
        "mere": float(sum(relative) / n),
        "mean_abs": float(sum(map(abs, errors)) / n),
        "rmse": root(sum(e * e for e in errors) / n),
        "cosine": root(dot * dot / (aa * gg)) * (1 if dot > 0 else -1) if aa and gg else math.nan,
        "error_balance": abs(sum((e > 0) - (e < 0) for e in errors)) / n,
        "counts": [sum(s == k for s in steps) for k in range(4)] + [sum(s > 3 for s in steps)],
        "worst": steps.index(max(steps)),
    }


def root(value: Fraction) -> float:
    """Return the square root of a rational, to more digits than a float64 has."""
    if not value:
        return 0.0
    shift = 2 * (128 - (value.numerator.bit_length() - value.denominator.bit_length()) // 2)
    scaled = value * Fraction(2) ** shift
    return float(
        Fraction(math.isqrt(scaled.numerator // scaled.denominator)) / Fraction(2) ** (shift // 2)
    )
