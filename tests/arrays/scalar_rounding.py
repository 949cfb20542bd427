"""Numbers rounded one by one, as exact fractions: judges of NumPy's results on arrays."""

import math
from fractions import Fraction

FORMATS = {"float16": (11, -14), "bfloat16": (8, -126), "float32": (24, -126)}


def rounded(value, dtype, away=False):
    """Return a Fraction rounded to the nearest number of a format; ties to even, or away from zero."""
    bits, least = FORMATS[dtype]
    value = Fraction(value)
    if not value:
        return value
    exponent = math.frexp(abs(float(value)))[1] - 1
    step = Fraction(2) ** (max(exponent, least) - bits + 1)
    whole, rest = divmod(abs(value) / step, 1)
    up = rest > Fraction(1, 2) or rest == Fraction(1, 2) and (away or whole % 2 == 1)
    return (1 if value > 0 else -1) * (whole + up) * step
