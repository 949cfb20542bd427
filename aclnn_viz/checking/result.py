"""Build the result of a check from its evidence, and show it as text, in a notebook and as JSON."""

import html
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property

import numpy as np

from aclnn_viz.checking.budgets import DEPENDENCE, FRESHLY, LATE, LINES, MENDING
from aclnn_viz.checking.case_run import CaseRun, cheapest_first
from aclnn_viz.checking.conditions import Traits, common, only
from aclnn_viz.checking.counterexample import Counterexample
from aclnn_viz.checking.evidence import Coverage, Evidence, KernelUnderTest
from aclnn_viz.checking.explanation import (
    NO_FAULT,
    Diagnosis,
    Explanation,
    diagnose,
    explain,
    fresh_runs,
    law_of,
    of_fault,
)
from aclnn_viz.checking.judge import judge
from aclnn_viz.checking.kernel_call import fault_of_memory, filled, run
from aclnn_viz.checking.mends import FreshCases, Mend, mend
from aclnn_viz.checking.meter import METER, Budget
from aclnn_viz.checking.nan import NanOrigin, nan_origin
from aclnn_viz.checking.scope import DEPTHS, Depth, Scope
from aclnn_viz.checking.wrong_outputs import (
    convention,
    depends,
    in_documented_form,
    wrong_conditions,
    wrong_forms,
    wrong_regions,
)
from aclnn_viz.operators.faults import faults
from aclnn_viz.tables import GREEN, RED, as_html, page
from aclnn_viz.words.messages import commas, language_here, linked, message, ntr, tr

ALLOWING = message(
    "  leave such cases out with dtypes=, where= or limits=, or let them pass with allow_unsupported=True (--allow-unsupported)"
)
REASONS = 3  # the most frequent refusals that are shown


@dataclass(frozen=True)
class Unsupported:
    """The cases that a kernel does not support, their `common` property, and one that only the `others` have."""

    cases: tuple[str, ...]
    common: str
    others: str

    @classmethod
    def of(cls, some: Sequence, others: Sequence[Traits]) -> "Unsupported":
        traits = [Traits.of(ready.case) for ready in some]
        texts = (common(traits, others), only(others, traits)) if some else ("", "")
        return cls(tuple(str(ready.recipe) for ready in some), *texts)

    def __len__(self) -> int:
        return len(self.cases)

    def __str__(self) -> str:
        if self.common:
            return ntr(
                "{n} case not supported: {common}",
                "{n} cases not supported: {common}",
                len(self),
                common=self.common,
            )
        return ntr("{n} case not supported", "{n} cases not supported", len(self))


