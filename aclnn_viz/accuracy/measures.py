"""Measure the errors of an output against the exact values (absolute, relative, in ulps, cosine and more), in one pass over
stretches that fit the cache.

A pair of elements is *finite* when the output and the correctly rounded truth both are. Only finite pairs have an absolute or a
relative error; all others either agree (nan with nan, an infinity with the same infinity) or differ, and are counted. A truth
beyond the largest number of the format counts as the infinity that it rounds to.

Means, RMSE, cosine and error balance run over the finite pairs (`finite_size`); maxima also see the others: an output
that is nan or infinite where the truth is not, or the other way round, has an infinite absolute and relative error.
Elements whose correctly rounded number the certificate of the truth does not determine are `undecided`: they enter no measure
and no standard. ulp distances count steps between numbers of the output's format from the correctly rounded truth: the two
zeros are one number, subnormals count, an infinity is one step beyond the largest number, nan is 0 steps from nan and
infinitely many from other numbers.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aclnn_viz.arrays.driver import run_all
from aclnn_viz.arrays.truth import Certified, certificate, rounded_sum, undecided
from aclnn_viz.dtypes import STRETCH, FloatFormat, float_format, ordinal_distance
from aclnn_viz.errors import by_name, invalid, mistyped
from aclnn_viz.storage.foreign_arrays import as_array
from aclnn_viz.words.messages import message

LENGTH = STRETCH
RELATIVE_EPS = 1e-7  # added to |truth| in MERE and MARE by every Ascend standard


def rounded_truth(truth: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Round a truth, with the remainder of its certificate if it has one, once to the format."""
    return rounded_sum(np.asarray(truth), certificate(truth)[0], fmt)


class Stretch:
    """A slice of an output and of its truth, from which the `tally` of a standard makes numbers.

    Numbers: `count` finite pairs; `differing` other pairs that differ; `differing_kind`, the same ignoring signs of infinities.
    Float64 arrays of the finite pairs: `actual`, `truth`, `error` = actual - truth, `absolute` = |error|, `magnitude` = |truth|,
    `relative` = |error| / (|truth| + 1e-7), and `over_truth(more)` with another number instead of 1e-7. `fmt` is the format.

    `low` and `error` are the certificate of the truth, None without one. Pairs for which it does not determine the nearest
    number of the format are left out, and counted in `undecided`; `places` are the positions of the others (None: all).
    """

    def __init__(
        self, fmt: FloatFormat, actual: np.ndarray, truth: np.ndarray, low=None, error=None
    ):
        open_ = np.zeros(0, bool) if error is None else undecided(truth, low, error, fmt)
        self.undecided, self.places = counted(open_), None
        if self.undecided:
            self.places = np.flatnonzero(~open_)
            actual, truth, low = actual[self.places], truth[self.places], low[self.places]
        self.fmt, self.raw_actual, self.raw_truth, self.low = (
            fmt,
            actual,
            truth,
            None if low is None or not low.any() else low,
        )
        self.rounded = rounded_sum(truth, self.low, fmt)

    def position(self, at: int) -> int:
        """Return the position in the stretch of finite pair number `at`."""
        return at if self.places is None else int(self.places[at])

    @cached_property
    def apart(self) -> np.ndarray:
        """Return the positions where the bits of the output and of the rounded truth differ."""
        bits = f"u{self.fmt.bits // 8}"
        return np.flatnonzero(self.raw_actual.view(bits) != self.rounded.view(bits))

    @cached_property
    def is_finite(self) -> np.ndarray:
        finite = np.isfinite(self._wide)
        finite[self.apart] &= np.isfinite(self.rounded[self.apart])
        return finite

    @cached_property
    def all_finite(self) -> bool:
        return self.count == self.raw_actual.size

    def _finite(self, values: np.ndarray) -> np.ndarray:
        return values if self.all_finite else values[self.is_finite]

    @cached_property
    def count(self) -> int:
        return counted(self.is_finite)

    @cached_property
    def _wide(self) -> np.ndarray:
        return self.raw_actual.astype(np.float64, copy=False)

    @cached_property
    def actual(self) -> np.ndarray:
        return self._finite(self._wide)

    @cached_property
    def truth(self) -> np.ndarray:
        return self._finite(self.raw_truth).astype(np.float64, copy=False)

    @cached_property
    def error(self) -> np.ndarray:
        """Return the signed error, actual - truth."""
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
        """Return |actual - truth| / (|truth| + 1e-7), the relative error of MERE and MARE."""
        return self.over_truth(RELATIVE_EPS)

    def over_truth(self, more: float) -> np.ndarray:
        """Return |actual - truth| / (|truth| + more), also where the difference overflows float64."""
        ratio = self.absolute / (self.magnitude + more)
        if self.beyond is not None:
            ratio[self.beyond] = self.halves[self.beyond] / (
                (self.magnitude[self.beyond] + more) / 2
            )
        return ratio

    @cached_property
    def beyond(self) -> np.ndarray | None:
        """Return the mask of pairs whose difference overflows float64, or None if there are none."""
        return (
            np.isinf(self.absolute)
            if self.fmt.bits == 64 and np.isinf(self.absolute).any()
            else None
        )

    @property
    def halves(self) -> np.ndarray:
        """Return |actual - truth| / 2, which never overflows."""
        apart = self.actual / 2 - self.truth / 2
        return np.abs(apart if self.low is None else apart - self._finite(self.low) / 2)

    @cached_property
    def steps(self) -> np.ndarray:
        """Return the distance in steps of the format at the positions `apart`; inf between nan and a number."""
        return ordinal_distance(self.raw_actual[self.apart], self.rounded[self.apart], self.fmt)

    @cached_property
    def products(self) -> dict[str, "ScaledSum"]:
        """Return the three sums of products for the cosine."""
        return {
            "dot": ScaledSum.of_products(self.actual, self.truth),
            "actual": ScaledSum.of_products(self.actual, self.actual),
            "truth": ScaledSum.of_products(self.truth, self.truth),
        }

    @cached_property
    def specials(self) -> tuple[np.ndarray, np.ndarray]:
        """Return output and rounded truth of the pairs that are not finite, as float64."""
        if self.all_finite:
            return np.empty(0), np.empty(0)
        return tuple(
            values[~self.is_finite].astype(np.float64) for values in (self.raw_actual, self.rounded)
        )

    @cached_property
    def differing(self) -> int:
        """Count the pairs that are not finite and do not agree."""
        return counted(~same(*self.specials))

    @cached_property
    def differing_kind(self) -> int:
        """Count the pairs that are not finite and differ in more than the sign of an infinity."""
        return counted(~same(*(np.abs(values) for values in self.specials)))


