"""Do one unit of a sweep's work in any process: draw a test case, run it, judge the outputs, return the row."""

import hashlib
import json
import platform
import threading
import time
import warnings
from dataclasses import dataclass, replace
from math import inf, isnan

import numpy as np

from aclnn_viz.accuracy import compare
from aclnn_viz.checking.judge import Miss, judge, prepared
from aclnn_viz.checking.kernel_call import run
from aclnn_viz.devices import ConstraintWarning
from aclnn_viz.dtypes import float_format
from aclnn_viz.sweeps.place import Opened, Place
from aclnn_viz.sweeps.recipes import draw, mode
from aclnn_viz.words.messages import linked, message

RIGHT, WRONG, LEFT_OUT, UNSUPPORTED, DIED = OUTCOMES = (
    message("right"),
    message("wrong"),
    message("left out"),
    message("unsupported"),
    message("died"),
)
# Warnings and modules are shared by a process's threads, so one case runs at a time.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Judged:
    """One judged output: verdict, error as a share of the rounding bound, in ulps and as MERE, hash of the bits."""

    output: str
    verdict: str
    used: float = inf
    max_ulp: float = inf
    mere: float = inf
    bits: str = ""


@dataclass(frozen=True)
class Row:
    """The record of a case: `outcome` is one of OUTCOMES, `note` the reason."""

    recipe: str
    operator: str
    dtype: str
    mode: str
    outcome: str
    note: str = ""
    outputs: tuple[Judged, ...] = ()
    seconds: float = 0.0
    software: str = ""


def identity(place: Place) -> str:
    """Return the identity of a place, which the worker opens for that."""
    return place.opened().identity


def work(place: Place, recipe: str) -> Row:
    """Draw, run and judge the case of a recipe."""
    here, start = place.opened(), time.perf_counter()  # opens a device again that stopped working
    with _one_at_a_time, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", ConstraintWarning)
        row = _row(here, recipe)
    return replace(
        row,
        seconds=time.perf_counter() - start,
        software=f"Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}",
    )


def died(recipe: str) -> Row:
    """Return the row of a case that killed its worker."""
    _, case = draw(recipe)
    op, values = case.operator, case.operator.bind(case.inputs)
    outputs = tuple(Judged(name, WRONG) for name in op.outputs if op.asks_for(name, values))
    why = message("the case ended its worker process")
    return Row(recipe, op.name, case.dtype, mode(case), DIED, why, outputs)


def _row(here: Opened, text: str) -> Row:
    try:
        recipe, case = draw(text)
    except (ValueError, TypeError, ArithmeticError) as error:
        said = json.loads(text)
        why = " ".join(str(error).split())
        return Row(text, said["operator"], said.get("dtype", "float32"), "", LEFT_OUT, why)
    op = case.operator
    scope = here.scope(op)
    about = text, op.name, case.dtype, mode(case)
    if why := scope.reason(case):
        return Row(*about, LEFT_OUT, why)
    ready = prepared(recipe, case, scope.judged_by)
    outcome = run(here.kernel(op), case, here.limit)
    if outcome.refused:
        why = (
            message("the device has no answer to this case")
            if here.limit is None
            else message("the kernel does not support this case")
        )
        return Row(*about, UNSUPPORTED, why)
    outputs = outcome.outputs or {}
    misses = judge(ready, outputs) if outcome.outputs is not None else []
    notes = [_described(miss) for miss in misses]
    if outcome.misbehaviour:
        notes.insert(0, message("the kernel {did}", did=outcome.misbehaviour))
    # a fault of the whole call makes all outputs wrong
    wrong = {miss.output for miss in misses} or {""} if notes else set()
    if outcome.misbehaviour or wrong - {*ready.expected}:
        wrong = {*ready.expected}
    judged = tuple(
        _judged(name, WRONG if name in wrong else RIGHT, expected, outputs.get(name))
        for name, expected in ready.expected.items()
    )
    return Row(*about, WRONG if notes else RIGHT, linked("{some}; {more}", notes), judged)


def _judged(name: str, verdict: str, expected, actual) -> Judged:
    truth = expected.truth
    if actual is None or actual.shape != truth.shape or actual.dtype != expected.dtype:
        return Judged(name, WRONG)
    report = compare(actual, truth)
    measures = (float(each) for each in (expected.used(actual), report.max_ulp, report.mere))
    unknown = inf if truth.size else 0.0
    return Judged(
        name, verdict, *(unknown if isnan(each) else each for each in measures), _bits(actual)
    )


def _bits(array: np.ndarray) -> str:
    """Return a hash of an output's numbers, in which all nans are equal."""
    held = np.ascontiguousarray(array).copy()
    held[held != held] = float_format(array.dtype).numpy.type(np.nan)
    return hashlib.sha256(held.tobytes()).hexdigest()[:16]


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