@dataclass(frozen=True, eq=False, repr=False)
class CheckResult:
    """The verdict on a kernel; if it is wrong, also the place and the likeliest mistake.

    Attributes
    ----------
    operator : str
        The short name of the operator.
    passed : bool
        Whether cases were judged and all are right, without another fault of the kernel and
        without unsupported cases, unless these were allowed.
    seed, depth : int, str
        The arguments of the call.
    cases, failed, refused, undecided : int
        The numbers of judged cases, of wrong ones, of cases that a device does not compute, and of
        elements that the truth cannot judge.
    unsupported : Unsupported
        The cases that the kernel does not support.
    scope : str
        The selection of cases in words.
    left_out, reasons : dict of str to int
        Reasons for omitted cases of the suite, and for refused or unsupported cases.
    unrun : str
        Why other cases did not run.
    seconds, first_failure : float
        The time of the whole check, and until the first case failed, in seconds.
    outputs : dict of str to int
        The number of wrong cases by output.
    misbehaviour : dict of str to str
        Other faults of the kernel, each with its case.
    traces : dict of str to str
        The place where each error was raised.
    conditions : list of str
        Conditions that hold for all wrong cases and for no right one.
    regions : dict
        The first and the last wrong place by output and axis.
    diagnosis : Diagnosis or None
        The likeliest named mistake.
    explanation : Explanation or None
        The smallest change of the right page that yields the kernel's numbers; `cause` states it in
        one line.
    counterexample : Counterexample or None
        The smallest case found.
    coverage, as_tiles : Coverage, bool
        The contents of the cases, and whether the kernel is a tile program not tried as one;
        `untried` follows from both.
    nan : NanOrigin or None
        The origin of the first wrong nan or infinity, or the place where a right one is lost.
    trials : object or None
        The rows, cores, buffers and orders with which a tile program ran.
    notes : tuple of str
        Remarks, such as the number of wrong cases in which only a convention differs.
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
    depth: str
    coverage: Coverage
    as_tiles: bool
    nan: NanOrigin | None = None
    trials: object | None = None  # trials on tiles, if the kernel is a tile program
    notes: tuple[str, ...] = ()
    reasons: dict[str, int] = field(default_factory=dict)

    @cached_property
    def untried(self) -> list[str]:
        """What this depth did not try: first conditions of the page, then of rows and of lengths."""
        return self.coverage.untried + [NOT_AS_TILES] * self.as_tiles

    @property
    def stopped(self) -> bool:
        """Whether some cases did not run."""
        return bool(self.unrun)

    @property
    def cause(self) -> str:
        """The reason why the kernel is wrong in one line, if found; "" for a right one."""
        found = self.explanation
        if found and (yours := found.yours):
            shown = message(
                "{line}: {before}  ->  {after}",
                line=yours.line,
                before=_joined(yours.before),
                after=_joined(yours.after),
            )
            return (
                message(
                    "{edit} (one of {n} edits that mend it)", edit=shown, n=1 + len(yours.equal)
                )
                if yours.equal
                else shown
            )
        if found and not self.diagnosis.name:
            return found.brief
        if self.diagnosis is not None:
            return self.diagnosis.text
        return next(iter(self.misbehaviour), "")

    def __str__(self) -> str:
        return "\n".join([*self._found(), *self._counts(), *self._where(), *self._tried()])

    def _found(self) -> Iterator[str]:
        """Yield the verdict, its cause, the explanation, and the smallest case."""
        explanation, diagnosis = self.explanation, self.diagnosis
        yield self._verdict()
        if explanation and self.cause != diagnosis.text:
            yield tr(self.cause)
        yield from map(tr, (*self.notes, *[self.unrun] * self.stopped))
        if diagnosis and not (explanation and diagnosis.text == NO_FAULT):
            yield "\n" + tr("diagnosis: {text}", text=diagnosis)
        shown = explanation and (explanation.yours if diagnosis.name else explanation)
        if shown and explanation.text != diagnosis.text:
            yield "\n" + tr("explanation: {text}", text=tr(str(shown)))
        if self.nan:
            yield f"\n{self.nan}"
        if self.counterexample:
            yield "\n" + tr("smallest counterexample: {text}", text=self.counterexample) + "\n"

    def _counts(self) -> Iterator[str]:
        """Yield lines on the judged cases and the others."""
        if self.scope:
            yield tr("judged on {scope}", scope=self.scope)
        text = [message("{n} ({why})", n=count, why=why) for why, count in self.left_out.items()]
        if text:
            yield tr("  left out: {text}", text=commas(text))
        if self.unsupported.cases:
            yield f"{self.unsupported}"
            if self._right_on_part and not self.passed:
                yield tr(ALLOWING)
        if self.refused:
            yield tr("{n} cases are refused by the device and not judged", n=self.refused)
        for why, count in Counter(self.reasons).most_common(REASONS):
            yield ntr("  {n} case: {why}", "  {n} cases: {why}", count, why=why)
        if self.undecided:
            yield tr(
                "{n} elements depend on how an intermediate value was rounded, and are not judged",
                n=self.undecided,
            )

    def _where(self) -> Iterator[str]:
        """Yield lines on the kernel's faults, their cases and regions."""
        for what, where in self.misbehaviour.items():
            yield tr("the kernel {did} (first with {where})", did=what, where=where)
            yield from (f"  {line}" for line in tr(self.traces.get(what, "")).splitlines())
        for name, count in self.outputs.items():
            yield ntr(
                "{output} is wrong in {n} case",
                "{output} is wrong in {n} cases",
                count,
                output=name,
            )
        yield from (f"  {tr(line)}" for line in self.conditions)
        for output, named in self.regions.items():
            text = [
                message("{region} {bad} of {all}", region=name, bad=bad, all=total)
                for name, (bad, total) in named.items()
            ]
            yield tr(
                "  {output}, wrong elements by region: {text}",
                output=output,
                text=commas(text),
            )

    def _tried(self) -> Iterator[str]:
        """Yield for a right kernel what its cases cannot show."""
        if self.passed or self._right_on_part:
            if self.trials:
                yield tr(self.trials.text)
            yield tr(
                "this depth, {depth}, did not try: {text}",
                depth=self.depth,
                text=linked("{some}; {more}", self.untried),
            )

    def raise_if_failed(self) -> "CheckResult":
        """Raise the text of the result unless the kernel passed, for use in tests.

        Returns
        -------
        CheckResult
            The result itself, if the kernel passed.

        Raises
        ------
        AssertionError
            If the kernel did not pass.

        Examples
        --------
        >>> import aclnn_viz as av
        >>> av.check("hardswish", av.operator("hardswish").backward).raise_if_failed().passed
        True
        """
        if not self.passed:
            raise AssertionError(str(self))
        return self

    def to_html(self) -> str:
        """Return the result as one self-contained HTML page.

        Returns
        -------
        str
            The verdict, its cause, the smallest case, the line that repeats it, and the rest
            folded.

        Examples
        --------
        >>> import aclnn_viz as av
        >>> page = av.check("hardswish", av.operator("hardswish").backward, depth="quick").to_html()
        >>> page.lower().startswith("<!doctype html>")
        True
        """
        call = (
            f'<pre style="white-space:pre-wrap">{html.escape(self.counterexample.call)}</pre>'
            if self.counterexample
            else ""
        )
        return page(
            self.operator, self._repr_html_() + call, "max-width:60em; margin:auto", language_here()
        )

    def _verdict(self) -> str:
        text = {"operator": self.operator, "seed": self.seed, "seconds": f"{self.seconds:.1f}"}
        if self._right_on_part:
            part = self.unsupported.others
            return tr(
                "{operator}: right on {n} of {all} cases{part} (seed {seed}, {seconds} s)",
                n=self.cases,
                all=self.cases + len(self.unsupported),
                part=part and message(": only {part}", part=part),
                **text,
            )
        if self.passed:
            return ntr(
                "{operator}: right on {n} case (seed {seed}, {seconds} s)",
                "{operator}: right on {n} cases (seed {seed}, {seconds} s)",
                self.cases,
                **text,
            )
        if self.failed:
            return ntr(
                "{operator}: WRONG in {failed} of {n} case (seed {seed}, {seconds} s)",
                "{operator}: WRONG in {failed} of {n} cases (seed {seed}, {seconds} s)",
                self.cases,
                failed=self.failed,
                **text,
            )
        return ntr(
            "{operator}: NOT ACCEPTED after {n} case (seed {seed}, {seconds} s)",
            "{operator}: NOT ACCEPTED after {n} cases (seed {seed}, {seconds} s)",
            self.cases,
            **text,
        )

    @property
    def _right_on_part(self) -> bool:
        wrong = self.failed or self.misbehaviour
        return bool(self.unsupported.cases and self.cases and not wrong)

    def _repr_html_(self) -> str:
        head, _, rest = str(self).partition("\n")
        colour, sign = (GREEN, "✔") if self.passed else (RED, "✘")
        case = self.counterexample
        rows = [
            (message("judged on"), self.scope),
            (message("not supported"), self.unsupported.cases and str(self.unsupported)),
            (
                message("the kernel"),
                self.misbehaviour and linked("{some}; {more}", self.misbehaviour),
            ),
            *(
                (
                    message("wrong"),
                    ntr("{output} in {n} case", "{output} in {n} cases", count, output=name),
                )
                for name, count in self.outputs.items()
            ),
            (message("likeliest mistake"), self.diagnosis and self.cause),
            (message("nan or infinity"), self.nan and str(self.nan)),
            *((message("note"), note) for note in (*self.notes, self.unrun)),
            (
                message("smallest case"),
                case and (case.worst or commas(case.problems)),
            ),
            (message("run as a tile program"), self.passed and self.trials and self.trials.text),
        ]
        rows = [(tr(name), tr(text)) for name, text in rows if text]
        return as_html(
            f"{sign} {head}", (), rows, more=rest, mark=colour, opens=tr("the full report")
        )

    def __repr__(self) -> str:
        return f"CheckResult({str(self).partition(chr(10))[0]})"

    def to_json(self) -> str:
        """Return everything as JSON text; nan and infinities become strings.

        Returns
        -------
        str
            An object whose names are the attributes of the result.

        Examples
        --------
        >>> import json, aclnn_viz as av
        >>> result = av.check("hardswish", av.operator("hardswish").backward, depth="quick")
        >>> json.loads(result.to_json())["passed"]
        True
        """
        names = (
            "operator passed seed cases failed refused undecided stopped seconds first_failure outputs"
            " misbehaviour reasons traces conditions regions scope left_out cause depth"
        ).split()
        content = {name: getattr(self, name) for name in names}
        content |= {
            "unsupported": asdict(self.unsupported),
            "notes": list(self.notes),
            "diagnosis": self.diagnosis and _without(self.diagnosis, "law"),
            "explanation": self.explanation
            and _without(self.explanation, "holds", "law", "parts")
            | {
                "yours": (yours := self.explanation.yours)
                and {name: getattr(yours, name) for name in ("line", "before", "after")}
            },
            "counterexample": self.counterexample and self.counterexample.to_json(),
            "nan": self.nan and vars(self.nan),
            "not_tried": self.untried,
            "trials": self.trials and asdict(self.trials),
        }
        return json.dumps(content, indent=1)


