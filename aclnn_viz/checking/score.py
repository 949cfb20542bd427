"""How good the checker is: named faults and mechanical mutants of pages are run as kernels through `check`, and counted.

Named faults also go through tests as they are usually written: float32 outputs against the truth with `numpy.allclose`,
on a few inputs that are random, ones, or drawn as in the vendor's case tables (every tensor on its own, saved tensors
included, only the modes of those tables).

A mutant is one edit of a page, made by the generator that the search for explanations uses, too. The score is therefore
not whether the search knows an edit, but whether it finds that edit, or one that computes the same, among all others,
in the precision of a kernel, from numbers alone; and that it never takes one for another.
"""

import json
import random
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, lru_cache
from types import ModuleType

import numpy as np

from aclnn_viz.arrays.driver import evaluate
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.cases import Case, case
from aclnn_viz.cases.suites import deep
from aclnn_viz.checking.candidates import slots
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.evidence import KernelUnderTest, examine
from aclnn_viz.checking.explanation import Explanation, diagnose
from aclnn_viz.checking.judge import Prepared, judge, prepared_suite
from aclnn_viz.checking.kernel_call import run
from aclnn_viz.checking.result import conclude
from aclnn_viz.checking.scope import DEPTHS, Scope, prepared_step
from aclnn_viz.errors import function, listed, whole
from aclnn_viz.notebook import noted
from aclnn_viz.operators import Operator, operator, operators, registry
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.operators.faults.edits import Edit, edits, rarer
from aclnn_viz.operators.faults.fault import faulty_kernel
from aclnn_viz.operators.faults.written_out import written_out
from aclnn_viz.operators.registry import own
from aclnn_viz.tables import as_html
from aclnn_viz.words.messages import meant, message, tr

WRONGLY = message("wrongly explained")
EXPLAINED = VERY, EQUAL = message("the very edit"), message("an equal one")
NUMBERS = (*EXPLAINED, WRONGLY, "unexplained")  # caught by the numbers that it gives
EQUIVALENT = SAME, UNCALLED, ROUNDED = (
    message("same bits"),
    message("never called"),
    message("within rounding"),
)
OUTCOMES = (*NUMBERS, "fails", *EQUIVALENT, "missed")
MISSED = message(
    "{operator}, {computed}: {mutant} is right on the suite and wrong on other cases {text}"
)
MISTAKEN = message("{operator}, {computed}: {mutant} is taken for {text}")
SHARE, SECONDS = 0.9, 3.0  # that must be explained, and the median of the seconds on one core
TOLERANCE = {
    "rtol": 1e-4,
    "atol": 1e-4,
}  # tighter ones refuse right float32 kernels on the vendor-like inputs
CASES = 5
NOT_CAUGHT = message("{operator}: {fault!r} is not caught")
MISNAMED = message("{operator}: {fault!r} is called {name!r}")
COMPUTED = ("float32", "float64")
TAKEN = {
    "dtypes": ("float32", "float16", "bfloat16"),
    "beyond": True,
}  # a float32 kernel is wrong in float64
SHARP = {
    "dtypes": ("float64",),
    "beyond": True,
}  # where two formulas that differ do not hide in a rounding
ANEW = 11  # added to the seed of the cases with which an explanation is tried again
DEEP, SMALL = (
    60,
    2000,
)  # cases of a deep check for mutants that the suite does not catch, and their greatest size


