"""A page as terms: every step of it an array by itself, written as a formula of what it takes, under the name that the page gives it.

A run may take the numbers of its first steps from another run: so it is found what the rounding of each step adds to all later ones.
"""

import sys
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.errors import NotSupported, problem

PLAIN = NumPyArrays()
MOVING = {"reshape", "moveaxis", "permute_dims", "broadcast_to", "expand_dims", "squeeze", "astype"}  # the same numbers
#: How a step is written, and how tightly its text holds together; any other is a call.
WRITTEN = {"add": (" + ", 1), "subtract": (" − ", 1), "multiply": (" × ", 2), "divide": (" / ", 2)}
CALL = ", ", 3


@dataclass(eq=False)
class Term:
    """An input of a page, or the step of it in this `place`; `takes` are terms and constants."""

    name: str
    op: str = ""
    takes: tuple = ()
    axis: int | None = None
    place: int = -1

    @property
    def parts(self) -> list["Term"]:
        return [one for one in self.takes if isinstance(one, Term)]

    @property
    def label(self) -> str:
        return self.name or self.formula

    @property
    def formula(self) -> str:
        """What the step does to what it takes, of which a name stands for what has one."""
        between, holds = WRITTEN.get(self.op, CALL)
        text = between.join(str(one) if one not in self.parts else f"({one.label})" if not one.name and WRITTEN.get(one.op, CALL)[1] < holds + (
            k > 0 and self.op in ("subtract", "divide")) < 4 and holds < 3 else one.label for k, one in enumerate(self.takes))
        return text if holds < 3 else f"{self.op}({text}{'' if self.axis is None else f', axis={self.axis}'})"


class Noted(NDArrayOperatorsMixin):
    """An array of a page that runs step by step."""

    shape, dtype, ndim, size = (property(lambda self, name=name: getattr(self.values, name)) for name in ("shape", "dtype", "ndim", "size"))

    def __init__(self, xp, values, term):
        self.xp, self.values, self.term = xp, np.asarray(values), term

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return self.xp.step(ufunc.__name__, ufunc, *inputs, **options)

    def __getitem__(self, key):
        return Noted(self.xp, self.values[key], self.term)


class Steps:
    """The namespace of a page whose steps are noted: `made` in their order; the first ones have the numbers `kept`."""

    def __init__(self, kept=()):
        self.kept, self.made = kept, {}

    def __getattr__(self, name):
        found = getattr(PLAIN, name)
        return partial(self.step, name, found) if callable(found) and not isinstance(found, type) else found

    def astype(self, x, dtype):
        return self.step("astype", np.ndarray.astype, x, dtype)

    def step(self, name, function, *takes, **how):
        """A step of arrays and numbers; one that was taken before is the same again."""
        values = function(*(one.values if isinstance(one, Noted) else one for one in takes), **how)
        term = Term("", name, tuple(one.term if isinstance(one, Noted) else one for one in takes), how.get("axis"), len(self.made))
        if not term.parts or name in MOVING:
            return Noted(self, values, term.parts[0]) if term.parts else values
        key = name, str(how), np.shape(values), *(id(one) if isinstance(one, Term) else str(one) for one in term.takes)
        if key not in self.made:
            self.made[key] = Noted(self, self.kept[term.place].astype(values.dtype) if term.place < len(self.kept) else values, term)
        return self.made[key]


def watched(function, mine) -> tuple:
    """Return what a function returns, and (name, locals, result) of each call in it for whose frame `mine` holds, in the order of their ends."""
    seen = []

    def watch(frame, event, result):
        if event == "return" and mine(frame):
            seen.append((frame.f_code.co_name, dict(frame.f_locals), result))
    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        return function(), seen
    finally:
        sys.setprofile(before)


def stepped(op, arranged, dtype, kept=()) -> tuple[dict, list, dict]:
    """Run the backward page of an operator on arranged inputs in a type: its inputs and outputs by name, between them its steps, all Noted.

    Raises NotSupported for a page that does more than arithmetic, sums and choices.
    """
    xp, arrays = Steps(kept), arranged.arrays
    with np.errstate(all="ignore"):
        arrays = arrays | (arranged.prelude(PLAIN, arrays) if arranged.prelude else {})
        given = {name: array if array is None else Noted(xp, array if array.dtype.kind in "iub" else array.astype(dtype), Term(name))
                 for name, array in arrays.items()}
        try:
            outputs, (*helpers, (_, known, _)) = watched(lambda: op.page.backward(xp, **given, **arranged.attributes), lambda frame: (
                frame.f_globals.get("__name__") == op.page.backward.__module__ and not frame.f_code.co_name.startswith("<")))
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            raise NotSupported(problem("a page of terms is arithmetic, sums and choices", str(error), "choose another operator")) from error
    outputs = {name: outputs[name] for name in arranged.results}
    for name, one in ({called: result for called, _, result in helpers} | known | outputs).items():
        if isinstance(one, Noted) and one.term.takes and name not in given:
            one.term.name = name
    return given, [*xp.made.values()], outputs
