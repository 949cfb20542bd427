"""A gradient against its forward pass: the residual of the first-order Taylor polynomial must fall like h^2.

With a right gradient, |L(p + h v) - L(p) - h <grad, v>| is quartered when h is halved (rate 2); with a wrong one it is
halved (rate 1). No step size has to be chosen, and the verdict does not depend on the scale of the numbers.
"""

from collections.abc import Callable, Mapping

import numpy as np

from aclnn_viz.words.speech import message

SMOOTH, WRONG = 2.0, 1.0
HALVINGS = 8
STEP = 2.0**-7  # of the first Taylor step, for directions of length 1: small against the tenth of a pixel to a kink
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


def bends_smoothly(loss: Callable[[dict], float], point: Point, direction: Point, step: float) -> bool:
    """Tell whether the loss has no kink within the step: its second difference must fall like h^2 from the start.

    Behind a kink it falls like h, and not at all behind a jump.
    """
    at, before = loss(dict(point)), None
    for k in range(HALVINGS):
        ends = [loss(dict(point) | {name: point[name] + side * step * 2.0**-k * v for name, v in direction.items()})
                for side in (-1, 1)]
        bend = abs(sum(ends) - 2 * at)
        if before is None:
            floor = 1e4 * np.finfo(np.float64).eps * (abs(at) + max(abs(end - at) for end in ends))
        elif not 2.0**-2.3 * before <= bend <= 2.0**-1.7 * before:
            return False
        if bend <= 8 * floor:  # what is quartered next is lost in rounding
            return True
        before = bend
    return True


def failure(found: float, where: str) -> str | None:
    """What is wrong with a rate, if anything: it must be nearer to 2 than to 1."""
    return None if found >= 1.7 else message("the residual falls with rate {rate} instead of 2 {where}", rate=f"{found:.2f}", where=where)