def _markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, all columns but the first aligned at the right."""
    head, *body = ("| " + " | ".join(row) + " |" for row in (header, *rows))
    return [head, "| --- |" + " ---: |" * (len(header) - 1), *body]


@dataclass(frozen=True)
class MutantScore:
    """What became of one mutant: one of OUTCOMES, what the checker took it for, and the seconds of one core for that.

    "fails": it raises an error, or is no Python, and gives no wrong number. "never called": no case calls the function.
    "within rounding": other bits, but right on every case, also in float64. "missed": right on the suite, wrong on others.
    """

    operator: str
    kind: str
    mutant: str
    computed: str
    outcome: str
    text: str
    seconds: float | None


@dataclass(frozen=True)
class MutantTable:
    """The rows of some mutants; `totals` says how many each operator has. Prints as tables."""

    rows: tuple[MutantScore, ...]
    totals: dict[str, int]

    @property
    def passed(self) -> bool:
        """None explained wrongly or missed, nine of ten explained (of a few all but one), in a median of under 3 s."""
        caught, explained = self.count(*NUMBERS), self.count(*EXPLAINED)
        return (
            bool(self.rows)
            and not self.count(WRONGLY, "missed")
            and self.median < SECONDS
            and caught - explained <= max(1, (1 - SHARE) * caught)
        )

    @property
    def median(self) -> float:
        return statistics.median(
            [one.seconds for one in self.rows if one.seconds is not None] or [0.0]
        )

    def count(self, *outcomes: str) -> int:
        return sum(one.outcome in outcomes for one in self.rows)

    def where(self, test: Callable[[MutantScore], bool]) -> "MutantTable":
        """The table of the rows for which a test holds."""
        return MutantTable(tuple(filter(test, self.rows)), self.totals)

    def __str__(self) -> str:
        lines = self._table(
            tr("operator, computed in"),
            tr("of all"),
            [
                (
                    f"{name}, {computed}",
                    str(self.totals[name]),
                    self.where(lambda one: (one.operator, one.computed) == (name, computed)),
                )
                for name in self.totals
                for computed in dict.fromkeys(one.computed for one in self.rows)
            ],
        )
        lines += [
            "",
            *self._table(
                tr("kind of edit"),
                tr("operators"),
                [
                    (kind, str(len({one.operator for one in some.rows})), some)
                    for kind, some in (
                        (kind, self.where(lambda one: one.kind == kind))
                        for kind in sorted({one.kind for one in self.rows})
                    )
                ],
            ),
        ]
        text = {"missed": MISSED, WRONGLY: MISTAKEN}
        lines += [
            tr(
                text[one.outcome],
                operator=one.operator,
                computed=one.computed,
                mutant=one.mutant,
                text=one.text,
            ).rstrip()
            for one in self.rows
            if one.outcome in text
        ]
        return "\n".join(lines)

    def _table(
        self, first: str, second: str, parts: list[tuple[str, str, "MutantTable"]]
    ) -> list[str]:
        header = (
            first,
            second,
            tr("tried"),
            tr("caught"),
            tr(meant("fail", "the mutant raises an error")),
            tr("by numbers"),
            tr("explained"),
            tr("so"),
            tr("as equal"),
            tr("wrongly"),
            tr("median"),
            *map(tr, EQUIVALENT),
            tr("missed"),
        )
        rows = [(name, of, *some._cells()) for name, of, some in parts if some.rows]
        rows.append((tr("all"), "", *self._cells()))
        return _markdown(header, rows)

    def _cells(self) -> tuple[str, ...]:
        numbers, explained = self.count(*NUMBERS), self.count(*EXPLAINED)
        share = tr("{share} %", share=f"{100 * explained / numbers:.1f}") if numbers else ""
        return (
            str(len(self.rows)),
            str(numbers + self.count("fails")),
            str(self.count("fails")),
            str(numbers),
            share,
            *(str(self.count(outcome)) for outcome in (*EXPLAINED, WRONGLY)),
            f"{self.median:.2f} s" if numbers else "",
            *(str(self.count(one)) for one in (*EQUIVALENT, "missed")),
        )

    def to_dict(self) -> dict:
        return {
            "passed": self.passed,
            "median": self.median,
            "totals": self.totals,
            "mutants": [asdict(one) for one in self.rows],
        }


def caught(kernel: Callable, one: Case) -> bool:
    """Whether a test with allclose fails; an error is a failure, too."""
    truth = _truth(one)
    try:
        with np.errstate(all="ignore"):
            outputs = kernel(**one.inputs)
            return any(
                name not in outputs
                or not np.allclose(outputs[name], truth[name], equal_nan=True, **TOLERANCE)
                for name in truth
            )
    except Exception:  # whatever a broken kernel raises
        return True


@lru_cache(maxsize=64)
def _truth(one: Case):
    return one.operator.truth(**one.inputs)


def random_cases(op, seed: int) -> list[Case]:
    """Normal gradients and parameters in the default mode, saved tensors from the forward pass, float32."""
    options = own("faults", op.name, "random_options", lambda rng: {})(np.random.default_rng(seed))
    return [case(op, seed=seed + k, **_shape(op), **options) for k in range(CASES)]


def ones_cases(op, seed: int) -> list[Case]:
    """Every floating tensor that a caller gives is ones, and saved tensors come from the forward pass."""
    ones = own("faults", op.name, "ONES") or dict.fromkeys(
        case(op, **_shape(op)).floats(saved=False), 1.0
    )
    return [case(op, seed=seed, **_shape(op), **ones)]


def vendor_cases(op, seed: int) -> list[Case]:
    """As the vendor's tables draw them: uniform, saved tensors on their own, no reflection, no bicubic."""
    rng = np.random.default_rng(seed)

    def uniform(low, high, *lengths):
        return rng.uniform(low, high, lengths).astype(np.float32)

    def everything(uniform, number):
        made = case(op, **_shape(op))
        return {name: uniform(-5, 5, *made.inputs[name].shape) for name in made.floats()}

    options = own("faults", op.name, "vendor_options", everything)
    return [case(op, seed=seed + k, **_shape(op), **options(uniform, k)) for k in range(CASES)]


