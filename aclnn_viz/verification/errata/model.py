"""Data classes of errata (errors in the vendor's documents) and of their evidence: lemmas, numbers, computations, quotations,
emulated calls.
"""

from collections.abc import Callable
from dataclasses import dataclass
from string import Template

import numpy as np

from aclnn_viz.accuracy import measures
from aclnn_viz.words.messages import kept, message, tr

KINDS = ("mathematics", "contract", "numerics")

#: What an erratum rests on, and what it means that its evidence holds.
CLASSES = {
    "recomputed": message("recomputed mathematically"),
    "two texts": message("two published texts contradict each other, and both are quoted"),
    "source": message(
        "a published source does otherwise than the document, and the emulator does as the source"
    ),
    "emulator": message("no published source: only the emulator behaves so"),
}


@dataclass(frozen=True)
class Evidence:
    """Whether the recomputed evidence still shows the erratum, and the lines that a reader sees."""

    holds: bool
    lines: tuple[str, ...]


def shown(value) -> str:
    """A value as one short text: numbers with six digits, arrays as lists.

    >>> shown(np.float32([1, 0.5, np.nan]))
    '[1, 0.5, nan]'
    """
    if isinstance(value, str) or value is None:
        return str(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return f"{array.item():.6g}" if array.dtype.kind not in "biuO" else str(array.item())
    return "[" + ", ".join(map(shown, array)) + "]"


def citing(table: dict) -> Callable[[str], str]:
    """What writes the `sources` of a table in the place of their names in a text, such as $KERNEL; a source may name others before it."""
    sources: dict[str, str] = {}
    for name, text in table.get("sources", {}).items():
        sources[name] = Template(text).substitute(sources)
    return lambda text: Template(text).substitute(sources)


def distance(a, b) -> float:
    """The largest absolute difference; nan equals nan and is infinitely far from a number."""
    return float(np.max(measures.distance(a, b), initial=0.0))


@dataclass(frozen=True)
class Lemma:
    """A theorem of `derivations`, and the false claim beside it (the formula as printed) that must not be proved."""

    operator: str
    name: str
    refused: str

    def recompute(self) -> Evidence:
        theorem = self.theorem()
        mutant = {claim.name: claim for claim in theorem.mutants}[self.refused]
        proved, refused = theorem.prove().holds, not mutant.prove().holds
        claim, denied = kept(theorem.text), kept(mutant.name)
        return Evidence(
            proved and refused,
            (
                message("proved: {claim}", claim=claim)
                if proved
                else message("NOT PROVED: {claim}", claim=claim),
                message("  not proved, as it should be: {claim}", claim=denied)
                if refused
                else message("  PROVED, but false: {claim}", claim=denied),
            ),
        )

    def theorem(self):
        from derivations import theorems

        return next(t for t in theorems() if (t.operator, t.name) == (self.operator, self.name))


@dataclass(frozen=True)
class Counterexample:
    """The documented formula and the right one at one point, judged by a third computation that knows neither.

    `labels` name the two formulas. It holds when the right value meets the judge within `tolerance`, which is set by
    the step of the differences, and the documented one misses it by at least a thousand times as much.
    """

    at: str
    documented: Callable
    right: Callable
    judge: Callable
    judged_by: str
    tolerance: float = 1e-6
    labels: tuple[str, str] = ("documented", "right")

    def recompute(self) -> Evidence:
        documented, right, judge = self.documented(), self.right(), self.judge()
        holds = (
            distance(right, judge) <= self.tolerance
            and distance(documented, judge) >= 1000 * self.tolerance
        )
        values = zip((*self.labels, self.judged_by), (documented, right, judge))
        # Digits below the tolerance are noise of the differences; adding 0 makes a rounded -0 plain.
        return Evidence(
            holds,
            (
                message("at {place}:", place=kept(self.at)),
                *(
                    message(
                        "  {label}: {value}",
                        label=kept(label),
                        value=shown(np.round(value, 9) + 0.0),
                    )
                    for label, value in values
                ),
            ),
        )


@dataclass(frozen=True)
class Observation:
    """What a call, or a computation, really returns (`found`) where the document promises something else."""

    what: str
    observe: Callable
    documented: object
    found: object

    def recompute(self) -> Evidence:
        observed = shown(self.observe())
        holds = observed == shown(self.found) and observed != shown(self.documented)
        return Evidence(
            holds,
            (
                message(
                    "{what}: {observed} (document: {documented})",
                    what=kept(self.what),
                    observed=kept(observed),
                    documented=kept(shown(self.documented)),
                ),
            ),
        )


class Computation(Observation):
    """An observation that no emulator has a part in: arithmetic on what is printed."""


@dataclass(frozen=True)
class Contradiction:
    """Two published texts, each (what it says, where with its version); those in Chinese are given in English."""

    one: tuple[str, str]
    other: tuple[str, str]

    def recompute(self) -> Evidence:
        (one, where), (other, elsewhere) = self.one, self.other
        return Evidence(
            one != other and where != elsewhere and bool(one and other),
            (
                message('"{text}" ({source})', text=kept(one), source=kept(where)),
                message('  but "{text}" ({source})', text=kept(other), source=kept(elsewhere)),
            ),
        )


@dataclass(frozen=True)
class Erratum:
    """One place where a published document is wrong, or contradicts another one or the device.

    `document` says what is printed and `truth` what holds, each with its public source; `inferred` says what part of
    that nobody published, and is empty when there is none; `emulated_only` that no part was. `operator` is the one in
    whose file it stands.
    """

    id: str
    kind: str
    title: str
    document: str
    document_source: str
    truth: str
    truth_source: str
    evidence: tuple
    inferred: str = ""
    emulated_only: bool = False
    operator: str = "all"

    def __str__(self) -> str:
        """Its title, in the chosen language."""
        return tr(self.title)

    @property
    def rests_on(self) -> str:
        """Its class, one of CLASSES: the strongest that its evidence allows, where two texts outweigh a computation."""
        if self.emulated_only:
            return "emulator"
        if any(isinstance(part, Contradiction) for part in self.evidence):
            return "two texts"
        computed = any(
            isinstance(part, Lemma | Counterexample | Computation) for part in self.evidence
        )
        return "recomputed" if computed else "source"

    def recompute(self) -> Evidence:
        """Recompute all evidence; the erratum holds only if every part does."""
        parts = [part.recompute() for part in self.evidence]
        return Evidence(
            bool(parts) and all(part.holds for part in parts),
            tuple(line for part in parts for line in part.lines),
        )


# Derivatives from differences of forward passes: the judges of the counterexamples

# the error of a central difference of order-one functions is then about 1e-10, far below 1e-6
STEP = 2.0**-17


def gradient(loss, x) -> np.ndarray:
    """The gradient of `loss`, a function of one float64 array, by central differences.

    >>> gradient(lambda x: x @ x, np.array([1.0, 2.0])).round(6).tolist()
    [2.0, 4.0]
    """
    x = np.asarray(x, np.float64)
    slopes = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        move = np.zeros(x.shape)
        move[index] = STEP
        slopes[index] = (loss(x + move) - loss(x - move)) / (2 * STEP)
    return slopes


def one_sided(function, x: float, side: int) -> float:
    """The derivative of a function from the left (side -1) or from the right (side 1)."""
    step = 2.0**-12
    return side * (function(x + side * step) - function(x)) / step
