"""Whose error is it: the format's, the input's or the kernel's?

Beside the error of an output stand three yardsticks: the error of the correctly rounded truth, which no output of the
format can undercut; the error of a baseline, the same formula in the same precision on the host; and how far the truth
moves when every floating input moves by at most one ulp. Where the last is large, the problem is ill-conditioned: the
inputs, rounded themselves, do not determine the output any better.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy.stretches import pair, rounded_truth, same
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import by_name, function, whole
from aclnn_viz.tables import padded
from aclnn_viz.words.speech import message, tr

CAUSES = message("format"), message("baseline"), message("input"), message("kernel")


@dataclass(frozen=True, eq=False)
class Attribution:
    """Per element, all of the output's shape: `error`, the yardsticks `rounding`, `baseline` and `spread`, the `cause`.

    `cause` names the first yardstick that is as large as the error: "format" (correctly rounded), "baseline" (the host
    in the same precision is no better; absent without a baseline), "input" (rounding plus spread); otherwise "kernel".
    `spread` is the largest of `samples` draws; the true one may be larger still.
    """

    error: np.ndarray
    rounding: np.ndarray
    baseline: np.ndarray | None
    spread: np.ndarray
    cause: np.ndarray
    samples: int
    seed: int

    @property
    def counts(self) -> dict[str, int]:
        return {name: int(np.count_nonzero(self.cause == name)) for name in CAUSES}

    @property
    def worst(self) -> tuple[int, ...] | None:
        """The index of the largest error whose cause is the kernel, None when there is none."""
        blamed = self.cause == "kernel"
        if not blamed.any():
            return None
        at = np.where(blamed, self.error, -1.0).argmax()
        return tuple(int(i) for i in np.unravel_index(at, self.error.shape))

    def __str__(self) -> str:
        lines = [tr("{n} elements, {draws} draws of inputs within one ulp, seed {seed}", n=self.error.size, draws=self.samples,
                    seed=self.seed), *(f"  {padded(tr(name), 9)} {count}" for name, count in self.counts.items())]
        if self.worst is not None:
            error, rounding, spread = (f"{one[self.worst]:.4g}" for one in (self.error, self.rounding, self.spread))
            lines.append(tr("worst of the kernel's at {place}: error {error}, rounding {rounding}, spread {spread}", place=self.worst,
                            error=error, rounding=rounding, spread=spread))
        return "\n".join(lines)


def attribute_errors(actual, truth: Callable, inputs: dict, *, baseline=None, samples: int = 16,
                     seed: int = 0) -> Attribution:
    """Name the cause of each element's error by moving the inputs by at most one ulp.

    `actual` is an output of any of the four formats; `truth(**inputs)` returns float64 of the same shape. Of `inputs`,
    arrays of a floating format move, each in its own format; integers and attributes do not. `baseline` has the dtype
    and shape of `actual`. Raises TypeError or ValueError for what does not fit.

    >>> x = np.float32([1.0, 2.0])
    >>> attribute_errors(np.float32([3.0, 3.0]), lambda x: 1.5 * x.astype(float), {"x": x}).counts
    {'format': 1, 'baseline': 0, 'input': 0, 'kernel': 1}
    """
    samples, seed, truth = whole("samples", samples, 1), whole("seed", seed), function("truth", truth)
    by_name("inputs", inputs, "pass such as case.inputs")
    with np.errstate(all="ignore"):
        right = np.asarray(truth(**inputs))
        pairing = pair(actual, right, baseline)
        rng, spread = np.random.default_rng(seed), np.zeros(right.shape)
        for _ in range(samples):
            near = np.asarray(truth(**{name: nudged(value, rng) for name, value in inputs.items()}))
            spread = np.maximum(spread, _apart(near, right))
        rounded = rounded_truth(pairing.truth, pairing.fmt).reshape(pairing.shape)
        actual = pairing.actual.reshape(pairing.shape)
        error, rounding = _apart(actual, right, rounded), _apart(rounded, right, rounded)
        host = None if baseline is None else _apart(pairing.baseline.reshape(pairing.shape), right, rounded)
        cause = np.select([error <= rounding, False if host is None else error <= host, error <= rounding + spread],
                          CAUSES[:3], CAUSES[3])
    return Attribution(error, rounding, host, spread, cause, samples, seed)


def nudged(value, rng: np.random.Generator):
    """Move each finite element of a floating array by -1, 0 or 1 ulp of its format, never to an infinity."""
    try:
        fmt = float_format(value) if isinstance(value, np.ndarray) else None
    except ValueError:
        fmt = None
    if fmt is None:
        return value
    towards = rng.choice([-np.inf, np.nan, np.inf], value.shape).astype(fmt.numpy)
    near = np.nextafter(value, towards)
    return np.where(np.isfinite(near) & np.isfinite(value), near, value)


def _apart(values: np.ndarray, truth: np.ndarray, rounded: np.ndarray | None = None) -> np.ndarray:
    """|values - truth|: 0 where both are the same special value, also as an overflow of the format; inf otherwise."""
    distance = np.abs(values.astype(truth.dtype) - truth).astype(np.float64)
    distance[~np.isfinite(distance)] = np.inf
    target = truth if rounded is None else rounded
    settled = same(values.astype(np.float64), target.astype(np.float64)) & ~np.isfinite(target)
    return np.where(settled, 0.0, distance)