def _shape(op) -> dict:
    shape = own("faults", op.name, "USUAL_SHAPE")
    return {} if shape is None else {"shape": shape}


USUAL = {
    message("random"): lru_cache(random_cases),
    message("ones"): lru_cache(ones_cases),
    message("vendor-like"): lru_cache(vendor_cases),
}


def caught_by(kernel: Callable, op, seed: int) -> dict[str, bool]:
    """Which usual tests catch a kernel."""
    return {
        label: any(caught(kernel, one) for one in draw(op, seed)) for label, draw in USUAL.items()
    }


@dataclass(frozen=True)
class FaultScore:
    """What became of one named fault: whether `check` caught it, the name it gave, and which usual tests caught it."""

    operator: str
    fault: str
    caught: bool
    named: str | None
    first_failure: float | None
    usual: dict[str, bool]

    @property
    def right_name(self) -> bool:
        return self.named == self.fault

    @property
    def wrong_name(self) -> bool:
        return self.named not in (None, self.fault)


@dataclass(frozen=True)
class Score:
    """The scores of all faults, and those of mutants; prints as tables, of the faults with one row an operator.

    The median time is that to the first counterexample, with the preparation of the cases.
    """

    faults: tuple[FaultScore, ...]
    mutants: MutantTable | None = None

    @property
    def passed(self) -> bool:
        """Every fault caught, nine of ten named, none named wrongly, in a median of under two seconds; mutants passed."""
        return (
            (not self.mutants or self.mutants.passed)
            and bool(self.faults)
            and all(one.caught and not one.wrong_name for one in self.faults)
            and sum(one.right_name for one in self.faults) >= 0.9 * len(self.faults)
            and self.median < 2.0
        )

    @property
    def median(self) -> float:
        return statistics.median(
            [one.first_failure for one in self.faults if one.first_failure is not None]
            or [float("inf")]
        )

    def __str__(self) -> str:
        missed = [
            tr(
                NOT_CAUGHT if not one.caught else MISNAMED,
                operator=one.operator,
                fault=one.fault,
                name=one.named,
            )
            for one in self.faults
            if not one.caught or not one.right_name
        ]
        return "\n\n".join(
            [
                "\n".join(_markdown(*self._table()) + missed),
                *([str(self.mutants)] if self.mutants else []),
            ]
        )

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        header = (
            tr("operator"),
            tr("faults"),
            tr("caught"),
            tr("named"),
            tr("wrong name"),
            tr("median time"),
            *(tr("allclose, {inputs}", inputs=name) for name in USUAL),
        )
        names = list(dict.fromkeys(one.operator for one in self.faults))
        rows = [
            self._row(name, [one for one in self.faults if one.operator == name]) for name in names
        ]
        return header, [*rows, self._row(tr("all"), self.faults)]

    def _row(self, name: str, some) -> tuple[str, ...]:
        count = len(some)
        return (
            name,
            str(count),
            str(sum(one.caught for one in some)),
            str(sum(one.right_name for one in some)),
            str(sum(one.wrong_name for one in some)),
            f"{Score(tuple(some)).median:.3f} s",
            *(str(sum(one.usual[usual] for one in some)) for usual in USUAL),
        )

    def _repr_html_(self) -> str:
        return as_html("", *self._table())

    def to_json(self) -> str:
        return json.dumps(
            {
                "passed": self.passed,
                "median": self.median,
                "faults": [asdict(one) | {"right_name": one.right_name} for one in self.faults],
                "mutants": self.mutants and self.mutants.to_dict(),
            },
            indent=1,
        )


