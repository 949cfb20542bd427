"""Find the grid of an exact result, to settle the result if its error bound contains only one point of the grid.

Sums and products of numbers of a format, and their quotients by whole numbers, are whole multiples of a power of two (`step`)
divided by a whole number (`divisor`). This decides whether a gradient that was divided by 3 lies halfway between two numbers of
its format: more digits never would.
"""

from math import lcm
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays import double_double as dd
from aclnn_viz.arrays.local_errors import half_ulp

LARGEST = 1 << 20  # larger divisors count as unknown


class Multiples(NamedTuple):
    """The grid of an array: each element is a whole multiple of `step` (a power of two per element) / `divisor`."""

    step: np.ndarray
    divisor: int = 1


def of_array(array: np.ndarray) -> Multiples:
    """Return the grid of a floating array: the spacing of each element."""
    return Multiples(2.0 * half_ulp(array))


def of_number(number: float) -> Multiples | None:
    if not np.isfinite(number) or not number:
        return None
    odd, scale = float(number).as_integer_ratio()
    return Multiples(np.float64(odd & -odd) / np.float64(scale))


def joined(*parts: Multiples | None, step=np.minimum) -> Multiples | None:
    """Return the common grid of a sum, or of a choice of elements."""
    if any(part is None for part in parts):
        return None
    divisor = lcm(*(part.divisor for part in parts))
    return Multiples(step(*(part.step for part in parts)), divisor) if divisor <= LARGEST else None


def product(a: Multiples | None, b: Multiples | None) -> Multiples | None:
    if a is None or b is None or a.divisor * b.divisor > LARGEST:
        return None
    return Multiples(a.step * b.step, a.divisor * b.divisor)


def quotient(a: Multiples | None, number: np.ndarray) -> Multiples | None:
    """Return the grid of elements divided by one whole number."""
    if a is None or number.ndim or not float(number).is_integer() or not 0 < number <= LARGEST:
        return None
    even = int(number) & -int(number)
    divisor = int(number) // even * a.divisor
    return Multiples(a.step / even, divisor) if divisor <= LARGEST else None


def settled(value, error, multiples: Multiples):
    """Return (high, low, error) of exact numbers that lie on a grid and within `error` of the pair `value`."""
    high, low = (np.zeros(error.shape) + part for part in value)
    number = np.float64(multiples.divisor), None
    (times_high, times_low), lost = dd.multiply((high, low), number)
    step = np.where(multiples.step > 0.0, multiples.step, 1.0)
    whole, part = np.rint(times_high / step), times_low / step
    whole, rest = dd.two_sum(whole, np.rint((times_high / step - whole) + part))
    reach = multiples.divisor * error + (0.0 if lost is None else lost)
    sure = (
        (error > 0.0)
        & (multiples.step > 0.0)
        & (reach < 0.4 * step)
        & (np.abs(times_high / step) < 2.0**104)
    )
    (high_, low_), lost = dd.divide((whole * step, rest * step), number)
    sure &= np.abs((high_ - high) + (low_ - low)) <= error * dd.ROOM + lost
    return np.where(sure, high_, high), np.where(sure, low_, low), np.where(sure, lost, error)
