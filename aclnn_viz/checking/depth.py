"""How much a check tries: `quick` a second or two, `normal` the suite, `deep` also sizes, remainders and special numbers."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.cases.deep import Step, deep
from aclnn_viz.checking.judging import Prepared, prepared
from aclnn_viz.checking.running import run
from aclnn_viz.checking.scope import Ready, Scope
from aclnn_viz.errors import problem
from aclnn_viz.words.speech import linked, message

SMALL = 2000  # elements of a case that a quick check may run
GROWTH = 2.0  # the next case of a series may take so much longer than its size says: it has another mode
AGAIN, TIMES = 40, 20  # cases that a deep check runs again in another order, and how often it runs one of them
KEEPING = 0.1  # of its time for that


@dataclass(frozen=True)
class Depth:
    """Seconds: after which no case starts, for the search of an explanation, for shrinking, and at most for one call."""

    name: str
    seconds: float
    searching: float
    shrinking: float
    call: float


DEPTHS = {one.name: one for one in (Depth("quick", 1.5, 0.3, 0.3, 10.0), Depth("normal", 60.0, 6.0, 1.5, 10.0),
                                    Depth("deep", 60.0, 6.0, 1.5, 30.0))}


def depth_named(name: str) -> Depth:
    """Raises ValueError for a name that is none."""
    if not isinstance(name, str) or name not in DEPTHS:
        raise ValueError(problem(f"depth is one of {', '.join(DEPTHS)}", repr(name), "choose one"))
    return DEPTHS[name]


def few(cases: Sequence[Ready]) -> list[Ready]:
    """Small cases, as few as show every format and every value of every option, and a shape for each rank."""
    kept, seen = [], set()
    for one in cases:
        options = one.recipe.options
        shown = {(name, repr(value)) for name, value in options.items()
                 if name in one.scope.op.attributes or not isinstance(value, tuple | np.ndarray)}
        shown |= {("rank", len(options.get("shape", ()))), ("strided", one.recipe.strided)}
        small = sum(np.size(value) for value in one.case.inputs.values()) <= SMALL
        if small and not shown <= seen:
            kept.append(one)
            seen |= shown
    return kept or list(cases[:1])


def deeper(scope: Scope, seed: int, seconds: float) -> Iterator[Prepared]:
    """Yield the cases that a deep check adds, until the next would not end in time.

    The series that has taken least time goes on, so that a dear one does not take the time of all others. How long a
    case takes, with whoever runs it, is foretold by the case before in its series.
    """
    end = time.monotonic() + seconds
    modes = [mode for mode in scope.op.modes if _counts(scope, mode)] or [{}]
    dtypes = scope.dtypes or ("float32", "float16", "bfloat16")
    series: dict[str, list[tuple[int, Step]]] = {}
    for number, step in enumerate(deep(scope.op, modes, dtypes, sizes=not scope.shapes)):
        series.setdefault(step.series, []).append((number, step))
    spent, before = dict.fromkeys(series, 0.0), {}
    while series:
        name = min(series, key=spent.__getitem__)
        (number, step), start = series[name].pop(0), time.monotonic()
        last = before.get(name)
        if not series[name]:
            del series[name]
        if start > end or last and start + GROWTH * last[1] * step.elements / last[0] > end:
            series.pop(name, None)
            continue
        one = prepared_step(scope, step, 1000 * seed + number)
        if one is not None:
            yield one
            before[name] = step.elements, time.monotonic() - start
        spent[name] += time.monotonic() - start


def _counts(scope: Scope, mode: dict) -> bool:
    """Whether some small case with these attributes counts, in whatever format."""
    base = scope.op.shapes[0] if scope.op.shapes else {}
    tried = scope.dtypes or ("float32",)
    return any(not scope.reason(case(scope.op, dtype=dtype, **base | mode)) for dtype in tried)


def prepared_step(scope: Scope, step: Step, seed: int) -> Prepared | None:
    """A step that counts, judged; None for one that does not, or that the operator does not take."""
    try:
        recipe = step.recipe(scope.op, seed)
        made = recipe.case(seed)
        return None if scope.reason(made) else prepared(recipe, made, scope.judged_by, signs=True)
    except (ValueError, TypeError, ZeroDivisionError):
        return None


class Repeated(NamedTuple):
    """What differed, in bits, when cases were run again, and with which case; how often the first of them was run again,
    and whether all came in another order."""

    fault: str
    where: str
    calls: int
    shuffled: bool


def repeated(kernel: Callable, ran: Sequence[tuple[Prepared, dict]], limit: float | None, end: float) -> Repeated:
    """Run cases again, last ones first, and the first of them many times, until a time on the clock."""
    others = ran[:AGAIN][::-1]
    done = 0
    for one, first in [*others, *ran[:1] * TIMES]:
        if time.monotonic() > end:
            break
        again, done = run(kernel, one.case, list(one.expected), limit).outputs, done + 1
        differing = [name for name, value in first.items() if again is None or not _same_bits(again.get(name), value)]
        if differing:
            told = message("is not deterministic: {outputs} differs when the same inputs come again later",
                           outputs=linked("{some}, {more}", differing))
            return Repeated(told, str(one.recipe), done, True)
    return Repeated("", "", max(done - len(others) + 1, 0) if ran else 0, len(others) > 1 and done >= len(others))


def _same_bits(a, b) -> bool:
    """Nans are alike, zeros of another sign are not."""
    return a is not None and a.shape == b.shape and a.dtype == b.dtype and bool(
        np.all((a == b) & (np.signbit(a) == np.signbit(b)) | (a != a) & (b != b)))
