"""What a check found, as text, in a notebook and as JSON."""

import html
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aclnn_viz.cases import files
from aclnn_viz.cases.vacuity import Vacuity
from aclnn_viz.checking.diagnosis import Diagnosis
from aclnn_viz.checking.explaining import Explanation
from aclnn_viz.checking.facts import Facts, common
from aclnn_viz.checking.judging import Prepared
from aclnn_viz.checking.observing import Seen
from aclnn_viz.tables import as_html

PRINTED = 24  # elements of a tensor
ALLOWING = "  leave them out with dtypes=, where= or limits=, or pass with allow_unsupported=True (--allow-unsupported)"


def dumped(one: Prepared, outputs: dict[str, np.ndarray]) -> files.Dumped:
    """A case as it is written to files, with the outputs that are known of it."""
    return files.Dumped(one.case, str(one.recipe), outputs,
                        {name: (part.truth.shape, part.dtype) for name, part in one.expected.items()})


class Counterexample:
    """A small case on which a kernel is wrong: `inputs`, `actual`, `truth`, and the element that is farthest off."""

    def __init__(self, seen: Seen):
        self._seen = seen
        self.case = seen.prepared.case
        self.recipe = str(seen.prepared.recipe)
        self.inputs = self.case.inputs
        self.actual = seen.outputs
        self.truth = {name: part.truth for name, part in seen.prepared.expected.items()}
        self.problems = [miss.problem for miss in seen.misses]
        worst = next((miss for miss in seen.misses if miss.index is not None), None)
        self.output = seen.misses[0].output
        self.index = worst.index if worst else None
        self.worst = f"{worst.output}{list(worst.index)} is {worst.actual:.9g} instead of {worst.truth:.9g}" \
            if worst else ""

    def __str__(self) -> str:
        attributes = [f"{name}={value!r}" for name, value in self.inputs.items() if not isinstance(value, np.ndarray)]
        lines = [f"{self.case.operator.name}, {self.case.dtype}: {', '.join(self.problems)}"]
        lines += [f"  {self.worst}"] * bool(self.worst)
        lines += [f"  {', '.join(attributes)}"] * bool(attributes)
        lines += [f"  {name} = {_text(value)}" for name, value in self.inputs.items() if isinstance(value, np.ndarray)]
        for name in self.truth:
            if name in self.actual and any(problem.startswith(name) for problem in self.problems):
                lines += [f"  {name}, yours = {_text(self.actual[name])}",
                          f"  {name}, truth = {_text(self.truth[name])}"]
        return "\n".join(lines)

    def write(self, folder, force: bool = False) -> Path:
        """Write the case, with the kernel's outputs, as `aclnn-viz check --write` lays cases out; return the folder.

        Raises FileExistsError where something is; with `force` a folder of cases is replaced.
        """
        return files.write_cases(folder, self.case.operator, [dumped(self._seen.prepared, self.actual)], force=force)

    def to_json(self) -> dict:
        return {"dtype": self.case.dtype, "recipe": self.recipe, "problems": self.problems, "worst": self.worst,
                "inputs": {name: _plain(value) for name, value in self.inputs.items()},
                "actual": {name: _plain(value) for name, value in self.actual.items()},
                "truth": {name: _plain(value) for name, value in self.truth.items()}}


@dataclass(frozen=True)
class Unsupported:
    """The cases for which a kernel says that it does not support them, and what these have in common."""

    cases: tuple[str, ...]
    common: str

    @classmethod
    def of(cls, some: Sequence, others: Sequence[Facts]) -> "Unsupported":
        told = common([Facts.of(one.case) for one in some], others) if some else ""
        return cls(tuple(str(one.recipe) for one in some), told)

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        return f"{len(self)} case{'s' * (len(self) != 1)} not supported" + f": {self.common}" * bool(self.common)