def _without(value, *names: str) -> dict:
    return {name: part for name, part in vars(value).items() if name not in names}


SLOW = message(
    "the search for an explanation was stopped, because the kernel is slow: on a faster machine the search may find more"
)
NOT_AS_TILES = message(
    "run as a tile program: rows with tails, other numbers of cores, small buffers and other orders"
)


@np.errstate(all="ignore")  # an output may hold a signalling nan
def conclude(
    evidence: Evidence,
    seed: int,
    scope: Scope,
    tested: KernelUnderTest | None = None,
    *,
    small: CaseRun | None = None,
    seconds: float = 0.0,
    allowed: bool = False,
    device: bool = False,
    depth: Depth = DEPTHS["normal"],
    trials=None,
) -> CheckResult:
    """Return the result for the evidence; `small` is the shrunken counterexample, if the kernel could be called.

    `allowed` accepts unsupported cases; `device` counts them as refused by a device.
    """
    op, seen = scope.op, evidence.seen
    wrong = [run for run in seen if run.misses]
    small = small or smallest(wrong)
    diagnosis, explanation = _of_memory(tested, small) if wrong else None, None
    if wrong and not diagnosis:
        diagnosis, explanation = _explained(op, evidence, tested, int(seed), depth.searching, small)
    traits = [*(run.traits for run in seen), *evidence.right]
    unrun = [evidence.unrun] * bool(evidence.unrun) + [SLOW] * (tested is not None and METER.slow)
    return CheckResult(
        operator=op.name,
        seed=int(seed),
        passed=bool(seen)
        and not wrong
        and not evidence.misbehaviour
        and (allowed or not evidence.refused),
        cases=len(traits),
        failed=len(wrong),
        refused=len(evidence.refused) * device,
        unsupported=Unsupported.of([] if device else evidence.refused, traits),
        scope=scope.text,
        left_out=dict(scope.left_out),
        traces=evidence.traces,
        undecided=sum(run.prepared.undecided for run in seen) + evidence.undecided,
        unrun=linked("{some}; {more}", unrun) if unrun else "",
        seconds=seconds,
        first_failure=evidence.first_failure,
        outputs=dict(Counter(miss.output for run in wrong for miss in run.misses)),
        misbehaviour=evidence.misbehaviour,
        regions=wrong_regions(op, wrong),
        conditions=wrong_conditions(
            [(run.traits, bool(run.misses)) for run in seen]
            + [(run, False) for run in evidence.right]
        ),
        diagnosis=diagnosis,
        explanation=explanation,
        counterexample=Counterexample(small) if small else None,
        nan=nan_origin(
            tested.kernel, [small, *wrong] if wrong else _despite_faults(tested, evidence)
        )
        if tested and not tested.lost
        else None,
        notes=(*_conventions(wrong), *_of_precision(tested, small)),
        depth=depth.name,
        trials=trials,
        reasons=dict(evidence.reasons),
        coverage=evidence.tried,
        as_tiles=trials is None and tested is not None and tested.tiles,
    )


