"""A precision plan: the formats and order in which a kernel computes, and its rounding of outputs, to predict its numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from math import inf
from numbers import Real

import numpy as np

from aclnn_viz.dtypes import FloatFormat, float_format, numbers, round_to, ulp
from aclnn_viz.errors import flag, function, invalid, mistyped, need, shown, whole
from aclnn_viz.tables import as_html
from aclnn_viz.words.messages import message, tr

SEQUENTIAL, PAIRWISE, BLOCKED, SHUFFLED = ORDERS = ("sequential", "pairwise", "blocked", "shuffled")
EVEN, AWAY = ROUNDINGS = ("even", "away")
STORAGE = "storage"  # means the format of the inputs


@dataclass(frozen=True)
class Note:
    """The reason for a setting of a plan: documented, published as source code, or a conclusion (`inferred`)."""

    text: str
    source: str
    inferred: bool = False

    def __str__(self) -> str:
        form = (
            message("inferred: {text} ({source})")
            if self.inferred
            else message("documented: {text} ({source})")
        )
        return tr(form, text=self.text, source=self.source)


@dataclass(frozen=True, repr=False)
class Plan:
    """How a kernel computes. Formats are names such as "float32", or "storage" for the format of the inputs.

    `storage` rounds the inputs first and replaces the format of the outputs (None: as given and documented).
    `compute` is the format after every operation, `accumulate` the format of running sums, `coordinates` the format of
    grid coordinates and of sums over them (None: compute, at least float32), `atomics` the format of scattered sums
    (None: accumulate).

    `order` is the order of a sum: "sequential", one term after another; "pairwise", a tree of neighbours; "blocked", trees over
    tiles of `tile` terms, the tiles of each of `cores` cores one after another, then the cores in turn; "shuffled", as
    blocked, but the cores arrive in an order drawn from `seed`, as atomic additions do. `leading` is the order along
    the leading axis (rows, samples, channels of a grid), if another. Scattered terms add up in the order of the points,
    or, when `scatter` is "shuffled" (for all, or by the name of the storage format), in an order drawn from `seed`.

    `rounding` of the outputs is "even" or "away" (ties), for all or by the name of the output. `saturate` turns an
    infinite result into the largest finite number and nan into 0. `reciprocal_mean` multiplies by a rounded 1/n.
    `division_ulps` is the error that envelopes grant a division; with `rewritten` they allow for a rewritten
    formula: exp(x) as 2**(x log2 e), as on GPUs, and decisions that five times the error would change. `page` replaces
    the textbook page where a device evaluates another expression; `intended` is that page without the device's own
    fault, for envelopes. `blocks` cuts the inputs as the kit's own driver does, and adds the sums of the blocks up as a
    tree in float64.

    >>> Plan(compute="float16", order="sequential").order
    'sequential'
    """

    name: str = "plan"
    storage: str | None = None
    compute: str = "float32"
    accumulate: str = "float32"
    coordinates: str | None = None
    atomics: str | None = None
    order: str = PAIRWISE
    leading: str | None = None
    scatter: str | Mapping[str, str] = SEQUENTIAL
    tile: int = 64
    cores: int = 1
    seed: int = 0
    rounding: str | Mapping[str, str] = EVEN
    saturate: bool = False
    reciprocal_mean: bool = False
    division_ulps: float = 0.5
    rewritten: bool = False
    page: Callable | None = None
    intended: Callable | None = None
    blocks: bool = False
    notes: tuple[Note, ...] = ()

    def __post_init__(self):
        for name in ("storage", "compute", "accumulate", "coordinates", "atomics"):
            value = getattr(self, name)
            if value is None and name in ("compute", "accumulate"):
                raise invalid(f"{name} is the name of a format", "None", "pass such as 'float32'")
            if value is None or isinstance(value, str) and value == STORAGE:
                continue
            need(value, str, f"{name} is the name of a format", "pass such as 'float32'")
            float_format(value)
        if self.coordinates not in (None, "float32", "float64"):
            raise invalid(
                "coordinates must be float32 or float64, for they also count pixels",
                repr(self.coordinates),
                "let a page round them with to_storage",
            )
        roundings, scatters = (
            list(value.values()) if isinstance(value, Mapping) else [value]
            for value in (self.rounding, self.scatter)
        )
        for name, value, options in [
            ("order", self.order, ORDERS),
            ("leading", self.leading, (None, *ORDERS)),
            *(("scatter", value, (SEQUENTIAL, SHUFFLED)) for value in scatters),
            *(("rounding", value, ROUNDINGS) for value in roundings),
        ]:
            if not isinstance(value, str | None) or value not in options:
                raise invalid(
                    f"{name} must be one of {', '.join(map(repr, options))}",
                    f"{value!r:.60}",
                    "choose one",
                )
        for name, least in (("tile", 1), ("cores", 1), ("seed", 0)):
            whole(name, getattr(self, name), least)
        for name in ("saturate", "reciprocal_mean", "rewritten", "blocks"):
            flag(name, getattr(self, name))
        for name in ("page", "intended"):
            getattr(self, name) is None or function(name, getattr(self, name))
        need(self.name, str, "name is a text", "pass what to call the plan")
        if not isinstance(self.notes, tuple) or not all(
            isinstance(note, Note) for note in self.notes
        ):
            raise mistyped(
                "notes is a tuple of Note", shown(self.notes), "pass such as (Note(text, source),)"
            )
        ulps = self.division_ulps
        if isinstance(ulps, bool) or not isinstance(ulps, Real) or not 0 <= ulps < inf:
            raise invalid("division_ulps is a number from 0 on", shown(ulps), "pass such as 0.5")

    @property
    def settings(self) -> dict:
        """Return the settings that differ from the defaults, by name."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("name", "notes") and getattr(self, field.name) != field.default
        }

    def __repr__(self) -> str:
        settings = "".join(
            f", {name}={getattr(value, '__name__', repr(value))}"
            for name, value in self.settings.items()
        )
        count = len(self.notes)
        return f"Plan({self.name!r}{settings})" + f" with {count} note{'s' * (count > 1)}" * bool(
            count
        )

    def __str__(self) -> str:
        return "\n".join([repr(self), *(f"  {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        rows = [(name, getattr(value, "__name__", value)) for name, value in self.settings.items()]
        counted = tr(
            "{n} notes, {inferred} of them inferred",
            n=len(self.notes),
            inferred=sum(note.inferred for note in self.notes),
        )
        return as_html(
            tr("Plan {name!r}: how a kernel computes", name=self.name),
            (),
            rows or [(tr("everything"), tr("the same as in Plan()"))],
            [counted],
            "\n".join(map(str, self.notes)),
            opens=tr("the full report"),
        )

    def settle(self, result: np.ndarray) -> np.ndarray:
        """Return a floating result as the hardware stores it: unchanged, or saturated."""
        if not self.saturate or np.isfinite(result).all():
            return result
        largest = np.asarray(float_format(result.dtype).largest, result.dtype)
        return np.where(
            np.isnan(result),
            np.zeros_like(largest),
            np.minimum(np.maximum(result, -largest), largest),
        )

    def output(self, name: str, values: np.ndarray, fmt: FloatFormat) -> np.ndarray:
        """Return an output rounded once to its format."""
        rounding = (
            self.rounding if isinstance(self.rounding, str) else self.rounding.get(name, EVEN)
        )
        rounded = round_to(values, fmt) if rounding == EVEN else round_away(values, fmt)
        return self.settle(rounded)


HOST = Plan(
    "host",
    accumulate="float64",
    coordinates="float64",
    blocks=True,
    notes=(
        Note(
            message(
                "float32 inside; sums, coordinates and weights of coordinates in float64; sums are trees of neighbours, over "
                "the blocks of the driver, too"
            ),
            message("this kit's kernels"),
        ),
    ),
)


def round_away(values, fmt: FloatFormat | str) -> np.ndarray:
    """Round to the nearest number of a format, ties away from zero: AscendC's CAST_ROUND.

    >>> float(round_away(2049.0, "float16"))
    2050.0
    """
    fmt, wide = float_format(fmt), numbers("values", values).astype(np.float64)
    spacing = np.where(np.isfinite(wide), ulp(wide, fmt), 1.0)
    steps = np.abs(wide) / spacing
    whole = np.floor(steps)
    return round_to(np.copysign((whole + (steps - whole >= 0.5)) * spacing, wide), fmt)
