"""Compute the errors of one output, element by element, in the units in which pictures show them."""

from dataclasses import field
from functools import cached_property

import numpy as np

from aclnn_viz.accuracy.envelopes import VERDICTS, Envelope, verdicts
from aclnn_viz.accuracy.measures import check_inputs, pair, same
from aclnn_viz.arrays.truth import rounded_sum
from aclnn_viz.dtypes import FloatFormat, ulp
from aclnn_viz.errors import need
from aclnn_viz.pictures.marks import record
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.provenance import Provenance, caption, warning
from aclnn_viz.pictures.text import number
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import message, tr

WIDTH = 900  # width of a picture in pixels
STATISTIC = message("|output − truth| in ulps of the truth")
NOTHING = message("{output}: no error to show")


@record
class Errors:
    """Flat arrays over the elements of one output, `actual` in its format.

    `ulps` is |actual - truth| in spacings of the format at the truth (a correctly rounded number has at most 0.5), infinite
    if only one of the two is finite or both are infinite and differ. `finite` marks elements with finite output and rounded
    truth. `bound` and `expected` (at most the bound) are the envelopes in ulps and `verdict` is one of VERDICTS by position;
    they are None without an envelope.
    """

    provenance: Provenance
    format: FloatFormat
    shape: tuple[int, ...]
    actual: np.ndarray
    truth: np.ndarray
    ulps: np.ndarray
    finite: np.ndarray
    bound: np.ndarray | None = None
    expected: np.ndarray | None = None
    verdict: np.ndarray | None = None
    inputs: dict = field(default_factory=dict)

    @property
    def size(self) -> int:
        return self.ulps.size

    @cached_property
    def placed(self) -> np.ndarray:
        """Return where the truth is not nan, and so has a place on the axis."""
        return ~np.isnan(self.truth)

    @cached_property
    def size_of_truth(self) -> np.ndarray:
        """Return |truth| for a logarithmic axis; 0 is drawn at the least other number."""
        sizes = np.abs(self.truth)
        return np.clip(sizes, max(sizes.min(where=sizes > 0, initial=1.0), 1e-200), 1e200)

    @cached_property
    def order(self) -> np.ndarray:
        """Return the flat positions of the finite elements by the size of their truths, in stable order."""
        kept = np.flatnonzero(self.finite)
        return kept[np.argsort(self.size_of_truth[kept], kind="stable")]

    @cached_property
    def differing(self) -> int:
        """Return the number of infinite errors."""
        return int(np.count_nonzero(np.isinf(self.ulps)))

    @cached_property
    def worst(self) -> int:
        """Return the flat position of the first largest error."""
        return int(self.ulps.argmax())

    @cached_property
    def median(self) -> float:
        return float(np.median(self.ulps)) if self.size else 0.0

    def counts(self) -> dict[str, int]:
        """Return the number of elements per verdict; empty without an envelope."""
        if self.verdict is None:
            return {}
        return {name: int((self.verdict == k).sum()) for k, name in enumerate(VERDICTS)}

    def index(self, flat: int) -> tuple[int, ...]:
        return tuple(int(k) for k in np.unravel_index(flat, self.shape))

    def where(self, flat: int) -> str:
        """Return the index of an element and its input values as text; inputs that do not broadcast to the output's
        shape at its rank are left out.
        """
        index, found = self.index(flat), []
        for name, value in self.inputs.items():
            lengths = np.shape(value)
            if len(lengths) == len(index) and all(a in (1, b) for a, b in zip(lengths, self.shape)):
                at = tuple(0 if n == 1 else k for n, k in zip(lengths, index))
                found.append(f"{name} = {number(float(np.asarray(value)[at]))}")
        if not found:
            return f"{list(index)}"
        return tr("{run} ({device})", run=list(index), device=tr(", ").join(found))

    def peak(self) -> str:
        """Return the largest error and its place in words."""
        return tr(
            "max {error} ulp at {place}",
            error=number(self.ulps[self.worst]),
            place=list(self.index(self.worst)),
        )

    def nothing(self) -> str:
        """Return the reason why there is nothing to draw, or an empty text."""
        if self.size == 0:
            return tr(
                "There are no elements: the output has shape {shape}.", shape=list(self.shape)
            )
        if not self.finite.any():
            return tr(
                "No element is finite in both output and truth: {n} of {all} differ.",
                n=f"{self.differing:,}",
                all=f"{self.size:,}",
            )
        if not self.actual.any() and not self.truth.any():
            return tr(
                "Output and truth are zero everywhere ({n} elements): this data can show no error.",
                n=f"{self.size:,}",
            )
        return ""


def _within(actual, truth, envelope: Envelope | None, right: np.ndarray, fmt) -> dict:
    """Return an envelope's bound and expected error in ulps, and its verdicts."""
    if envelope is None:
        return {}
    verdict = verdicts(actual, truth, envelope).reshape(right.size)
    bound, expected = envelope.bound.reshape(right.size), envelope.expected.reshape(right.size)
    spacing = ulp(right, fmt)
    with np.errstate(all="ignore"):
        return {
            "bound": bound / spacing,
            "expected": np.fmin(expected, bound) / spacing,
            "verdict": verdict,
        }


def errors(
    actual, truth, provenance: Provenance | str, *, envelope: Envelope | None = None, inputs=None
) -> Errors:
    """Return the errors of an output (any of the four formats) against a float64 truth of the same shape.

    `provenance` is a Provenance, or a name for what computed the output. `envelope` belongs to the same output; `inputs`, a
    dict by name, are shown for large errors. Raise TypeError for a wrong dtype, ValueError for a wrong shape.

    >>> e = errors(np.float16([1.0, 2.0]), np.array([1.0, 2.001]), Provenance("out", "host"))
    >>> e.ulps.round(3).tolist()
    [0.0, 0.512]
    """
    if isinstance(provenance, str):
        provenance = Provenance("output", provenance)
    need(
        provenance,
        Provenance,
        "provenance says where the output is from",
        'pass Provenance.of(case, "dxOut", device), or such as "mine"',
    )
    check_inputs(inputs)
    pairing = pair(actual, truth)
    fmt, right = pairing.fmt, pairing.truth.astype(np.float64, copy=False)
    low, wide = pairing.low, pairing.actual.astype(np.float64)
    nearest = rounded_sum(right, low, fmt).astype(np.float64)
    finite = np.isfinite(wide) & np.isfinite(nearest)
    with np.errstate(all="ignore"):
        distance = wide - right if low is None else wide - right - low
        ulps = np.abs(distance) / ulp(right, fmt)
    ulps = np.where(finite, ulps, np.where(same(wide, nearest), 0.0, np.inf))
    return Errors(
        provenance,
        fmt,
        pairing.shape,
        pairing.actual.copy(),
        right,
        ulps,
        finite,
        **_within(actual, truth, envelope, right, fmt),
        inputs=dict(inputs or {}),
    )


def framed(title: str, runs: dict[str, Errors], statistic: str, panels=(), headline=()) -> Picture:
    """Return panels of runs, by name, as a Picture with the origin of its numbers.

    Without panels it gives the reason.
    """
    first, sources = next(iter(runs.values())), {name: e.provenance for name, e in runs.items()}
    if not panels:
        headline = tuple(filter(None, (e.nothing() for e in runs.values())))[:1]
    warned = warning(sources)
    small = caption(statistic, first.format.name, first.shape, first.size, sources.values())
    return Picture(
        headline,
        panels,
        "\n".join([title, *headline, *in_words(panels), *filter(None, (warned, small))]),
        (small,),
        title,
        warned,
        WIDTH,
    )
