"""Find the source of the first nan or infinity in a wrong output: the operation that makes it, its path, and where others are
lost.

A kernel runs once more, and its operations are recorded. From the wrong element a path leads back, from each result to those
of its operands that are nan or infinite.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np

from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.judge import Miss
from aclnn_viz.checking.kernel_call import named
from aclnn_viz.checking.operations import NOTHING, SUMS, UNWRITTEN, Part, Step, part, recorded
from aclnn_viz.words.messages import commas, linked, message, tr

SHOWN = 3  # operations listed on the path of a nan, and at the ends of other paths
# operations whose results depend on other elements than those at the same index
MIXED = re.compile(f"{SUMS.pattern}|cat|stack|gather|broadcast|transpose|sort|take", re.I)
MADE = message("{what}: the first {value:g} is made in {place}: {code}, of {operands}")
GIVEN = message(
    "{what}: {value:g} enters from an input, a constant or a loop, in {place}: {code}, of {operands}"
)
PASSES, ENDS = (
    message("  the value passes through: {operations}"),
    message("  other such values end in: {operations}"),
)
NOWHERE = message("{what}: no operation of the kernel makes a nan or an infinity of it")


class Link(NamedTuple):
    """A step that made a wrong element or passed it on: the element's index, and the operands' elements that it takes."""

    step: Step
    index: tuple[int, ...]
    used: list[Part]
    makes: bool


@dataclass(frozen=True)
class NanOrigin:
    """The origin of a wrong nan or infinity, or the place where a right one is lost.

    Attributes
    ----------
    file, line : str, int
        The operation that makes the first nan or infinity, or "" and 0.
    lines : tuple of str
        The wrong element, the origin of its first nan or infinity and the operands there; the
        operations on its path, and operations that lose others, such as a maximum or a comparison.
    """

    file: str
    line: int
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(map(tr, self.lines))


def nan_origin(kernel: Callable, runs: Iterable[CaseRun]) -> NanOrigin | None:
    """Return the origin of the first wrong or lost nan or infinity, else of unwritten memory in the first wrong element, or
    None.
    """
    misses = [(run, miss) for run in runs if run and run.usable for miss in run.misses]
    found = min(misses, key=lambda each: each[1].finite, default=None)
    return found and _told(kernel, *found)


def _told(kernel, run: CaseRun, miss: Miss) -> NanOrigin | None:
    try:
        steps, returned = recorded(kernel, run.case.inputs)
        outputs = named(returned, [*run.expected], run.case.operator.outputs, part)
        at = outputs[miss.output].at.reshape(miss.wrong.shape)[miss.index]
    except Exception:  # a kernel may raise anything, or have no source
        return None
    # a wrapper of the kernel may copy its outputs
    copied = not (hasattr(kernel, "under") or np.isfinite(miss.actual))
    path = _path(steps, at, len(steps) * copied)
    first = next((link for link in path if link.makes), path[0] if path else None)
    unwritten = first and UNWRITTEN in (part.name for part in first.used)
    if miss.finite and not unwritten:
        return None
    ended = _shown(ENDS, filter(_ends, steps))
    if not first:
        return NanOrigin("", 0, (message(NOWHERE, what=miss.worst), *ended))
    step, index, used, makes = first
    made = message(
        MADE if makes else GIVEN,
        what=miss.worst,
        value=step.result.values[index],
        place=message("{place}, element {index}", place=step.place, index=index)
        if index
        else step.place,
        code=step.code,
        operands=commas(map(_text, used)),
    )
    # leave out operations whose code is a bare name, such as the iterable of a loop
    others = [other for other, *_ in path if not other.code.isidentifier()]
    passed = _shown(PASSES, (other for other in others if other.place != step.place))
    return NanOrigin(step.file, step.line, (made, *passed, *ended))


def _path(steps: list[Step], at: int, inner: int) -> list[Link]:
    """Return the links from the origin of a wrong element to the element, which has the address `at`, or else was made by one of
    the last `inner` steps.
    """
    path, number = [], len(steps)
    made = _made(steps, range(number), at) or _made(steps, range(number - inner, number))
    while made:
        number, index = made
        step = steps[number]
        used = [_used(operand, step, index) for operand in step.operands]
        taken = part(used) or part(NOTHING)
        nan, wrong = np.isnan(taken.values), taken.wrong
        makes = not wrong.any() or np.isnan(step.result.values[index]) and not nan.any()
        made = _made(steps, range(number), taken.at[nan if nan.any() else wrong])
        if not made and (made := _made(steps, range(number - step.inner, number))):
            makes = False
        path.insert(0, Link(step, index, used, makes))
    return path


def _made(steps: list[Step], numbers: range, at=None) -> tuple | None:
    """Return number and index of the latest wrong element, or of the latest with an address among `at`."""
    for number in reversed(numbers):
        result = steps[number].result
        made = result.wrong
        if at is not None and made.any():
            made &= np.isin(result.at, at)
        if made.any():
            return number, tuple(np.argwhere(made)[0].tolist())
    return None


def _used(operand: Part, step: Step, index: tuple[int, ...]) -> Part:
    """Return an operand's elements from which one element of the result is computed, as shapes suggest."""
    ours, shape = operand.at.shape, step.result.at.shape
    if ours[: len(shape)] == shape:  # the same shape, or a sum over the last axes
        place = index
    elif prod(ours) == prod(shape):
        place = np.unravel_index(np.ravel_multi_index(index, shape), ours)
    else:  # a sum over an axis matches any index of it
        axes = zip(ours[::-1], shape[::-1], index[::-1])
        place = ..., *[i if n == m else 0 if n == 1 else slice(None) for n, m, i in axes][::-1]
    some = operand.chosen(place)
    exact = some.at.size < 2 and not MIXED.search(step.name)
    return some if exact or some.wrong.any() else operand


def _text(part: Part) -> str:
    """Return name and value of an operand's elements."""
    if not part.at.size:
        return part.name
    low, high = (f"{pick(part.values):.6g}" for pick in (np.min, np.max))
    return f"{part.name} = {low if low == high else f'{low} .. {high}'}"


def _ends(step: Step) -> bool:
    """Return whether a nonfinite element of an operand is finite in the result."""
    wrong = step.result.wrong
    for held in (operand.wrong for operand in step.operands):
        try:
            ended = np.broadcast_to(held, wrong.shape) & ~wrong
        except ValueError:
            ended = held & ~wrong.any()
        if ended.any():
            return True
    return False


def _shown(what: str, steps: Iterable[Step]) -> list[str]:
    """Return a line of the first few operations, or none."""
    lines = {step.place: step.said for step in steps}
    some = [*lines.values()][:SHOWN]
    return [message(what, operations=linked("{some}; {more}", some))] * bool(some)