def _despite_faults(tested: KernelUnderTest, evidence: Evidence) -> Iterator[CaseRun]:
    """Yield a run of the first case with a hazard of tiles or another fault, such as unwritten memory."""
    for blamed in evidence.blamed[:1]:
        with suppress(Exception):  # a kernel may raise anything
            kernel, case = tested.kernel, blamed.case
            yield CaseRun.of(
                blamed.prepare(),
                kernel.left(**case.inputs)
                if tested.tiles
                else run(filled(kernel, case, 63), case, None).outputs,
            )


def smallest(wrong: Sequence[CaseRun]) -> CaseRun | None:
    """Return the smallest wrong run, preferring one that shows more than a convention."""
    return min(wrong, key=lambda run: (bool(convention(run)), run.elements), default=None)


def _telling(seen: Sequence[CaseRun]) -> list[CaseRun]:
    """Return the runs that show best which mistake the kernel makes.

    Runs that differ only by a convention are left out, and float64 runs that are right to float32's precision, unless no wrong
    run would remain.
    """
    more = [run for run in seen if not run.misses or not convention(run)]
    less = [run for run in more if not (run.misses and in_documented_form(run).right_in_float32)]
    return next((some for some in (less, more) if any(run.misses for run in some)), list(seen))


def _conventions(wrong: Sequence[CaseRun]) -> tuple[str, ...]:
    """Return notes on wrong cases in which only a convention differs."""
    counts = Counter(filter(None, map(convention, wrong)))
    alone = counts.total() == len(wrong)
    return tuple(
        message(
            message("only a convention differs, in {n} cases: {why}")
            if alone
            else message("{n} of the wrong cases differ only by a convention: {why}"),
            n=n,
            why=why,
        )
        for why, n in counts.items()
    )


