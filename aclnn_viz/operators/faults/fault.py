"""Make the wrong kernel of a known mistake (a fault), to test checks with and to explain kernels; and name regions of outputs.

A fault changes the right page, the kernel's inputs, or its formats.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import unified_diff
from functools import cache
from textwrap import dedent
from types import ModuleType

import numpy as np

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.dtypes import FLOAT32
from aclnn_viz.errors import invalid
from aclnn_viz.operators import Operator, operator, plans
from aclnn_viz.operators.faults.edits import Edit, file_of, sources
from aclnn_viz.words.messages import kept, message, named


@dataclass(frozen=True, eq=False)
class Fault:
    """One wrong kernel: its name, the origin of such a bug, and inputs that expose it.

    `changes` are pairs of texts, {text of the page: wrong text}; `edit` is a mechanical edit instead. `plan` is the wrong
    kernel's precision plan if it differs; `alters` maps the inputs to those that the wrong kernel reads; `cast(float32
    values, format)` replaces the rounding of 16-bit outputs.
    With `garbage`, a nan of the page means arbitrary memory. `hidden` names inputs that do not show the fault, with keywords
    of a case. `thread` is the public report of this mistake, owner/repository#number. Texts are messages, for `tr`.
    """

    name: str
    story: str
    exposed_by: str
    changes: Mapping[str, str] | tuple[tuple[str, str], ...] = ()
    plan: Plan | None = None
    alters: Callable | None = None
    cast: Callable | None = None
    garbage: bool = False
    hidden: tuple[str, dict] | None = None
    edit: Edit | None = None
    thread: str | None = None

    def __post_init__(self):
        text = {
            "name": kept(self.name) if self.edit else named(self.name),
            "story": kept(self.story),
            "exposed_by": kept(self.exposed_by),
            "thread": self.thread and named(self.thread),
            "changes": tuple(dict(self.changes).items()),
            "hidden": self.hidden and (kept(self.hidden[0]), self.hidden[1]),
        }
        for name, value in text.items():
            object.__setattr__(self, name, value)

    def page(self, right: ModuleType) -> ModuleType:
        """Return the changed page; raise ValueError if the page lacks the text to change."""
        if self.edit:
            return self.edit.page
        return changed(right, self.changes) if self.changes else right

    def place(self, right: ModuleType) -> tuple[str, str, str]:
        """Return the page's line of the first text change, and the text before and after; empty texts if there is none."""
        if not self.changes:
            return "", "", ""
        before, after = self.changes[0]
        module, text = next(one for one in sources(right) if before in one[1])
        number = text.partition(before)[0].count("\n") + 1
        return (
            message("{file}, line {line}", file=file_of(module), line=number),
            before.strip(),
            after.strip(),
        )

    @property
    def origin(self) -> str:
        """Return the origin of such a bug, with the public thread if there is one."""
        return (
            message("{story}; such a bug is in {thread}", story=self.story, thread=self.thread)
            if self.thread
            else self.story
        )

    @property
    def diff(self) -> str:
        """Return the changed lines as in a unified diff, or else the plan."""
        changes = ((self.edit.before, self.edit.after),) if self.edit else self.changes
        return diff_of(changes) or (f"+ {self.plan!r}" if self.plan else "")


def diff_of(changes: tuple[tuple[str, str], ...]) -> str:
    """Return the differing lines of text changes (old, new) as in a unified diff.

    >>> print(diff_of((("return x", "y = x\\n    return x"),)))
    + y = x
    """
    rows = [
        row for change in changes for row in unified_diff(*map(_lines, change), n=0, lineterm="")
    ]
    return "\n".join(
        f"{row[0]} {row[1:]}"
        for row in rows
        if row not in ("--- ", "+++ ") and row[0] != "@" and row[1:].strip()
    )


def _lines(text: str) -> list[str]:
    """Return the lines with their common indentation removed; the first line may start mid-line."""
    first, *others = text.splitlines() or [""]
    deep = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return (
        dedent(" " * (deep - 4 * first.endswith(":")) * (not first.startswith(" ")) + text)
        .rstrip(" ")
        .splitlines()
    )


@cache
def changed(right: ModuleType, changes: tuple[tuple[str, str], ...]) -> ModuleType:
    return page_from(rewritten(right, changes), right)


def rewritten(right: ModuleType, changes) -> str:
    """Return a module's source with texts changed; raise ValueError for a text that does not occur exactly once."""
    source = "\n\n".join(text for _, text in sources(right))
    for old, new in changes:
        if source.count(old) != 1:
            raise invalid(
                f"a change names text that stands once in {right.__name__}",
                f"{old!r}, {source.count(old)} times",
                "quote more or less of the page",
            )
        source = source.replace(old, new)
    return source


def page_from(source: str, right: ModuleType, name: str = "") -> ModuleType:
    """Return the module of a page's changed source, under another name if given."""
    page = ModuleType(name or right.__name__)
    page.__package__ = right.__package__
    exec(compile(source, f"<a wrong {page.__name__}>", "exec"), page.__dict__)
    return page


def as_if_contiguous(inputs: dict) -> dict:
    """Return each tensor's elements in memory order, ignoring strides."""
    return {
        name: value.ravel("K").reshape(value.shape) if hasattr(value, "strides") else value
        for name, value in inputs.items()
    }


def truncated(values, fmt):
    """Return float32 cut to 16 bits by dropping bits instead of rounding to nearest."""
    if fmt.name == "bfloat16":
        return (values.view("uint32") & 0xFFFF0000).view("float32").astype(fmt.numpy)
    with np.errstate(
        over="ignore"
    ):  # a number that rounding makes infinite is cut to the largest number
        rounded = values.astype(fmt.numpy)
    over = abs(rounded.astype("float32")) > abs(values)
    return (rounded.view("uint16") - over.astype("uint16")).view(fmt.numpy)


# Faults that any operator can have.
STRIDES = Fault(
    "strides ignored",
    "the kernel walks through memory as if every tensor were contiguous",
    "a transposed or sliced tensor",
    alters=as_if_contiguous,
)
TRUNCATED = Fault(
    "16-bit outputs truncated",
    "the upper half of a float32 is stored as bfloat16, or CAST_TRUNC is used in a cast",
    "16-bit outputs",
    cast=truncated,
    hidden=("the format is float32", {"dtype": "float32"}),
)
HALF_SUMS = Fault(
    "sums in float16",
    "the accumulator has the format of the inputs, or of the fastest vector unit",
    "sums of more than a few terms",
    plan=Plan("sums in float16", accumulate="float16", order=SEQUENTIAL),
)


def faulty_kernel(op, fault: Fault):
    """Return the wrong kernel `kernel(**inputs)` of a named fault.

    >>> from aclnn_viz.operators.faults import faults
    >>> kernel = faulty_kernel("hardswish", faults("hardswish")[0])
    >>> kernel(gradOutput=np.ones(1, np.float32), self=np.float32([3]))["out"]
    array([1.], dtype=float32)
    """
    op = operator(op)
    wrong = replace(op, page=fault.page(op.page))
    if fault.cast:
        wrong = _WideOutputs(**{part.name: getattr(wrong, part.name) for part in fields(wrong)})

    def kernel(**inputs):
        taken = fault.alters(inputs) if fault.alters else inputs
        if fault.plan:
            return plans.run(wrong, replace(fault.plan, page=wrong.page.backward), **taken)
        outputs = wrong.backward(**taken)
        if not fault.cast:
            return outputs
        documented = op.arrange_backward(**op.bind(inputs)).results
        return {
            name: fault.cast(value, documented[name].format)
            if documented[name].format.bits == 16
            else value
            for name, value in outputs.items()
        }

    return kernel


class _WideOutputs(Operator):
    """An operator with 16-bit outputs left in float32; the caller casts them."""

    def arranged(self, inputs):
        bound, arranged = super().arranged(inputs)
        results = {
            name: result._replace(format=FLOAT32) if result.format.bits == 16 else result
            for name, result in arranged.results.items()
        }
        return bound, arranged._replace(results=results)


def along(shape: tuple[int, ...], axis: int, chosen) -> np.ndarray:
    """Return a mask of chosen places along one axis, ready to broadcast to the shape."""
    return np.reshape(chosen, [-1 if k == axis else 1 for k in range(len(shape))])


def ends(shape: tuple[int, ...], axis: int, name: str) -> dict[str, np.ndarray]:
    """Return masks of the first, last and other places along an axis; `name` names a place.

    >>> {name: mask.tolist() for name, mask in ends((3,), 0, "row").items()}
    {'first row': [True, False, False], 'last row': [False, False, True], 'between first and last row': [False, True, False]}
    """
    places, last = np.arange(shape[axis]), shape[axis] - 1
    return {
        message("first {part}", part=name): along(shape, axis, places == 0),
        message("last {part}", part=name): along(shape, axis, places == last),
        message("between first and last {part}", part=name): along(
            shape, axis, (places > 0) & (places < last)
        ),
    }


def by_letter(
    letters: str, shape: tuple[int, ...], names: Sequence[str] = ()
) -> dict[str, np.ndarray]:
    """Return the masks of `ends` for every axis of an output; an axis is named by the page's letter, else the pattern's
    name, else its number.

    >>> list(by_letter("r..", (4, 5, 2), ("R", "K")))[3:5]
    ['first place of axis K', 'last place of axis K']
    """
    found = {}
    for axis, letter in enumerate(letters):
        if shape[axis] > 1:
            name = letter if letter != "." else dict(enumerate(names)).get(axis, axis)
            found |= ends(shape, axis, message("place of axis {axis}", axis=name))
    return found
