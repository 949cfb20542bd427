"""The errors of one output, element by element, in the units in which pictures show them."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from aclnn_viz.accuracy.envelopes import VERDICTS, Envelope, verdicts
from aclnn_viz.accuracy.measures import check_inputs, pair, same
from aclnn_viz.arrays.driver import in_stretches
from aclnn_viz.arrays.truth import rounded_sum
from aclnn_viz.dtypes import FloatFormat, ordinals, ulp
from aclnn_viz.errors import need
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.provenance import Provenance, caption, warning
from aclnn_viz.pictures.text import number
from aclnn_viz.words.messages import message, tr

WIDTH = 900  # pixels of a picture
STATISTIC = message("|output − truth| in ulps of the truth")
NOTHING = message("{output}: no error to show")


@dataclass(frozen=True, eq=False)
class Errors:
    """Flat arrays over the elements of one output, `actual` in its format.

    `ulps` is |actual - truth| in spacings of the format at the truth (a correctly rounded number has at most 0.5),
    infinite where only one of the two is finite or both are not and differ. `place` is the ordinal of the rounded truth.
    `bound` and `expected` (at most the bound) are the envelopes in ulps and `verdict` is one of VERDICTS by position; they
    are None without an envelope.
    """

    provenance: Provenance
    format: FloatFormat
    shape: tuple[int, ...]
    actual: np.ndarray
    truth: np.ndarray
    ulps: np.ndarray
    place: np.ndarray
    bound: np.ndarray | None = None
    expected: np.ndarray | None = None
    verdict: np.ndarray | None = None
    inputs: dict = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.ulps.size

    @cached_property
    def finite(self) -> np.ndarray:
        """Where both the output and the rounded truth are finite."""
        limit = _overflow(self.format)
        return np.isfinite(self.actual) & (self.truth < limit) & (self.truth > -limit)

    @cached_property
    def placed(self) -> np.ndarray:
        """Where the truth is not nan, so that it has a place among the numbers of the format."""
        return self.place != np.iinfo(np.int64).min

    @cached_property
    def steps(self) -> np.ndarray:
        """How many numbers of the format lie between the rounded truth and the output, with sign; infinite for nan against a number."""
        apart = ordinals(self.actual).astype(np.float64) - self.place
        return np.where(np.isnan(self.actual) == self.placed, np.inf, apart)

    @property
    def order(self) -> np.ndarray:
        """The flat positions of the finite elements in the order of the truth."""
        return self._ordered[0]

    @property
    def places(self) -> np.ndarray:
        """The places of the finite elements in their order."""
        return self._ordered[1]

    @cached_property
    def _ordered(self) -> tuple[np.ndarray, np.ndarray]:
        whole = bool(self.finite.all())
        kept = None if whole else np.flatnonzero(self.finite)
        place = self.place if whole else self.place[kept]
        low, high = int(place.min(initial=0)), int(place.max(initial=0))
        if high - low < 1 << 16:  # as of the formats of 16 bits, which are counted instead of compared
            near = (place - low).astype(np.uint16)
            order = np.argsort(near, kind="stable")
            places = np.repeat(np.arange(low, high + 1), np.bincount(near, minlength=high - low + 1))
        elif high - low < 1 << 32 and place.size <= 1 << 32:
            # A place and a position in one word: words are sorted several times as fast as positions by places.
            words = (place - low).view(np.uint64)
            words <<= np.uint64(32)
            words |= np.arange(place.size, dtype=np.uint64)
            words.sort()
            order = (words & np.uint64(0xFFFFFFFF)).view(np.int64)
            words >>= np.uint64(32)
            places = words.view(np.int64)
            places += low
        else:
            order = np.argsort(place, kind="stable")
            places = place[order]
        return order if whole else kept[order], places

    @cached_property
    def differing(self) -> int:
        return int(np.isinf(self.ulps).sum())

    @cached_property
    def worst(self) -> int:
        """The flat position of the largest error (the first one)."""
        return int(self.ulps.argmax())

    @cached_property
    def median(self) -> float:
        return float(np.median(self.ulps))

    def counts(self) -> dict[str, int]:
        """How many elements have each verdict; empty without an envelope."""
        if self.verdict is None:
            return {}
        return {name: int((self.verdict == k).sum()) for k, name in enumerate(VERDICTS)}

    def index(self, flat: int) -> tuple[int, ...]:
        return tuple(int(k) for k in np.unravel_index(flat, self.shape))

    def inputs_at(self, flat: int) -> dict[str, float]:
        """The inputs of one element: arrays of the output's rank whose axes have its length or 1."""
        index, found = self.index(flat), {}
        for name, value in self.inputs.items():
            lengths = np.shape(value)
            if len(lengths) == len(self.shape) and all(a in (1, b) for a, b in zip(lengths, self.shape)):
                found[name] = float(np.asarray(value)[tuple(0 if n == 1 else k for n, k in zip(lengths, index))])
        return found

    def beside(self, flat: int) -> str:
        """`inputs_at` in words; empty when there are none."""
        return tr(", ").join(f"{name} = {number(value)}" for name, value in self.inputs_at(flat).items())

    def where(self, flat: int) -> str:
        there = self.beside(flat)
        return tr("{run} ({device})", run=list(self.index(flat)), device=there) if there else f"{list(self.index(flat))}"

    def peak(self) -> str:
        """The largest error and its place, in words."""
        return tr("max {error} ulp at {place}", error=number(self.ulps[self.worst]), place=list(self.index(self.worst)))

    def nothing(self) -> str:
        """Say why there is nothing to draw, or return an empty string."""
        if self.size == 0:
            return tr("There are no elements: the output has shape {shape}.", shape=list(self.shape))
        if not self.finite.any():
            text = (message("No element is finite in both output and truth: {n} of {all} differ.") if self.differing == self.size else
                    message("No element is finite in both output and truth: {n} of {all} differ, the others agree (nan with nan, "
                            "an infinity with the same)."))
            return tr(text, n=f"{self.differing:,}", all=f"{self.size:,}")
        if not self.actual.any() and not self.truth.any():
            return tr("Output and truth are zero everywhere ({n} elements): this data can show no error.", n=f"{self.size:,}")
        return ""