def _joined(text: str) -> str:
    return " ".join(text.split())


def _of_memory(tested: KernelUnderTest | None, small: CaseRun) -> Diagnosis | None:
    """Return the diagnosis of a fault with the memory of outputs, or None."""
    if tested is None or tested.lost:
        return None
    text = fault_of_memory(tested.kernel, small.case, tested.limit)
    return Diagnosis(None, True, text) if text else None


def _of_precision(tested: KernelUnderTest | None, small: CaseRun | None) -> Iterator[str]:
    """Yield in words why a tile program is wrong: an approximate instruction, 16-bit rounding, or its formula."""
    if small and tested and (cause := getattr(tested.kernel, "cause", None)):
        prepared = small.prepared
        with suppress(Exception):  # a program may raise anything
            why = cause(
                lambda outputs: not judge(prepared, outputs),
                prepared.case.dtype in ("float16", "bfloat16"),
                **prepared.case.inputs,
            )
            yield from [why] * bool(why)


def _explained(
    op, evidence: Evidence, tested: KernelUnderTest | None, seed: int, runs: float, small: CaseRun
) -> tuple[Diagnosis, Explanation | None]:
    """Return the likeliest mistake and the change that explains it; outputs are first put into the documented form."""
    seen, unfit = _telling(evidence.seen), wrong_forms(evidence.seen)
    dtypes = {run.dtype for run in seen}  # the formats that tell about the mistake

    def in_formats(cases) -> list[CaseRun]:
        return _telling([run for run in cases if run.dtype in dtypes])

    @cache
    def fresh() -> list[CaseRun]:
        left = Budget(min(FRESHLY * runs, max(end.left, LATE * runs)))
        drawn = fresh_runs(tested, seed, left) if tested else ()
        shrunken = in_documented_form(small)
        if tested and shrunken.usable and small not in evidence.seen:
            drawn = (shrunken, *drawn)
        return in_formats(drawn)

    probe = min(
        (run for run in seen if run.misses and run.usable), key=lambda run: run.size, default=None
    )
    heavy, start = max(1.0, probe.steps / LINES) if probe else 1.0, METER.runs

    def mended(budget: Budget) -> Mend | None:
        return mend(
            tested.kernel,
            cheapest_first([run for run in seen if run.misses]),
            [run for run in seen if not run.misses],
            FreshCases(tested.kernel, tested.scope, seed, dtypes),
            budget,
        )

    known = tested and not tested.lost
    yours = mended(Budget(MENDING * runs)) if known else None
    end = Budget((runs + start - METER.runs) / heavy)
    diagnosis = diagnose(op, seen, tested, evidence.silent)
    if unfit and not diagnosis.name:
        before, seen = seen, [in_documented_form(run) for run in seen]
        if not any(run.misses for run in seen):
            return _misfit(before, seen, unfit, fresh, yours)
        diagnosis = diagnose(op, seen, tested, evidence.silent)
        text = message("of the numbers: {text}", text=diagnosis.text)
        diagnosis = replace(diagnosis, text=linked("{some}; {more}", [*unfit, text]))
    if diagnosis.name:
        fault = next(fault for fault in faults(op.name) if fault.name == diagnosis.name)
        return diagnosis, replace(of_fault(op, fault, len(seen)), yours=yours)
    explanation = None if yours else explain(op, seen, end, fresh, evidence.right)
    if known and not explanation:
        yours = yours or mended(Budget(2 * MENDING * runs))
    if yours:
        explanation = Explanation.of_mend(yours)
    if not explanation:
        others = in_formats(tested.wrong if tested else ())
        # no condition is sought for outputs of a wrong name, shape or format
        law, stands = (None, False) if unfit else law_of(seen, evidence.right, fresh(), others)
        late = Budget(min(DEPENDENCE, max(end.left, LATE * runs)) / heavy)
        failing = sorted((run for run in seen if run.misses), key=lambda run: run.size)
        text = depends(op, failing, None if stands else tested, seed, late, others)
        if law:
            text = [_condition(law, stands), *text]
        text = linked("{some}; {more}", [diagnosis.text, *text])
        diagnosis = replace(diagnosis, text=text, law=law if stands else None)
    return diagnosis, explanation


def _misfit(given: list, seen: list, unfit: list, fresh, yours) -> tuple[Diagnosis, Explanation]:
    """Return diagnosis and explanation of a kernel whose outputs are right once they have the documented form."""
    missing = any(run.outputs.keys() < before.expected.keys() for run, before in zip(seen, given))
    misfits = linked("{some}; {more}", unfit)
    text = (
        message("{misfits}: all other numbers are right", misfits=misfits)
        if missing
        else message("{misfits}: all numbers are right", misfits=misfits)
    )
    shown = None
    if not any(run.misses for run in fresh()):
        shown = Explanation.of_form(text, [*seen, *fresh()])
    return Diagnosis(None, False, text), Explanation.of_mend(yours) if yours else shown


def _condition(law, stands: bool) -> str:
    if stands:
        return message("wrong only where {condition}", condition=law.text)
    return message(
        "of the cases that were run, exactly those with {condition} are wrong", condition=law.text
    )
