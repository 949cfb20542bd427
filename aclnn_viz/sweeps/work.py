"""A unit of work of a sweep: draw cases, run them, judge them, and return a row for each; in any process that the sweep uses."""

import hashlib
import json
import os
import platform
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from aclnn_viz.accuracy import compare
from aclnn_viz.accuracy.standards import NOT_APPLICABLE
from aclnn_viz.cases import Case
from aclnn_viz.checking.judge import Miss, Prepared, judge, prepared
from aclnn_viz.checking.kernel_call import run
from aclnn_viz.devices import ConstraintWarning
from aclnn_viz.dtypes import float_format
from aclnn_viz.sweeps.place import Opened, Place
from aclnn_viz.sweeps.recipes import draw, mode
from aclnn_viz.words.messages import linked, message

RIGHT, WRONG, LEFT_OUT, UNSUPPORTED, DIED = (
    message("right"),
    message("wrong"),
    message("left out"),
    message("unsupported"),
    message("died"),
)
OUTCOMES = (RIGHT, WRONG, LEFT_OUT, UNSUPPORTED, DIED)
# the first: of what the judge allows
MEASURES = ("used", "max_ulp", "mere", "mare", "rmse", "max_abs", "cosine")
# of the threads of a process: warnings and modules belong to all of them
_one_at_a_time = threading.Lock()
DUMPED = 1 << 16  # elements of the outputs of a wrong case that are sent back


@dataclass(frozen=True)
class Judged:
    """One output of a case: its verdict, counts, measures, what the standards say, and the identity of its bits."""

    output: str
    verdict: str
    elements: int
    wrong: int | None = None
    undecided: int = 0
    measures: tuple = (None,) * len(MEASURES)
    standards: str = "{}"
    bits: str = ""


@dataclass(frozen=True)
class Row:
    """What is known of a case: `outcome` is one of OUTCOMES, `note` why; `actual` are the outputs of a wrong one."""

    recipe: str
    operator: str
    dtype: str
    mode: str
    seed: int
    outcome: str
    note: str = ""
    outputs: tuple[Judged, ...] = ()
    at: str = ""
    seconds: float = 0.0
    worker: str = ""
    software: str = ""
    actual: dict | None = field(default=None, repr=False)


def identity(place: Place) -> str:
    """What computes at a place, found out by a worker there."""
    return place.opened().identity


def work(place: Place, recipes: Sequence[str]) -> list[Row]:
    """Draw, run and judge the cases of some recipes, one after another."""
    here = place.opened()
    rows = []
    for text in recipes:
        start = time.perf_counter()
        with _one_at_a_time, warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", ConstraintWarning)
            row = _row(here, text)
        # a device that died of a case is opened anew
        here = place.opened() if here.closed else here
        rows.append(
            Row(
                **vars(row)
                | {
                    "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                    "seconds": time.perf_counter() - start,
                    # a path may be none
                    "worker": f"{platform.node()}:{os.getpid()}, {here.name}".encode(
                        "utf-8", "replace"
                    ).decode(),
                    "software": f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}",
                }
            )
        )
    return rows


def died(recipe: str, recorded, why: str) -> Row:
    """The row of a case that ended its worker."""
    _, made = draw(recipe, recorded)
    return Row(
        recipe,
        made.operator.name,
        made.dtype,
        mode(made),
        made.seed,
        DIED,
        why,
        tuple(
            Judged(name, WRONG, 0)
            for name in made.operator.outputs
            if made.operator.asks_for(name, made.operator.bind(made.inputs))
        ),
    )


def _row(here: Opened, text: str) -> Row:
    try:
        recipe, made = draw(text, here.recorded)
    except (ValueError, TypeError, ArithmeticError) as error:
        found = json.loads(text)
        return Row(
            text,
            found["operator"],
            found.get("dtype", "float32"),
            "",
            found["seed"],
            LEFT_OUT,
            _line(error),
        )
    op = made.operator
    scope = here.scope(op)
    about = text, op.name, made.dtype, mode(made), made.seed
    if why := scope.reason(made):
        return Row(*about, LEFT_OUT, why)
    ready = prepared(recipe, made, scope.judged_by)
    outcome = run(here.kernel(op), made, list(ready.expected), here.limit)
    if outcome.refused:
        return Row(
            *about,
            UNSUPPORTED,
            message("the device has no answer to this case")
            if here.limit is None
            else message("the kernel does not support this case"),
        )
    misses = judge(ready, outcome.outputs) if outcome.outputs is not None else []
    failed = bool(misses) or bool(outcome.misbehaviour)
    did = [message("the kernel {did}", did=outcome.misbehaviour)] * bool(outcome.misbehaviour)
    note = linked("{some}; {more}", did + [_described(one) for one in misses])
    outputs = tuple(
        _judged(name, ready, outcome.outputs or {}, misses, outcome.misbehaviour)
        for name in ready.expected
    )
    return Row(
        *about,
        WRONG if failed else RIGHT,
        note,
        outputs,
        actual=_sent(made, outcome.outputs) if failed and outcome.outputs else None,
    )


def _judged(
    name: str, ready: Prepared, outputs: dict, misses: list[Miss], misbehaviour: str
) -> Judged:
    expected, actual = ready.expected[name], outputs.get(name)
    own = [miss for miss in misses if miss.output == name]
    stray = any(miss.output not in ready.expected for miss in misses)
    verdict = WRONG if own or stray or misbehaviour else RIGHT
    size, undecided = expected.truth.size, int(np.sum(expected.undecided))
    if actual is None or actual.shape != expected.truth.shape or actual.dtype != expected.dtype:
        return Judged(name, WRONG, size, undecided=undecided)
    report = compare(actual, expected.truth)
    found = expected.used(actual), *(getattr(report, one) for one in MEASURES[1:])
    measures = tuple(None if value != value else float(value) for value in found)
    standards = {
        one: str(said) for one, said in report.verdicts.items() if said.outcome != NOT_APPLICABLE
    }
    wrong = sum(int(miss.wrong.sum()) for miss in own if miss.wrong is not None)
    return Judged(
        name,
        verdict,
        size,
        wrong,
        undecided,
        measures,
        json.dumps(standards, sort_keys=True),
        _bits(actual),
    )


def _bits(array: np.ndarray) -> str:
    """The identity of the numbers of an output; every nan is alike."""
    held = np.ascontiguousarray(array).copy()
    held[held != held] = float_format(array.dtype).numpy.type(np.nan)
    return hashlib.sha256(held.tobytes()).hexdigest()[:16]


def _sent(made: Case, outputs: dict) -> dict | None:
    return outputs if sum(value.size for value in outputs.values()) <= DUMPED else None


def _described(miss: Miss) -> str:
    if not miss.index:
        return miss.problem
    return message(
        "{problem}: {element} is {actual:.9g} instead of {truth:.9g}",
        problem=miss.problem,
        element=f"{miss.output}{list(miss.index)}",
        actual=miss.actual,
        truth=miss.truth,
    )


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