@dataclass(frozen=True, eq=False, repr=False)
class CheckResult:
    """Whether a kernel is right; if not: where it is wrong, which mistake that looks like, and the smallest case found.

    `passed`: cases were judged, all of them are right, the kernel did nothing else wrong, and there was none that it
    does not support, unless that was allowed. `cases` were judged, `failed` of them are wrong, `refused` a device does
    not compute, `unsupported` the kernel does not; `unrun` says why others were not run. `scope` says what counts,
    `left_out` why cases of the suite do not. `misbehaviour` maps what else the kernel does wrong to the case where it
    did, `traces` to where an error was raised. `explanation` is the smallest change of the right page
    that gives the kernel's numbers, or None. `vacuity` says what these cases cannot show, `untried` what this `depth`
    did not try.
    """

    operator: str
    passed: bool
    seed: int
    cases: int
    failed: int
    refused: int
    unsupported: Unsupported
    scope: str
    left_out: dict[str, int]
    undecided: int
    unrun: str
    seconds: float
    first_failure: float | None
    outputs: dict[str, int]
    misbehaviour: dict[str, str]
    traces: dict[str, str]
    conditions: list[str]
    regions: dict[str, dict[str, tuple[int, int]]]
    diagnosis: Diagnosis | None
    explanation: Explanation | None
    counterexample: Counterexample | None
    vacuity: Vacuity
    depth: str
    untried: list[str]

    @property
    def stopped(self) -> bool:
        """Whether some cases were not run."""
        return bool(self.unrun)

    def __str__(self) -> str:
        verdict = "right on" if self.passed else f"WRONG in {self.failed} of" if self.failed else "NOT ACCEPTED after"
        lines = [f"{self.operator}: {verdict} {self.cases} case{'s' * (self.cases != 1)} (seed {self.seed}, {self.seconds:.1f} s)"]
        lines += [self.unrun] * self.stopped
        lines += [f"judged on {self.scope}"] * bool(self.scope)
        told = ", ".join(f"{count} with {why}" for why, count in self.left_out.items())
        lines += [f"  left out: {told}"] * bool(told)
        lines += [f"{self.unsupported}"] * bool(self.unsupported.cases)
        if self.unsupported.cases and not self.passed and not self.failed and not self.misbehaviour:
            lines += [ALLOWING]
        lines += [f"{self.refused} cases are refused by the device and not judged"] * bool(self.refused)
        lines += [f"{self.undecided} elements hang on a rounding and are not judged"] * bool(self.undecided)
        for what, where in self.misbehaviour.items():
            lines.append(f"the kernel {what} (first with {where})")
            lines += [f"  {line}" for line in self.traces.get(what, "").splitlines()]
        lines += [f"{name} is wrong in {count} case{'s' * (count > 1)}" for name, count in self.outputs.items()]
        lines += [f"  {line}" for line in self.conditions]
        for output, named in self.regions.items():
            told = ", ".join(f"{name} {bad} of {total}" for name, (bad, total) in named.items())
            lines.append(f"  {output}, wrong elements by region: {told}")
        lines += ["", f"diagnosis: {self.diagnosis}"] * (self.diagnosis is not None)
        if self.explanation and not self.diagnosis.name:
            lines += ["", f"explanation: {self.explanation}"]
        lines += ["", f"smallest counterexample: {self.counterexample}"] * (self.counterexample is not None)
        if self.passed:
            lines.append(f"cannot fail on: {', '.join(self.vacuity.blind) or 'nothing that the meter knows'}")
            lines.append(f"this depth, {self.depth}, did not try: {'; '.join(self.untried)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, _, rest = str(self).partition("\n")
        colour, sign = ("#3d9a5b", "✔") if self.passed else ("#d6455a", "✘")
        rows = [("judged on", self.scope)] * bool(self.scope)
        rows += [("not supported", str(self.unsupported))] * bool(self.unsupported.cases)
        rows += [("the kernel", "; ".join(self.misbehaviour))] * bool(self.misbehaviour)
        rows += [("wrong", ", ".join(f"{name} in {count} cases" for name, count in self.outputs.items()))] * bool(
            self.outputs)
        if self.diagnosis is not None:
            rows.append(("looks like", str(self.diagnosis).partition("\n")[0]))
        if self.counterexample is not None:
            rows.append(("smallest case", self.counterexample.worst or ", ".join(self.counterexample.problems)))
        if self.passed:
            rows.append(("cannot fail on", ", ".join(self.vacuity.blind) or "nothing that the meter knows"))
        return as_html(f"{sign} {head}", (), rows, more=rest, mark=colour)

    def __repr__(self) -> str:
        return f"CheckResult({str(self).partition(chr(10))[0]})"

    def to_json(self) -> str:
        """Return everything as JSON text; nan and infinities become strings."""
        content = {name: getattr(self, name) for name in (
            "operator", "passed", "seed", "cases", "failed", "refused", "undecided", "stopped", "seconds",
            "first_failure", "outputs", "misbehaviour", "traces", "conditions", "regions",
            "scope", "left_out")}
        content["unsupported"] = {"cases": list(self.unsupported.cases), "common": self.unsupported.common}
        content["diagnosis"] = vars(self.diagnosis) if self.diagnosis else None
        content["explanation"] = {
            name: value for name, value in vars(self.explanation).items() if name != "holds"} if self.explanation else None
        content["counterexample"] = self.counterexample.to_json() if self.counterexample else None
        content["cannot_fail_on"] = self.vacuity.blind
        content["depth"], content["not_tried"] = self.depth, self.untried
        return json.dumps(content, indent=1)


def _text(array: np.ndarray) -> str:
    if array.size > PRINTED:
        return f"array of shape {array.shape}"
    shown = array.astype(np.float64) if array.dtype.kind not in "iub" else array
    return f"{np.array2string(shown, precision=9, separator=', ', max_line_width=10**6).replace(chr(10), '')}" \
           f" ({array.dtype})"


def _plain(value):
    """Nested lists of numbers; a large array is told by its shape, one that is not finite by its numbers' texts."""
    if not isinstance(value, np.ndarray):
        return value if not isinstance(value, float) or math.isfinite(value) else repr(value)
    if value.size > 1000:
        return {"shape": list(value.shape), "dtype": str(value.dtype)}
    wide = value.astype(np.float64) if value.dtype.kind not in "iub" else value
    return _nested(wide.tolist())


def _nested(value):
    if isinstance(value, list):
        return [_nested(item) for item in value]
    return value if not isinstance(value, float) or math.isfinite(value) else repr(value)