def errors(actual, truth, provenance: Provenance | str, *, envelope: Envelope | None = None, inputs=None) -> Errors:
    """Return the errors of an output (any of the four formats) against a float64 truth of the same shape.

    `provenance` is a Provenance, or a name for what computed the output. `envelope` belongs to the same output;
    `inputs`, a dict by name, are looked up where errors are large. Raises TypeError for a dtype that does not fit,
    ValueError for a shape that does not.

    >>> e = errors(np.float16([1.0, 2.0]), np.array([1.0, 2.001]), Provenance("out", "host"))
    >>> e.ulps.round(3).tolist(), e.steps.tolist()
    ([0.0, 0.512], [0.0, -1.0])
    """
    if isinstance(provenance, str):
        provenance = Provenance("output", provenance)
    need(provenance, Provenance, "provenance says where the output is from",
         'pass Provenance.of(case, "dxOut", device), or such as "mine"')
    check_inputs(inputs)
    pairing = pair(actual, truth)
    fmt, size = pairing.fmt, pairing.size
    right = pairing.truth.astype(np.float64, copy=False)
    ulps, place = np.empty(size), np.empty(size, np.int64)

    def fill(at):
        low = None if pairing.low is None else pairing.low[at]
        ulps[at], place[at] = _stretch(pairing.actual[at], right[at], low, fmt)

    in_stretches(fill, size)
    parts = {}
    if envelope is not None:
        parts = {"bound": np.empty(size), "expected": np.empty(size), "verdict": verdicts(actual, truth, envelope).reshape(size)}
        bound, expected = envelope.bound.reshape(size), envelope.expected.reshape(size)

        def widths(at):
            spacing = ulp(right[at], fmt)
            parts["bound"][at], parts["expected"][at] = bound[at] / spacing, np.fmin(expected[at], bound[at]) / spacing

        in_stretches(widths, size)
    return Errors(provenance, fmt, pairing.shape, pairing.actual.copy(), right, ulps, place, **parts, inputs=dict(inputs or {}))


def _stretch(actual, truth, low, fmt: FloatFormat) -> tuple[np.ndarray, ...]:
    """Ulps and places of a stretch that the cache holds."""
    with np.errstate(all="ignore"):  # infinities and nans are shown, not warned of
        rounded, wide = rounded_sum(truth, low, fmt), actual.astype(np.float64)
        distance = np.abs(wide - truth if low is None else (wide - truth) - low)
        equal = same(wide, rounded.astype(np.float64))
        special = ~(np.isfinite(wide) & np.isfinite(rounded))
        return np.where(special, np.where(equal, 0.0, np.inf), distance / ulp(truth, fmt)), ordinals(rounded)


def framed(title: str, runs: dict[str, Errors], statistic: str, panels=(), lines=(), headline=()) -> Picture:
    """Return panels of runs, by name, as a Picture that says where its numbers come from; `lines` say them in words.

    Without panels it says why there is nothing to show.
    """
    first = next(iter(runs.values()))
    if not panels:
        lines = headline = tuple(filter(None, (e.nothing() for e in runs.values())))[:1]
    warned = warning({name: e.provenance for name, e in runs.items()})
    small = caption(statistic, first.format.name, first.shape, first.size, [e.provenance for e in runs.values()])
    text = "\n".join([title, *lines, *filter(None, (warned, small))])
    return Picture(headline, panels, text, (small,), title, warned, WIDTH)


def _overflow(fmt: FloatFormat) -> float:
    """The least magnitude that rounds to infinity, or infinity itself for float64."""
    return fmt.largest + ulp(fmt.largest, fmt).item() / 2 if fmt.bits < 64 else np.inf