def score(
    names: Iterable | None = None, seed: int = 0, progress: Callable | None = None, mutants: int = 0
) -> Score:
    """Run every fault of the operators (by default of those that have named ones) through `check` and the usual tests.

    `mutants` of each operator (by default of all) are drawn and tried, too; `progress(iterable, total)` may show a bar.
    """
    seed = whole("seed", seed)
    progress = noted if progress is None else function("progress", progress)
    table = score_mutants(names, seed, mutants, progress) if whole("mutants", mutants) else None
    chosen = named() if names is None else listed("names", names, (str, Operator))
    todo = [(operator(name), fault) for name in chosen for fault in faults(operator(name).name)]
    found = (_score(op, fault, seed) for op, fault in progress(todo, len(todo)))
    return Score(tuple(one for one in found if one), table)


def named() -> list[str]:
    """The operators that have faults with names and stories of their own."""
    return [op.name for op in operators() if registry.file("faults", op.name)]


def _score(op, fault: Fault, seed: int) -> FaultScore | None:
    """The score of a fault; None for a mechanical edit that computes the same as the page, bit by bit."""
    wrong = faulty_kernel(op, fault)
    evidence = examine(KernelUnderTest(wrong, Scope.of(op)), prepared_suite(op, seed), 60.0)
    failing = [one for one in evidence.seen if one.misses]
    if (
        fault.edit
        and not failing
        and all(
            _same(one.outputs, op.backward(**one.prepared.case.inputs)) for one in evidence.seen
        )
    ):
        return None
    diagnosis = diagnose(op, evidence.seen, silent=evidence.silent) if failing else None
    name = diagnosis.name if diagnosis and diagnosis.confident else None
    return FaultScore(
        op.name, fault.name, bool(failing), name, evidence.first_failure, caught_by(wrong, op, seed)
    )


def _same(some: dict, others: dict) -> bool:
    return some.keys() == others.keys() and all(
        some[name].tobytes() == others[name].tobytes() for name in some
    )


class _Single(NumPyArrays):
    """Where pages ask for coordinates in float64, they get float32."""

    float64 = np.dtype(np.float32)


def score_mutants(
    names: Iterable | None = None,
    seed: int = 0,
    each: int | None = None,
    progress: Callable | None = None,
) -> MutantTable:
    """Run mutants of operators (by default of all) through `check`, in float32 and in float64.

    `each` is how many of an operator's are drawn (None: all of them); `progress(iterable, total)` may show a bar.
    """
    seed = whole("seed", seed)
    each is None or whole("each", each, 1)
    progress = noted if progress is None else function("progress", progress)
    chosen = (
        operators()
        if names is None
        else [operator(name) for name in listed("names", names, (str, Operator))]
    )
    todo = [
        (op, edit, computed)
        for op in chosen
        for edit in drawn(op, seed)[:each]
        for computed in COMPUTED
    ]
    rows = (score_mutant(*one, seed) for one in progress(todo, len(todo)))
    return MutantTable(tuple(rows), {op.name: len(drawn(op, seed)) for op in chosen})


def drawn(op: Operator, seed: int) -> list[Edit]:
    """The single edits of a page, each once, in an order that the seed draws."""
    found = list({str(edit): edit for edit in edits(op.page)}.values())
    random.Random(seed).shuffle(found)
    return found


def kernel_of(op: Operator, page: ModuleType, computed: str) -> Callable:
    """The kernel that a page is: in float32 throughout, or in float64, rounded once to what is documented."""
    wrong, namespace = replace(op, page=page), _Single() if computed == "float32" else NumPyArrays()

    def kernel(**inputs):
        results = op.arrange_backward(**op.bind(inputs)).results
        arranged = wrong.arrange_backward(
            **wrong.bind(
                {
                    name: value.astype(computed)
                    if isinstance(value, np.ndarray) and value.dtype.kind in "fV"
                    else value
                    for name, value in inputs.items()
                }
            )
        )
        return evaluate(
            page.backward, arranged._replace(results=results, compute=np.dtype(computed)), namespace
        )

    return kernel