def counted(mask: np.ndarray) -> int:
    """Return how many elements of a mask are true."""
    return int(np.count_nonzero(mask))


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a mask: true where two arrays hold the same number, or both nan."""
    return (a == b) | (np.isnan(a) & np.isnan(b))


def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return |a - b| in float64: 0 for the same number or two nans, inf for one nan."""
    a, b = (np.asarray(part).astype(np.float64) for part in (a, b))
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.where(same(a, b), 0.0, np.abs(a - b)), nan=np.inf, posinf=np.inf)


def farthest(values: np.ndarray) -> tuple[int, ...]:
    """Return the index of the largest value."""
    return tuple(map(int, np.unravel_index(int(values.argmax()), values.shape)))


@dataclass(frozen=True, eq=False)
class Pairing:
    """A validated output with its truth and optional baseline; the arrays are flat, `shape` is the original shape.

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
            # infinities and nans are counted, so NumPy need not warn of them
            with np.errstate(all="ignore"):
                return examine(start, *self._stretches(slice(start, start + LENGTH)))

        return run_all(one, range(0, self.size, LENGTH), self.size)

    def _stretches(self, part):
        certified = (
            self.truth[part].astype(np.float64, copy=False),
            *(None if known is None else known[part] for known in (self.low, self.error)),
        )
        yield Stretch(self.fmt, self.actual[part], *certified)
        yield None if self.baseline is None else Stretch(self.fmt, self.baseline[part], *certified)


def need_output(actual, truth) -> None:
    """Raise TypeError if a truth was passed as the output."""
    if isinstance(actual, Certified) and not isinstance(truth, Certified):
        raise mistyped(
            "actual must be an output",
            "a truth, with its certificate",
            "swap the first two arguments: actual comes before truth",
        )


def pair(actual, truth, baseline=None) -> Pairing:
    """Validate an output against its truth: same shape, and a truth that holds every number of the output's format.

    Raises TypeError for a dtype that does not fit or a truth in the place of the output, ValueError for a shape that
    does not.
    """
    need_output(actual, truth)
    low, error = certificate(truth)
    actual, truth = (np.asarray(as_array(value, floating=True)) for value in (actual, truth))
    fmt, exact = _format(actual, "actual"), _format(truth, "truth")
    if exact.significand_bits < fmt.significand_bits or exact.min_exponent > fmt.min_exponent:
        raise mistyped(
            f"truth must hold every number of the output's format {fmt.name}",
            truth.dtype.name,
            "compute the truth in float64; of the two arguments actual comes first",
        )
    _same_shape(truth, "truth", actual)
    if baseline is not None:
        baseline = np.asarray(as_array(baseline, floating=True))
        if baseline.dtype != actual.dtype:
            raise mistyped(
                f"baseline must have the dtype of actual, {fmt.name}",
                baseline.dtype.name,
                "compute the baseline in the same precision as the output",
            )
        _same_shape(baseline, "baseline", actual)
        baseline = baseline.astype(fmt.numpy, copy=False).reshape(-1)
    return Pairing(
        fmt,
        actual.shape,
        actual.astype(fmt.numpy, copy=False).reshape(-1),
        truth.reshape(-1),
        baseline,
        *(None if known is None else known.reshape(-1) for known in (low, error)),
    )


def _format(array: np.ndarray, name: str) -> FloatFormat:
    try:
        return float_format(array)
    except ValueError:
        raise mistyped(
            f"{name} must be an array of a floating format",
            array.dtype.name,
            "use float16, bfloat16, float32 or float64",
        ) from None


def _same_shape(array: np.ndarray, name: str, actual: np.ndarray) -> None:
    if array.shape == actual.shape:
        return
    axes = [
        axis for axis, sizes in enumerate(zip(array.shape, actual.shape)) if sizes[0] != sizes[1]
    ]
    where = (
        f"axis {axes[0]} disagrees"
        if array.ndim == actual.ndim
        else f"rank {array.ndim} against {actual.ndim}"
    )
    raise invalid(
        f"{name} must have the shape of actual, {actual.shape}",
        f"{array.shape} ({where})",
        "compare arrays element by element, without broadcasting",
    )


ULP_CLASSES = (message("exact"), "1", "2", "3", ">3")
MAXIMA = ("max_ulp", "max_abs", "max_relative", "mare")


@dataclass(frozen=True)
class ScaledSum:
    """The sum `value * 2**exponent`, in which float64 numbers and their squares neither overflow nor vanish."""

    value: float = 0.0
    exponent: int = 0

    def __add__(self, other: "ScaledSum") -> "ScaledSum":
        if not self.value or not other.value:
            return self if self.value else other
        exponent = max(self.exponent, other.exponent)
        return ScaledSum(
            math.ldexp(self.value, self.exponent - exponent)
            + math.ldexp(other.value, other.exponent - exponent),
            exponent,
        )

    def mean(self, count: int) -> float:
        """Return the sum divided by a count; nan for count 0."""
        return _ldexp(self.value / count, self.exponent) if count else math.nan

    def root(self, divisor: float = 1.0) -> float:
        """Return the square root of sum / divisor (exponents of sums of squares are even)."""
        return _ldexp(math.sqrt(self.value / divisor), self.exponent // 2)

    @classmethod
    def of(cls, values: np.ndarray, exponent: int = 0) -> "ScaledSum":
        """Return the sum of values * 2**exponent."""
        values, own = _scaled(values)
        return cls(float(values.sum()), exponent + own)

    @classmethod
    def of_products(cls, a: np.ndarray, b: np.ndarray, exponent: int = 0) -> "ScaledSum":
        a, left = scaled = _scaled(a)
        b, right = scaled if b is a else _scaled(b)
        # np.dot would start BLAS threads for each stretch
        return cls(float((a * b).sum()), exponent + left + right)


def _scaled(values: np.ndarray) -> tuple[np.ndarray, int]:
    largest = float(max(values.max(), -values.min())) if values.size else 0.0
    if largest == 0 or 1e-100 < largest < 1e100 or not math.isfinite(largest):
        return values, 0
    # 2**1000 is finite in float64, and large enough to scale up every subnormal
    exponent = max(math.frexp(largest)[1], -1000)
    return values * 2.0**-exponent, exponent


def _ldexp(value: float, exponent: int) -> float:
    try:
        return math.ldexp(value, exponent)
    except OverflowError:
        return math.inf


def cosine(dot: ScaledSum, actual: ScaledSum, truth: ScaledSum) -> float:
    """Return the cosine from three sums of products: 1 when both vectors are zero, nan when only one is."""
    if not actual.value or not truth.value:
        return 1.0 if actual.value == truth.value else math.nan
    norms = math.sqrt(actual.value) * math.sqrt(truth.value)
    return max(
        -1.0,
        min(1.0, _ldexp(dot.value / norms, dot.exponent - (actual.exponent + truth.exponent) // 2)),
    )


@dataclass(frozen=True)
class Extreme:
    """A maximum: its `index` in the output (None without elements), and the numbers and inputs at that index."""

    value: float
    index: tuple[int, ...] | None = None
    actual: float = math.nan
    truth: float = math.nan
    inputs: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Measures:
    """The error measures of one output; `extremes` locates each maximum, `notes` name undefined measures with the reason.

    `finite_size` counts the finite pairs, `undecided` elements that the truth cannot judge, `differing` other pairs that
    differ, `signed_zeros` zeros with another sign than the rounded truth. `above` and `below` count the finite outputs
    above and below the truth; `error_balance` is `abs(above - below)` / finite_size.
    """

    dtype: str
    shape: tuple[int, ...]
    size: int
    finite_size: int
    undecided: int
    differing: int
    signed_zeros: int
    above: int
    below: int
    max_ulp: float
    max_abs: float
    max_relative: float
    mare: float
    mere: float
    mean_abs: float
    rmse: float
    cosine: float
    error_balance: float
    ulp_counts: dict[str, int]
    extremes: dict[str, Extreme]
    notes: tuple[str, ...]

    @property
    def ulp_shares(self) -> dict[str, float]:
        """Return the share of all elements in each class of `ulp_counts` (nan without elements)."""
        return {
            name: count / self.size if self.size else math.nan
            for name, count in self.ulp_counts.items()
        }


class Tally:
    """The result of one pass: sums, counts, and for each maximum its value and flat position."""

    def __init__(self):
        self.counts = np.zeros(len(ULP_CLASSES), dtype=np.int64)
        self.undecided = self.finite = self.differing = self.signed_zeros = self.above = (
            self.below
        ) = 0
        self.relative = self.absolute = self.squares = self.dot = self.actual = self.truth = (
            ScaledSum()
        )
        self.maxima: dict[str, tuple[float, int]] = {}

    @classmethod
    def of(cls, stretch: Stretch, start: int) -> "Tally":
        """Return the tally of one stretch."""
        tally = cls()
        tally.undecided = stretch.undecided
        if stretch.raw_actual.size:
            tally._look(stretch, start)
        return tally

    def _look(self, stretch: Stretch, start: int) -> None:
        apart, steps = stretch.apart, stretch.steps
        far = np.minimum(steps, len(ULP_CLASSES) - 1).astype(np.intp)
        self.counts = np.bincount(far, minlength=len(ULP_CLASSES))
        self.counts[0] += stretch.raw_actual.size - apart.size
        self.finite, self.differing = stretch.count, stretch.differing
        self.above = counted(stretch.error > 0)
        self.below = counted(stretch.error < 0)
        self.signed_zeros = counted(
            (stretch.raw_actual[apart] == 0) & (stretch.rounded[apart] == 0)
        )
        sizes, doubled = (stretch.absolute, 0) if stretch.beyond is None else (stretch.halves, 1)
        self.relative, self.absolute = ScaledSum.of(stretch.relative), ScaledSum.of(sizes, doubled)
        self.squares = ScaledSum.of_products(sizes, sizes, 2 * doubled)
        self.dot, self.actual, self.truth = stretch.products.values()
        # 0/0 counts as no error, x/0 as an infinite error
        plain = stretch.over_truth(0.0)
        if not stretch.magnitude.all():
            plain[stretch.absolute == 0] = 0
        farthest = int(steps.argmax()) if steps.any() else None
        at, most = (0, 0.0) if farthest is None else (int(apart[farthest]), float(steps[farthest]))
        self.maxima["max_ulp"] = most, start + stretch.position(at)
        for name, values in (
            ("max_abs", stretch.absolute),
            ("max_relative", plain),
            ("mare", stretch.relative),
        ):
            self._maximum(name, _with_specials(values, stretch), stretch, start)

    def _maximum(self, name: str, values: np.ndarray, stretch: Stretch, start: int) -> None:
        at = int(values.argmax())  # argmax stops at the first nan, if there is one
        if math.isnan(values[at]):
            if np.isnan(values).all():
                return
            at = int(np.nanargmax(values))
        self.maxima[name] = float(values[at]), start + stretch.position(at)

    def add(self, later: "Tally") -> None:
        """Add the tally of the stretch that follows."""
        for name, number in vars(later).items():
            if name != "maxima":
                setattr(self, name, getattr(self, name) + number)
        for name, found in later.maxima.items():
            if name not in self.maxima or found[0] > self.maxima[name][0]:
                self.maxima[name] = found


def _with_specials(values: np.ndarray, stretch: Stretch) -> np.ndarray:
    """Return the errors `values` of finite pairs with nan inserted for pairs that agree, inf for pairs that differ."""
    if stretch.all_finite:
        return values
    full = np.full(stretch.raw_actual.shape, np.nan)
    full[stretch.is_finite] = values
    places = np.flatnonzero(~stretch.is_finite)
    actual, truth = stretch.specials
    full[places[~same(actual, truth)]] = np.inf
    return full


def measured(pairing: Pairing, tally: Tally, inputs=None) -> Measures:
    """Return the measures that a tally implies."""
    finite, notes = tally.finite, []
    if pairing.size == 0:
        notes.append(message("no elements: every statistic is nan"))
    elif finite == 0:
        notes.append(message("no pair of finite numbers: means, RMSE and cosine are nan"))
    if tally.undecided:
        notes.append(
            message(
                "{n} elements are undecided: the truth is not known well enough to judge them",
                n=tally.undecided,
            )
        )
    special = pairing.size - finite - tally.undecided
    if special:
        notes.append(
            message(
                "{n} pairs are not finite, {differing} of them differ from the truth",
                n=special,
                differing=tally.differing,
            )
        )
    if tally.signed_zeros:
        notes.append(
            message(
                "{n} zeros have the other sign than the rounded truth (0 ulp apart)",
                n=tally.signed_zeros,
            )
        )
    similarity = cosine(tally.dot, tally.actual, tally.truth) if finite else math.nan
    if finite and not tally.actual.value:
        notes.append(
            message("cosine is 1 by convention: output and truth are zero everywhere")
            if not tally.truth.value
            else message("cosine is nan: the output is zero everywhere, the truth is not")
        )
    elif finite and not tally.truth.value:
        notes.append(message("cosine is nan: the truth is zero everywhere, the output is not"))
    extremes = {name: _extreme(pairing, tally.maxima.get(name), inputs or {}) for name in MAXIMA}
    return Measures(
        dtype=pairing.fmt.name,
        shape=pairing.shape,
        size=pairing.size,
        finite_size=finite,
        undecided=tally.undecided,
        differing=tally.differing,
        signed_zeros=tally.signed_zeros,
        above=tally.above,
        below=tally.below,
        **{name: extreme.value for name, extreme in extremes.items()},
        mere=tally.relative.mean(finite),
        mean_abs=tally.absolute.mean(finite),
        rmse=tally.squares.root(finite) if finite else math.nan,
        cosine=similarity,
        error_balance=abs(tally.above - tally.below) / finite if finite else math.nan,
        ulp_counts=dict(zip(ULP_CLASSES, tally.counts.tolist())),
        extremes=extremes,
        notes=tuple(notes),
    )


def _extreme(pairing: Pairing, found: tuple[float, int] | None, inputs) -> Extreme:
    if found is None:
        return Extreme(math.nan)
    value, at = found
    index = tuple(int(i) for i in np.unravel_index(at, pairing.shape))
    there = {
        name: np.asarray(array)[index].item()
        for name, array in inputs.items()
        if np.shape(array) == pairing.shape
    }
    return Extreme(value, index, float(pairing.actual[at]), float(pairing.truth[at]), there)


def check_inputs(inputs) -> None:
    if inputs is not None:
        by_name("inputs", inputs, "pass the inputs of the operator, for example case.inputs")


def measure(actual, truth, *, inputs=None) -> Measures:
    """Measure the error of an output (any of the four formats) against a truth of the same shape.

    `truth` is an operator's, with its certificate, or any array whose format contains the output's. `inputs` is a dict
    of arrays by name; those of the output's shape are reported at each maximum. Raises TypeError for another dtype,
    ValueError for another shape. MERE and MARE: CANN opbase `docs/zh/ops_precision_standard`.

    >>> measure(np.float16([1.0, 2.0]), np.array([1.0, 2.001])).ulp_counts
    {'exact': 1, '1': 1, '2': 0, '3': 0, '>3': 0}
    """
    pairing, tally = pair(actual, truth), Tally()
    check_inputs(inputs)
    for one in pairing.each(lambda start, stretch, base: Tally.of(stretch, start)):
        tally.add(one)
    with np.errstate(all="ignore"):
        return measured(pairing, tally, inputs)
