"""A gradient against its forward pass: the residual of the first-order Taylor polynomial must fall like h^2.

With a right gradient, |L(p + h v) - L(p) - h <grad, v>| is quartered when h is halved (rate 2); with a wrong one it is
halved (rate 1). No step size has to be chosen, and the verdict does not depend on the scale of the numbers.
"""

from collections.abc import Callable, Mapping

import numpy as np

SMOOTH, WRONG = 2.0, 1.0
HALVINGS = 8
Point = Mapping[str, np.ndarray]


def rate(loss: Callable[[dict], float], point: Point, gradient: Point, direction: Point, step: float) -> float:
    """Return the rate of the residual at the smallest step that rounding leaves; 2 where it is nothing but rounding.

    `loss` maps a point (arrays by name) to a number; `gradient` and `direction` have the names that vary.
    """
    at = loss(dict(point))
    slope = sum(float(np.sum(gradient[name] * direction[name])) for name in direction)
    residuals = []
    for k in range(HALVINGS):
        h = step * 2.0**-k
        moved = dict(point) | {name: point[name] + h * v for name, v in direction.items()}
        residuals.append(abs(loss(moved) - at - h * slope))
    size = abs(at) + step * abs(slope) + step * sum(
        float(np.sum(np.abs(gradient[name] * direction[name]))) for name in direction)
    floor = 1e4 * np.finfo(np.float64).eps * size  # of the sums in the loss
    rates = [np.log2(a / b) for a, b in zip(residuals, residuals[1:]) if b > floor]
    if not rates:
        return SMOOTH if residuals[0] <= 64 * floor else WRONG
    return float(rates[-1])


def failure(found: float, where: str) -> str | None:
    """What is wrong with a rate, if anything: it must be nearer to 2 than to 1."""
    return None if found >= 1.7 else f"the residual falls with rate {found:.2f} instead of 2 {where}"
