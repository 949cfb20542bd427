"""The score of the search for explanations: mechanical mutants of every page through `check`, in two precisions.

A mutant is one edit of a page, made by the generator that the search tries, too. So what is scored is not whether the
search has heard of an edit, but whether it finds it, or one that computes the same, among all others, in the precision
of a kernel, from numbers alone; and that it never takes one for another.
"""

import random
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from types import ModuleType

import numpy as np

from aclnn_viz.arrays.driver import evaluate
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.cases.deep import deep
from aclnn_viz.checking.asking import Asking
from aclnn_viz.checking.depth import DEPTHS, prepared_step
from aclnn_viz.checking.examining import conclude, examine
from aclnn_viz.checking.explaining import Explanation
from aclnn_viz.checking.fitting import slots
from aclnn_viz.checking.judging import Prepared, judge
from aclnn_viz.checking.mutant_table import EQUAL, ROUNDED, SAME, UNCALLED, VERY, WRONGLY, MutantScore, MutantTable
from aclnn_viz.checking.observing import Seen
from aclnn_viz.checking.running import run
from aclnn_viz.checking.scope import Scope
from aclnn_viz.errors import function, listed, whole
from aclnn_viz.operators import Operator, operator, operators
from aclnn_viz.operators.faults.edits import Edit, edits
from aclnn_viz.operators.faults.rarer import rarer

COMPUTED = ("float32", "float64")
TAKEN = {"dtypes": ("float32", "float16", "bfloat16"), "beyond": True}  # a float32 kernel is wrong in float64
SHARP = {"dtypes": ("float64",), "beyond": True}  # where two formulas that differ do not hide in a rounding
ANEW = 11  # added to the seed of the cases with which an explanation is tried again
PATIENT = 60.0  # seconds for a search, so that others who share the core do not end it by the clock; what takes more than
# a check has counts as unexplained
DEEP, SMALL = 60, 2000  # cases of a deep check for mutants that the suite does not catch, and their greatest size


class _Single(NumPyArrays):
    """Where pages ask for coordinates in float64, they get float32."""

    float64 = np.dtype(np.float32)


def score_mutants(names: Iterable | None = None, seed: int = 0, each: int | None = None,
                  progress: Callable | None = None) -> MutantTable:
    """Run mutants of operators (by default of all) through `check`, in float32 and in float64.

    `each` is how many of an operator's are drawn (None: all of them); `progress(iterable, total)` may show a bar.
    """
    seed = whole("seed", seed)
    each is None or whole("each", each, 1)
    progress is None or function("progress", progress)
    chosen = operators() if names is None else [operator(name) for name in listed("names", names, (str, Operator))]
    todo = [(op, edit, computed) for op in chosen for edit in drawn(op, seed)[:each] for computed in COMPUTED]
    rows = (score_mutant(*one, seed) for one in (progress(todo, len(todo)) if progress else todo))
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
        arranged = wrong.arrange_backward(**wrong.bind({
            name: value.astype(computed) if isinstance(value, np.ndarray) and value.dtype.kind in "fV" else value
            for name, value in inputs.items()}))
        arrays = arranged.arrays
        if arranged.prelude is not None:
            arrays = arrays | arranged.prelude(namespace, arrays)
        return evaluate(page.backward, arranged.axes, arrays, arranged.attributes, results, namespace, np.dtype(computed))
    return kernel


def score_mutant(op: Operator, edit: Edit, computed: str, seed: int = 0) -> MutantScore:
    """What becomes of one mutant; the search begins with nothing at hand, as in the process of whoever checks a kernel."""
    def scored(outcome: str, told: str = "", seconds: float | None = None) -> MutantScore:
        return MutantScore(op.name, edit.kind, str(edit), computed, outcome, told, seconds)
    try:
        kernel = kernel_of(op, edit.page, computed)
    except Exception:  # an edit that is no Python, or of a constant without which the page cannot be read
        return scored("fails")
    scope = Scope.of(op, **TAKEN)
    evidence = examine(op, kernel, seed, 600.0, None, None, scope.cases(seed), scope.takes)
    if not evidence.failed:
        return scored(_why_uncaught(op, edit, kernel, seed))
    if not any(one.misses for one in evidence.seen):
        return scored("fails")
    for remembered in (edits, rarer, slots):
        remembered.cache_clear()
    start = time.process_time()
    patient = replace(DEPTHS["normal"], searching=PATIENT)
    explanation = conclude(op, evidence, seed, scope, Asking(kernel, scope), depth=patient).explanation
    seconds = time.process_time() - start
    if not explanation or seconds > 2 * DEPTHS["normal"].searching:  # to search, and to ask the kernel again
        return scored("unexplained", "", seconds)
    if explanation.after == edit.after and explanation.before == edit.before and not explanation.condition:
        return scored(VERY, "", seconds)
    right = _equal(op, explanation, kernel_of(op, edit.page, "float64"), seed + ANEW)
    return scored(EQUAL if right else WRONGLY, explanation.text, seconds)


def _equal(op: Operator, explanation: Explanation, kernel: Callable, seed: int) -> bool:
    """Whether an explanation gives the numbers of a mutant in float64 on the whole suite with other numbers."""
    return all(explanation.holds(one) for one in _ran(kernel, _sharp(op, seed)) if one.usable)


def _ran(kernel: Callable, cases: Iterable[Prepared]) -> Iterator[Seen]:
    for one in cases:
        outputs = run(kernel, one.case, list(one.expected), None).outputs
        if outputs is not None:
            yield Seen(one, outputs, tuple(judge(one, outputs)))


def _why_uncaught(op: Operator, edit: Edit, kernel: Callable, seed: int) -> str:
    """Why the suite does not catch a mutant: it does the same, or as good as, or what only other cases show."""
    if edit.unit.name and edit.unit.name not in _called(op, seed):
        return UNCALLED
    others = Scope.of(op, **TAKEN).cases(seed + ANEW)
    if any(one.misses for one in _ran(kernel, (*(one.prepare() for one in others), *_deep(op, seed)))):
        return "missed"
    right, wrong = (kernel_of(op, page, "float64") for page in (op.page, edit.page))
    for one in (*_sharp(op, seed), *_sharp(op, seed + ANEW), *_deep(op, seed)):
        expected, found = (run(kernel, one.case, list(one.expected), None).outputs for kernel in (right, wrong))
        if found is None or any(found[name].tobytes() != value.tobytes() for name, value in expected.items()):
            return ROUNDED
    return SAME


@cache
def _sharp(op: Operator, seed: int) -> tuple[Prepared, ...]:
    """The suite in float64."""
    return tuple(one.prepare() for one in Scope.of(op, **SHARP).cases(seed))


@cache
def _deep(op: Operator, seed: int) -> tuple[Prepared, ...]:
    """Small cases of a deep check: special numbers, remainders, lengths."""
    steps = [step for step in deep(op, op.modes, ("float32", "float16", "bfloat16")) if step.elements <= SMALL]
    some = random.Random(seed).sample(steps, min(DEEP, len(steps)))
    made = (prepared_step(Scope.of(op, **TAKEN), step, 1000 * seed + number) for number, step in enumerate(some))
    return tuple(filter(None, made))


@cache
def _called(op: Operator, seed: int) -> frozenset[str]:
    """The functions of the page that some case calls."""
    seen = (Seen(one, {}, ()) for one in (*_sharp(op, seed), *_deep(op, seed)) if all(
        part.truth.size for part in one.expected.values()))
    return frozenset().union(*(one.called for one in seen))
