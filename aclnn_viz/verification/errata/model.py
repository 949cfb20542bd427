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

#: Kinds of evidence for an erratum, and what each proves.
CLASSES = {
    "recomputed": message("recomputed mathematically"),
    "two texts": message("two published texts contradict each other, and both are quoted"),
    "source": message(
        "published source code contradicts the document, and the emulator follows the source code"
    ),
    "emulator": message("no published source code shows this: only the emulator behaves so"),
}


@dataclass(frozen=True)
class Evidence:
    """The result of recomputed evidence: does it still show the erratum, and the lines for the reader."""

    holds: bool
    lines: tuple[str, ...]


def shown(value) -> str:
    """Return a value as short text: numbers with six digits, arrays as lists.

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
    """Return a function that replaces names such as $KERNEL by the `sources` of a table; a source may use earlier ones."""
    sources: dict[str, str] = {}
    for name, text in table.get("sources", {}).items():
        sources[name] = Template(text).substitute(sources)
    return lambda text: Template(text).substitute(sources)


def distance(a, b) -> float:
    """Return the largest absolute difference; nan equals nan and is infinitely far from a number."""
    return float(np.max(measures.distance(a, b), initial=0.0))


@dataclass(frozen=True)
class Lemma:
    """A theorem of `derivations`, and a false claim, the formula as printed, that must not be proved."""

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
                message("  rejected, as it must be: {claim}", claim=denied)
                if refused
                else message("  PROVED, but false: {claim}", claim=denied),
            ),
        )

    def theorem(self):
        from derivations import theorems

        return next(t for t in theorems() if (t.operator, t.name) == (self.operator, self.name))


@dataclass(frozen=True)
class Counterexample:
    """A documented and a right formula at one point, judged by an independent third computation.

    `labels` name the two formulas. The evidence holds when the right value is within `tolerance` of the judge and the
    documented one at least a thousand times farther away. The step of the differences determines `tolerance`.
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
        # Values are shown to 9 digits, because further ones are errors of the differences; + 0.0
        # turns -0 into 0.
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
    """The real result (`found`) of a call or a computation for which the document promises another."""

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
    """An observation without the emulator: arithmetic on the printed text."""


@dataclass(frozen=True)
class Contradiction:
    """Two published texts that contradict each other, each as (statement in English, source with version)."""

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

    `document` quotes the print and `truth` the fact, each with a public source. `inferred` names the part of the truth that
    nobody published, if any; `emulated_only` says that nothing was published. `operator` is the operator of the errata file.
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
        """Return the erratum's title in the chosen language."""
        return tr(self.title)

    @property
    def rests_on(self) -> str:
        """Return the erratum's class, the strongest of CLASSES by the evidence; two texts outweigh a computation."""
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


# Derivatives by differences of forward passes, by which counterexamples are judged

# central differences of functions of order one then err by about 1e-10, far below 1e-6
STEP = 2.0**-17


def gradient(loss, x) -> np.ndarray:
    """Return the gradient of `loss`, a function of one float64 array, by central differences.

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
    """Return the derivative of a function from the left (side -1) or from the right (side 1)."""
    step = 2.0**-12
    return side * (function(x + side * step) - function(x)) / step