def score_mutant(op: Operator, edit: Edit, computed: str, seed: int = 0) -> MutantScore:
    """What becomes of one mutant; the search begins with nothing at hand, as in the process of whoever checks a kernel."""

    def scored(outcome: str, text: str = "", seconds: float | None = None) -> MutantScore:
        return MutantScore(op.name, edit.kind, str(edit), computed, outcome, text, seconds)

    try:
        kernel = kernel_of(op, edit.page, computed)
    except (
        Exception
    ):  # an edit that is no Python, or of a constant without which the page cannot be read
        return scored("fails")
    scope = Scope.of(op, **TAKEN)
    tested = KernelUnderTest(kernel, scope)
    evidence = examine(tested, scope.cases(seed))
    if not evidence.failed:
        return scored(_why_uncaught(op, edit, kernel, seed))
    if not any(one.misses for one in evidence.seen):
        return scored("fails")
    for remembered in (edits, rarer, slots, written_out):
        remembered.cache_clear()
    start = time.process_time()
    explanation = conclude(evidence, seed, scope, tested, depth=DEPTHS["normal"]).explanation
    seconds = time.process_time() - start
    if not explanation:
        return scored("unexplained", "", seconds)
    if (
        explanation.after == edit.after
        and explanation.before == edit.before
        and not explanation.condition
    ):
        return scored(VERY, "", seconds)
    right = _equal(op, explanation, kernel_of(op, edit.page, "float64"), seed + ANEW)
    return scored(EQUAL if right else WRONGLY, explanation.text, seconds)


def _equal(op: Operator, explanation: Explanation, kernel: Callable, seed: int) -> bool:
    """Whether an explanation gives the numbers of a mutant in float64 on the whole suite with other numbers."""
    return all(explanation.holds(one) for one in _ran(kernel, _sharp(op, seed)) if one.usable)


def _ran(kernel: Callable, cases: Iterable[Prepared]) -> Iterator[CaseRun]:
    for one in cases:
        outputs = run(kernel, one.case, list(one.expected), None).outputs
        if outputs is not None:
            yield CaseRun(one, outputs, tuple(judge(one, outputs)))


def _why_uncaught(op: Operator, edit: Edit, kernel: Callable, seed: int) -> str:
    """Why the suite does not catch a mutant: it does the same, or as good as, or what only other cases show."""
    if edit.unit.name and edit.unit.name not in _called(op, seed):
        return UNCALLED
    others = Scope.of(op, **TAKEN).cases(seed + ANEW)
    if any(
        one.misses for one in _ran(kernel, (*(one.prepare() for one in others), *_deep(op, seed)))
    ):
        return "missed"
    right, wrong = (kernel_of(op, page, "float64") for page in (op.page, edit.page))
    for one in (*_sharp(op, seed), *_sharp(op, seed + ANEW), *_deep(op, seed)):
        expected, found = (
            run(kernel, one.case, list(one.expected), None).outputs for kernel in (right, wrong)
        )
        if found is None or any(
            found[name].tobytes() != value.tobytes() for name, value in expected.items()
        ):
            return ROUNDED
    return SAME


@cache
def _sharp(op: Operator, seed: int) -> tuple[Prepared, ...]:
    """The suite in float64."""
    return tuple(one.prepare() for one in Scope.of(op, **SHARP).cases(seed))


@cache
def _deep(op: Operator, seed: int) -> tuple[Prepared, ...]:
    """Small cases of a deep check: special numbers, remainders, lengths."""
    steps = [
        step
        for step in deep(op, op.modes, ("float32", "float16", "bfloat16"))
        if step.elements <= SMALL
    ]
    some = random.Random(seed).sample(steps, min(DEEP, len(steps)))
    made = (
        prepared_step(Scope.of(op, **TAKEN), step, 1000 * seed + number)
        for number, step in enumerate(some)
    )
    return tuple(filter(None, made))


@cache
def _called(op: Operator, seed: int) -> frozenset[str]:
    """The functions of the page that some case calls."""
    seen = (
        CaseRun(one, {}, ())
        for one in (*_sharp(op, seed), *_deep(op, seed))
        if all(part.truth.size for part in one.expected.values())
    )
    return frozenset().union(*(one.called for one in seen))
