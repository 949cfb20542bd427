"""The result of a check: put together from the evidence, and shown as text, in a notebook and as JSON."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from aclnn_viz.cases import Case
from aclnn_viz.cases.vacuity import Vacuity, vacuity
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.conditions import Traits, common
from aclnn_viz.checking.counterexample import Counterexample
from aclnn_viz.checking.evidence import Evidence, KernelUnderTest
from aclnn_viz.checking.explanation import Diagnosis, Explanation, diagnose, explain, of_fault, with_closest
from aclnn_viz.checking.judge import once_per_case
from aclnn_viz.checking.scope import DEPTHS, Depth, Scope
from aclnn_viz.checking.tile_trials import Trials
from aclnn_viz.checking.wrong_outputs import depends, in_documented_form, wrong_conditions, wrong_forms, wrong_regions
from aclnn_viz.operators.faults import faults
from aclnn_viz.tables import as_html
from aclnn_viz.words.messages import linked, message, ntr, tr

ALLOWING = message("  leave them out with dtypes=, where= or limits=, or pass with allow_unsupported=True (--allow-unsupported)")
NOTHING = message("none of those measured")
DEPENDENCE = 1.5  # seconds, for what its errors depend on where nothing explains them


@dataclass(frozen=True)
class Unsupported:
    """The cases for which a kernel says that it does not support them, and what these have in common."""

    cases: tuple[str, ...]
    common: str

    @classmethod
    def of(cls, some: Sequence, others: Sequence[Traits]) -> "Unsupported":
        text = common([Traits.of(one.case) for one in some], others) if some else ""
        return cls(tuple(str(one.recipe) for one in some), text)

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
    `trials` says on which rows, cores and buffers and in which orders a tile program was run,
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
    trials: Trials | None = None

    @property
    def stopped(self) -> bool:
        """Whether some cases were not run."""
        return bool(self.unrun)

    def __str__(self) -> str:
        lines = [self._verdict()]
        lines += [tr(self.unrun)] * self.stopped
        lines += [tr("judged on {scope}", scope=self.scope)] * bool(self.scope)
        text = [message("{n} ({why})", n=count, why=why) for why, count in self.left_out.items()]
        lines += [tr("  left out: {text}", text=linked("{some}, {more}", text))] * bool(text)
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
            text = [message("{region} {bad} of {all}", region=name, bad=bad, all=total) for name, (bad, total) in named.items()]
            lines.append(tr("  {output}, wrong elements by region: {text}", output=output, text=linked("{some}, {more}", text)))
        lines += ["", tr("diagnosis: {text}", text=self.diagnosis)] * (self.diagnosis is not None)
        if self.explanation and not self.diagnosis.name:
            lines += ["", tr("explanation: {text}", text=self.explanation)]
        lines += ["", tr("smallest counterexample: {text}", text=self.counterexample)] * (self.counterexample is not None)
        if self.passed:
            lines += [tr(one.text) for one in (self.trials,) if one]
            lines.append(tr("known blind spots: {terms}", terms=self._blind))
            lines.append(tr("this depth, {depth}, did not try: {text}", depth=self.depth,
                            text=linked("{some}; {more}", self.untried)))
        return "\n".join(lines)

    def _verdict(self) -> str:
        text = {"operator": self.operator, "seed": self.seed, "seconds": f"{self.seconds:.1f}"}
        if self.passed:
            return ntr("{operator}: right on {n} case (seed {seed}, {seconds} s)",
                       "{operator}: right on {n} cases (seed {seed}, {seconds} s)", self.cases, **text)
        if self.failed:
            return ntr("{operator}: WRONG in {failed} of {n} case (seed {seed}, {seconds} s)",
                       "{operator}: WRONG in {failed} of {n} cases (seed {seed}, {seconds} s)", self.cases,
                       failed=self.failed, **text)
        return ntr("{operator}: NOT ACCEPTED after {n} case (seed {seed}, {seconds} s)",
                   "{operator}: NOT ACCEPTED after {n} cases (seed {seed}, {seconds} s)", self.cases, **text)

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
            text = self.counterexample.worst or linked("{some}, {more}", self.counterexample.problems)
            rows.append((tr("smallest case"), tr(text)))
        if self.passed:
            rows += [(tr("as tiles"), tr(one.text)) for one in (self.trials,) if one]
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
        content["trials"] = asdict(self.trials) if self.trials else None
        return json.dumps(content, indent=1)


def conclude(op, evidence: Evidence, seed: int, scope: Scope, tested: KernelUnderTest | None = None, *, small: CaseRun | None = None,
             seconds: float = 0.0, allowed: bool = False, device: bool = False,
             depth: Depth = DEPTHS["normal"], trials: Trials | None = None) -> CheckResult:
    """Return the result for what was seen; `small` is the shrunken counterexample, if the kernel could be called.

    With `allowed` cases that the kernel does not support may be among them; those of a `device` are counted as such.
    """
    seen = evidence.seen
    wrong = [one for one in seen if one.misses]
    small = small or min(wrong, key=lambda one: one.elements, default=None)
    diagnosis, explanation = _explained(op, evidence, tested, int(seed), depth.searching) if wrong else (None, None)
    traits = [*(one.traits for one in seen), *evidence.right]
    return CheckResult(
        operator=op.name, seed=int(seed),
        passed=bool(seen) and not wrong and not evidence.misbehaviour and (allowed or not evidence.refused),
        cases=len(traits), failed=len(wrong), refused=len(evidence.refused) * device,
        unsupported=Unsupported.of([] if device else evidence.refused, traits),
        scope=scope.text, left_out=dict(scope.left_out), traces=evidence.traces,
        undecided=sum(one.prepared.undecided for one in seen) + evidence.undecided,
        unrun=evidence.unrun, seconds=seconds, first_failure=evidence.first_failure,
        outputs=dict(Counter(miss.output for one in wrong for miss in one.misses)),
        misbehaviour=evidence.misbehaviour, regions=wrong_regions(op, wrong),
        conditions=wrong_conditions([(one.traits, bool(one.misses)) for one in seen] + [(one, False) for one in evidence.right]),
        diagnosis=diagnosis, explanation=explanation,
        counterexample=Counterexample(small) if small else None,
        vacuity=_can_show(op, [one.prepared.case for one in seen]), depth=depth.name, untried=evidence.tried.untried,
        trials=trials)


@once_per_case
def _influence(made: Case) -> dict[str, float]:
    return vacuity([made]).influence


def _can_show(op, cases: Sequence[Case]) -> Vacuity:
    """What cases can show, of each term in the case that shows it best."""
    best: dict[str, float] = {}
    for one in cases:
        best |= {name: max(best.get(name, 0.0), value) for name, value in _influence(one).items()}
    return Vacuity(op.name if cases else "", len(cases), best)


def _explained(op, evidence: Evidence, tested: KernelUnderTest | None, seed: int,
               seconds: float) -> tuple[Diagnosis, Explanation | None]:
    """The likeliest mistake, and the change that explains it; of numbers that do not fit, once they do."""
    seen, unfit = evidence.seen, wrong_forms(evidence.seen)
    diagnosis = diagnose(op, seen, tested, evidence.silent, evidence.right)
    if unfit and not diagnosis.name:
        seen = [in_documented_form(one) for one in seen]
        if not any(one.misses for one in seen):
            return Diagnosis(None, False, message("{misfits}: all numbers are right", misfits=linked("{some}; {more}", unfit))), None
        diagnosis = diagnose(op, seen, tested, evidence.silent, evidence.right)
        diagnosis = replace(diagnosis, text=linked("{some}; {more}", [*unfit, message("of the numbers: {text}", text=diagnosis.text)]))
    if diagnosis.name:
        return diagnosis, of_fault(op, next(one for one in faults(op.name) if one.name == diagnosis.name), len(seen))
    explanation = explain(op, seen, tested, seed, seconds, evidence.right)
    if not explanation:
        failing = sorted((one for one in seen if one.misses), key=lambda one: one.size)
        text = depends(op, failing, tested, seed, min(DEPENDENCE, seconds))
        diagnosis = with_closest(op, diagnosis, seen)
        diagnosis = replace(diagnosis, text=linked("{some}; {more}", [diagnosis.text, *text]))
    return diagnosis, explanation
