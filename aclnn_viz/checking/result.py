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
from aclnn_viz.words.speech import linked, message, ntr, tr

PRINTED = 24  # elements of a tensor
ALLOWING = message("  leave them out with dtypes=, where= or limits=, or pass with allow_unsupported=True (--allow-unsupported)")
NOTHING = message("none of those measured")


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
        self.worst = message("{element} is {actual} instead of {truth}", element=f"{worst.output}{list(worst.index)}",
                             actual=f"{worst.actual:.9g}", truth=f"{worst.truth:.9g}") if worst else ""

    def __str__(self) -> str:
        attributes = [f"{name}={value!r}" for name, value in self.inputs.items() if not isinstance(value, np.ndarray)]
        lines = [tr("{operator}, {dtype}: {problems}", operator=self.case.operator.name, dtype=self.case.dtype,
                    problems=linked("{some}, {more}", self.problems))]
        lines += [f"  {tr(self.worst)}"] * bool(self.worst)
        lines += [f"  {', '.join(attributes)}"] * bool(attributes)
        lines += [f"  {name} = {_text(value)}" for name, value in self.inputs.items() if isinstance(value, np.ndarray)]
        for name in self.truth:
            if name in self.actual and any(problem.startswith(name) for problem in self.problems):
                lines += [tr("  {name}, yours = {value}", name=name, value=_text(self.actual[name])),
                          tr("  {name}, truth = {value}", name=name, value=_text(self.truth[name]))]
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
        if self.common:
            return ntr("{n} case not supported: {common}", "{n} cases not supported: {common}", len(self), common=self.common)
        return ntr("{n} case not supported", "{n} cases not supported", len(self))


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
        lines = [self._verdict()]
        lines += [tr(self.unrun)] * self.stopped
        lines += [tr("judged on {scope}", scope=self.scope)] * bool(self.scope)
        told = [message("{n} ({why})", n=count, why=why) for why, count in self.left_out.items()]
        lines += [tr("  left out: {told}", told=linked("{some}, {more}", told))] * bool(told)
        lines += [f"{self.unsupported}"] * bool(self.unsupported.cases)
        if self.unsupported.cases and not self.passed and not self.failed and not self.misbehaviour:
            lines += [tr(ALLOWING)]
        lines += [tr("{n} cases are refused by the device and not judged", n=self.refused)] * bool(self.refused)
        lines += [tr("{n} elements hang on a rounding and are not judged", n=self.undecided)] * bool(self.undecided)
        for what, where in self.misbehaviour.items():
            lines.append(tr("the kernel {did} (first with {where})", did=what, where=where))
            lines += [f"  {line}" for line in tr(self.traces.get(what, "")).splitlines()]
        lines += [ntr("{output} is wrong in {n} case", "{output} is wrong in {n} cases", count, output=name)
                  for name, count in self.outputs.items()]
        lines += [f"  {tr(line)}" for line in self.conditions]
        for output, named in self.regions.items():
            told = [message("{region} {bad} of {all}", region=name, bad=bad, all=total) for name, (bad, total) in named.items()]
            lines.append(tr("  {output}, wrong elements by region: {told}", output=output, told=linked("{some}, {more}", told)))
        lines += ["", tr("diagnosis: {told}", told=self.diagnosis)] * (self.diagnosis is not None)
        if self.explanation and not self.diagnosis.name:
            lines += ["", tr("explanation: {told}", told=self.explanation)]
        lines += ["", tr("smallest counterexample: {told}", told=self.counterexample)] * (self.counterexample is not None)
        if self.passed:
            lines.append(tr("known blind spots: {terms}", terms=self._blind))
            lines.append(tr("this depth, {depth}, did not try: {told}", depth=self.depth,
                            told=linked("{some}; {more}", self.untried)))
        return "\n".join(lines)

    def _verdict(self) -> str:
        told = {"operator": self.operator, "seed": self.seed, "seconds": f"{self.seconds:.1f}"}
        if self.passed:
            return ntr("{operator}: right on {n} case (seed {seed}, {seconds} s)",
                       "{operator}: right on {n} cases (seed {seed}, {seconds} s)", self.cases, **told)
        if self.failed:
            return ntr("{operator}: WRONG in {failed} of {n} case (seed {seed}, {seconds} s)",
                       "{operator}: WRONG in {failed} of {n} cases (seed {seed}, {seconds} s)", self.cases,
                       failed=self.failed, **told)
        return ntr("{operator}: NOT ACCEPTED after {n} case (seed {seed}, {seconds} s)",
                   "{operator}: NOT ACCEPTED after {n} cases (seed {seed}, {seconds} s)", self.cases, **told)

    @property
    def _blind(self) -> str:
        return linked("{some}, {more}", self.vacuity.blind) if self.vacuity.blind else NOTHING

    def _repr_html_(self) -> str:
        head, _, rest = str(self).partition("\n")
        colour, sign = ("#3d9a5b", "✔") if self.passed else ("#d6455a", "✘")
        rows = [(tr("judged on"), tr(self.scope))] * bool(self.scope)
        rows += [(tr("not supported"), str(self.unsupported))] * bool(self.unsupported.cases)
        rows += [(tr("the kernel"), tr(linked("{some}; {more}", self.misbehaviour)))] * bool(self.misbehaviour)
        wrong = [message("{output} in {n} cases", output=name, n=count) for name, count in self.outputs.items()]
        rows += [(tr("wrong"), tr(linked("{some}, {more}", wrong)))] * bool(wrong)
        if self.diagnosis is not None:
            rows.append((tr("looks like"), str(self.diagnosis).partition("\n")[0]))
        if self.counterexample is not None:
            told = self.counterexample.worst or linked("{some}, {more}", self.counterexample.problems)
            rows.append((tr("smallest case"), tr(told)))
        if self.passed:
            rows.append((tr("known blind spots"), tr(self._blind)))
        return as_html(f"{sign} {head}", (), rows, more=rest, mark=colour, opens=tr("all of it"))

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
        return tr("array of shape {shape}", shape=array.shape)
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
