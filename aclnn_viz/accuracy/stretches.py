"""Cut an output and its truth into cache-sized stretches, and hold what every measure and standard asks of one.

A pair of elements is *finite* when the output and the correctly rounded truth both are. Only finite pairs have an
absolute or a relative error; all other pairs either agree (nan with nan, an infinity with the same infinity) or differ,
and are counted. A truth beyond the largest number of the format counts as the infinity that it rounds to.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from aclnn_viz.arrays.driver import run_all
from aclnn_viz.arrays.truth import Certified, certificate, rounded_sum, undecided
from aclnn_viz.dtypes import STRETCH, FloatFormat, float_format, ordinal_distance
from aclnn_viz.errors import problem
from aclnn_viz.storage.own import as_array

LENGTH = STRETCH
RELATIVE_EPS = 1e-7  # added to |truth| in MERE and MARE by every Ascend standard


def rounded_truth(truth: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Round a truth, with what it lacks of the exact numbers if that is known, once to the format."""
    return rounded_sum(np.asarray(truth), certificate(truth)[0], fmt)


class Stretch:
    """One stretch of an output beside its truth; derived arrays hold the finite pairs only, except `distance`.

    `low` and `error` are the certificate of the truth, None without one. Pairs for which it does not tell the nearest
    number of the format are left out, and counted in `undecided`; `places` are the positions of the others (None: all).
    """

    def __init__(self, fmt: FloatFormat, actual: np.ndarray, truth: np.ndarray, low=None, error=None):
        open_ = np.zeros(0, bool) if error is None else undecided(truth, low, error, fmt)
        self.undecided, self.places = int(np.count_nonzero(open_)), None
        if self.undecided:
            self.places = np.flatnonzero(~open_)
            actual, truth, low = actual[self.places], truth[self.places], low[self.places]
        self.fmt, self.raw_actual, self.raw_truth, self.low = fmt, actual, truth, low
        self.rounded = rounded_sum(truth, low, fmt)

    def position(self, at: int) -> int:
        """Where an element that is looked at lies in the stretch."""
        return at if self.places is None else int(self.places[at])

    @cached_property
    def is_finite(self) -> np.ndarray:
        return np.isfinite(self.raw_actual) & np.isfinite(self.rounded)

    @cached_property
    def all_finite(self) -> bool:
        return bool(self.is_finite.all())

    def _finite(self, values: np.ndarray) -> np.ndarray:
        return values if self.all_finite else values[self.is_finite]

    @cached_property
    def count(self) -> int:
        return int(np.count_nonzero(self.is_finite))

    @cached_property
    def actual(self) -> np.ndarray:
        return self._finite(self.raw_actual).astype(np.float64)

    @cached_property
    def truth(self) -> np.ndarray:
        return self._finite(self.raw_truth).astype(np.float64, copy=False)

    @cached_property
    def error(self) -> np.ndarray:
        """The signed error actual - truth."""
        apart = self.actual - self.truth
        return apart if self.low is None else apart - self._finite(self.low)

    @cached_property
    def absolute(self) -> np.ndarray:
        return np.abs(self.error)

    @cached_property
    def magnitude(self) -> np.ndarray:
        return np.abs(self.truth)

    @cached_property
    def relative(self) -> np.ndarray:
        """|actual - truth| / (|truth| + 1e-7), the relative error of MERE and MARE."""
        return self.over_truth(RELATIVE_EPS)

    def over_truth(self, more: float) -> np.ndarray:
        """|actual - truth| / (|truth| + more), also where the difference is beyond the largest number."""
        ratio = self.absolute / (self.magnitude + more)
        if self.beyond is not None:
            ratio[self.beyond] = self.halves[self.beyond] / ((self.magnitude[self.beyond] + more) / 2)
        return ratio

    @cached_property
    def beyond(self) -> np.ndarray | None:
        """Where the difference is beyond the largest number, or None: only numbers of float64 are so far apart."""
        return np.isinf(self.absolute) if self.fmt.bits == 64 and np.isinf(self.absolute).any() else None

    @property
    def halves(self) -> np.ndarray:
        """|actual - truth| / 2, which no two numbers are too far apart for."""
        apart = self.actual / 2 - self.truth / 2
        return np.abs(apart if self.low is None else apart - self._finite(self.low) / 2)

    @cached_property
    def distance(self) -> np.ndarray:
        """Steps of the format between the output and the rounded truth, for all pairs; nan against a number is inf."""
        distance = np.zeros(self.raw_actual.shape)
        bits = f"u{self.fmt.bits // 8}"
        apart = self.raw_actual.view(bits) != self.rounded.view(bits)
        distance[apart] = ordinal_distance(self.raw_actual[apart], self.rounded[apart], self.fmt)
        return distance

    @cached_property
    def specials(self) -> tuple[np.ndarray, np.ndarray]:
        """The output and the rounded truth of the pairs that are not finite, as float64."""
        if self.all_finite:
            return np.empty(0), np.empty(0)
        return tuple(values[~self.is_finite].astype(np.float64) for values in (self.raw_actual, self.rounded))

    @cached_property
    def differing(self) -> int:
        """Count the pairs that are not finite and do not agree."""
        return int(np.count_nonzero(~same(*self.specials)))

    @cached_property
    def differing_kind(self) -> int:
        """The same without looking at the sign of infinities."""
        return int(np.count_nonzero(~same(*(np.abs(values) for values in self.specials))))


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two arrays hold the same number, or nan both."""
    return (a == b) | (np.isnan(a) & np.isnan(b))


@dataclass(frozen=True, eq=False)
class Pairing:
    """An output, its truth and perhaps a baseline, validated; arrays are flat, `shape` is the original one.

    `low` and `error` are the certificate of the truth, if it has one.
    """

    fmt: FloatFormat
    shape: tuple[int, ...]
    actual: np.ndarray
    truth: np.ndarray
    baseline: np.ndarray | None
    low: np.ndarray | None = None
    error: np.ndarray | None = None

    @property
    def size(self) -> int:
        return self.actual.size

    def each(self, examine: Callable) -> Iterator:
        """Yield examine(start, stretch, stretch of the baseline or None) of every stretch, in order, from threads."""
        def one(start):
            with np.errstate(all="ignore"):  # infinities and nans are counted, not warned of
                return examine(start, *self._stretches(slice(start, start + LENGTH)))

        return run_all(one, range(0, self.size, LENGTH), self.size)

    def _stretches(self, part):
        certified = (self.truth[part].astype(np.float64, copy=False),
                     *(None if known is None else known[part] for known in (self.low, self.error)))
        yield Stretch(self.fmt, self.actual[part], *certified)
        yield None if self.baseline is None else Stretch(self.fmt, self.baseline[part], *certified)


def pair(actual, truth, baseline=None) -> Pairing:
    """Validate an output against its truth: same shape, and a truth that holds every number of the output's format.

    Raises TypeError for a dtype that does not fit or a truth in the place of the output, ValueError for a shape that
    does not.
    """
    if isinstance(actual, Certified) and not isinstance(truth, Certified):
        raise TypeError(problem("actual must be an output", "a truth, with its certificate",
                                "exchange the first two arguments: actual comes before truth"))
    low, error = certificate(truth)
    actual, truth = (np.asarray(as_array(value, floating=True)) for value in (actual, truth))
    fmt, exact = _format(actual, "actual"), _format(truth, "truth")
    if exact.significand_bits < fmt.significand_bits or exact.min_exponent > fmt.min_exponent:
        raise TypeError(problem(f"truth must hold every number of the output's format {fmt.name}", truth.dtype.name,
                                "compute the truth in float64; of the two arguments actual comes first"))
    _same_shape(truth, "truth", actual)
    if baseline is not None:
        baseline = np.asarray(as_array(baseline, floating=True))
        if baseline.dtype != actual.dtype:
            raise TypeError(problem(f"baseline must have the dtype of actual, {fmt.name}", baseline.dtype.name,
                                    "compute the baseline in the same precision as the output"))
        _same_shape(baseline, "baseline", actual)
        baseline = baseline.astype(fmt.numpy, copy=False).reshape(-1)
    return Pairing(fmt, actual.shape, actual.astype(fmt.numpy, copy=False).reshape(-1), truth.reshape(-1), baseline,
                   *(None if known is None else known.reshape(-1) for known in (low, error)))


def _format(array: np.ndarray, name: str) -> FloatFormat:
    try:
        return float_format(array)
    except ValueError:
        raise TypeError(problem(f"{name} must be an array of a floating format", array.dtype.name,
                                "use float16, bfloat16, float32 or float64")) from None


def _same_shape(array: np.ndarray, name: str, actual: np.ndarray) -> None:
    if array.shape == actual.shape:
        return
    axes = [axis for axis, sizes in enumerate(zip(array.shape, actual.shape)) if sizes[0] != sizes[1]]
    where = f"axis {axes[0]} disagrees" if array.ndim == actual.ndim else f"rank {array.ndim} against {actual.ndim}"
    raise ValueError(problem(f"{name} must have the shape of actual, {actual.shape}", f"{array.shape} ({where})",
                             "compare arrays element by element, without broadcasting"))
