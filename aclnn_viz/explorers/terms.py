"""Split an operator's formulas into terms for the zoom: each step's array, its formula, and its name in the code.

Each step records the elements that its elements depend on, so that one element can be followed through every term.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from aclnn_viz.arrays.calls import watched
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.errors import NotSupported, problem

PLAIN = NumPyArrays()
# steps that move numbers without changing them
MOVING = set("reshape moveaxis permute_dims broadcast_to expand_dims squeeze astype".split())
REDUCING = set("sum mean max min prod any all".split())  # steps that reduce axes
LETTERS, STEPS = tomllib.loads(
    Path(__file__).with_name("notation.toml").read_text("utf-8")
).values()


class Link(NamedTuple):
    """Which element of the operand `part` each element of a step uses, as `to`; with `many`, which element of the step
    uses each element of the operand.

    With `looked`, the element comes from a table and belongs to the reading element, whatever else uses the table.
    """

    part: "Term"
    to: np.ndarray
    many: bool = False
    looked: bool = False

    def joins(self, step, part) -> bool:
        """Return whether elements of the step and of the part belong together."""
        return bool((self.to[part] == step if self.many else self.to[step] == part).all())


@dataclass(eq=False)
class Term:
    """An input of a page, or the step with the number `place`; `takes` are its operands, terms and constants."""

    name: str
    op: str = ""
    takes: tuple = ()
    axis: int | None = None
    place: int = -1
    links: tuple[Link, ...] = ()

    @property
    def parts(self) -> list["Term"]:
        return [taken for taken in self.takes if isinstance(taken, Term)]

    @property
    def label(self) -> str:
        return named(self)

    @property
    def formula(self) -> str:
        return written(self)

    @property
    def binds(self) -> int:
        return STEPS.get(self.op, {}).get("binds", 4)

    def loose(self, k: int) -> bool:
        """Return whether the operand at this place needs brackets."""
        taken = self.takes[k]
        tight = k > 0 and self.op in ("subtract", "divide") or self.op == "negative"
        bare = isinstance(taken, Term) and not taken.name and self.binds < 4
        return bare and taken.binds < self.binds + tight


def named(term, tex: bool = False, flat: bool = False) -> str:
    """Return the name of a term, else its formula."""
    if not tex or not term.name:
        return term.name or written(term, tex, flat)
    head, _, tail = LETTERS.get(term.name, term.name).partition("_")
    return f"{head}_{{{tail.replace('_', ' ')}}}" if tail else head


def written(term, tex: bool = False, flat: bool = False, texts=()) -> str:
    """Return the formula of a step, with names for named operands, or with `texts` for all."""
    how = STEPS.get(term.op, {})
    texts, given = (
        texts
        or [
            named(taken, tex, flat) if isinstance(taken, Term) else constant(taken)
            for taken in term.takes
        ],
        texts,
    )
    if tex and "form" in how and not (flat and "between" in how):
        return how["form"].format(*texts)
    texts = [f"({text})" if not given and term.loose(k) else text for k, text in enumerate(texts)]
    if "binds" in how:
        sign = how["set"] if tex and "set" in how else how.get("between", "")
        return how.get("before", "") + sign.join(texts)
    head = f"\\mathrm{{{term.op}}}" if tex else term.op
    axis = "" if tex or term.axis is None else f", axis={term.axis}"
    return f"{head}({', '.join(texts)}{axis})"


def typeset(term, whole: bool = False, flat: bool = False) -> str:
    r"""Return a term in the few commands of TeX that a `Note` sets, its formula behind its name if `whole`; `flat` has no fractions.

    >>> typeset(Term("", "divide", (Term("gamma"), 2.0)))
    '\\frac{γ}{2}'
    """
    said = named(term, True, flat)
    return f"{said} = {written(term, True)}" if whole and term.name and term.takes else said


def spoken(term) -> str:
    """Return a term in letters without TeX.

    >>> spoken(Term("", "multiply", (Term("dxhat"), Term("gamma"))))
    'dx̂ × γ'
    """
    return re.sub(r"\w+", lambda name: LETTERS.get(name[0], name[0]), term.label).replace(
        r"\hat{x}", "x̂"
    )


def constant(value) -> str:
    """Return a constant of a page as text; for an array its first and its last element.

    >>> constant(0.5), constant(3.0), constant(np.zeros(4)), constant(np.arange(4))
    ('0.5', '3', '0', '0…3')
    """
    if isinstance(value, (float, int, np.ndarray, np.generic)) and not isinstance(value, bool):
        ends = [f"{end.item():.16g}" for end in (np.min(value), np.max(value))]
        return "…".join(dict.fromkeys(ends))
    return str(value)


class Noted(NDArrayOperatorsMixin):
    """An array of a page that runs step by step; `at` holds for each of its
    elements the number of that element in the term.
    """

    shape, dtype, ndim, size = (
        property(lambda self, name=name: getattr(self.values, name))
        for name in ("shape", "dtype", "ndim", "size")
    )

    def __init__(self, xp, values, term, at=None):
        self.xp, self.values, self.term = xp, np.asarray(values), term
        self.at = np.arange(self.size).reshape(self.shape) if at is None else at

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return self.xp.step(ufunc.__name__, ufunc, *inputs, **options)

    def __getitem__(self, key):
        return Noted(self.xp, self.values[key], self.term, self.at[key])


class Steps:
    """The namespace of a page that records its steps in order in `made`."""

    def __init__(self):
        self.made = {}

    def __getattr__(self, name):
        function = getattr(PLAIN, name)
        return (
            partial(self.step, name, function)
            if callable(function) and not isinstance(function, type)
            else function
        )

    def astype(self, x, dtype):
        return self.step("astype", np.ndarray.astype, x, dtype)

    def zeros_like(self, x):
        return np.zeros(x.shape, x.dtype)

    def ones_like(self, x):
        return np.ones(x.shape, x.dtype)

    def step(self, name, function, *takes, **how):
        """Return the step for arrays and numbers; an equal earlier step is reused."""
        values = function(
            *(taken.values if isinstance(taken, Noted) else taken for taken in takes), **how
        )
        noted = [taken for taken in takes if isinstance(taken, Noted)]
        if name in MOVING and noted:
            return Noted(
                self,
                values,
                noted[0].term,
                noted[0].at if name == "astype" else function(noted[0].at, *takes[1:], **how),
            )
        if not noted:
            return values
        term = Term(
            "",
            name,
            tuple(taken.term if isinstance(taken, Noted) else taken for taken in takes),
            how.get("axis"),
            len(self.made),
        )
        key = name, str(how), np.shape(values)
        key += tuple(
            (id(taken.term), taken.at.tobytes())
            if isinstance(taken, Noted)
            else str(np.asarray(taken).tolist())
            for taken in takes
        )
        if key not in self.made:
            term.links = tuple(linked(name, taken, np.shape(values), takes, how) for taken in noted)
            self.made[key] = Noted(self, values, term)
        return self.made[key]


def linked(name: str, part: Noted, shape: tuple, takes: tuple, how: dict) -> Link:
    """Return the link from a step of this shape to a part; raise ValueError unless each element uses one, or all along axes."""
    if name in REDUCING:
        axes = (
            range(part.ndim)
            if (axis := how.get("axis")) is None
            else {k % part.ndim for k in np.atleast_1d(axis)}
        )
        kept = [1 if k in axes else n for k, n in enumerate(part.shape)]
        into = np.broadcast_to(
            np.arange(np.prod(kept, dtype=int)).reshape(kept), part.shape
        ).reshape(-1)
        to = np.full(part.at.max(initial=0) + 1, -1)
        to[part.at.reshape(-1)] = into
        return Link(part.term, to, many=True)
    if name == "take" and part is takes[0]:
        return Link(part.term, np.take(part.at, takes[1].values, **how).reshape(-1), looked=True)
    return Link(part.term, np.broadcast_to(part.at, shape).reshape(-1))


def same_element(steps, first: Term, size: int) -> dict[Term, np.ndarray]:
    """Return for each of a step's `size` elements the corresponding element of each term, as far as known.

    Raise ValueError if several elements of a term correspond.
    """
    links = [(term, link) for term in steps for link in term.links]
    places = {first: np.arange(size)}
    for looked in (False, True):
        before = 0
        while len(places) > before:
            before = len(places)
            for term, (part, to, many, by_table) in links:
                if by_table > looked:
                    continue
                # `to` gives, for each element of `whole`, its element of `single`
                whole, single = (part, term) if many else (term, part)
                if whole in places:
                    places.setdefault(single, to[places[whole]])
                elif single in places and len({*to}) == to.size:
                    back = np.full(max(to.max(initial=0), places[single].max(initial=0)) + 1, -1)
                    back[to] = np.arange(to.size)
                    places[whole] = back[places[single]]
    for term, link in links:
        if (
            not link.looked
            and term in places
            and link.part in places
            and not link.joins(places[term], places[link.part])
        ):
            raise ValueError(f"several elements of {link.part.label} for one of {term.label}")
    return places


def stepped(op, arranged, dtype) -> tuple[dict, list, dict]:
    """Run an operator's backward page on arranged inputs in a type; return inputs, steps and outputs, all Noted.

    Raise NotSupported for a page with more than arithmetic, sums and choices.
    """
    xp, arrays = Steps(), arranged.arrays
    with np.errstate(all="ignore"):
        arrays = arrays | (arranged.prelude(PLAIN, arrays) if arranged.prelude else {})
        arrays = {
            name: array
            if array is None
            else Noted(xp, array if array.dtype.kind in "iub" else array.astype(dtype), Term(name))
            for name, array in arrays.items()
        }
        try:
            outputs, (*helpers, (_, known, _)) = watched(
                lambda: op.page.backward(xp, **arrays, **arranged.attributes),
                lambda frame: (
                    frame.f_globals.get("__name__") == op.page.backward.__module__
                    and not frame.f_code.co_name.startswith("<")
                ),
            )
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            raise NotSupported(
                problem(
                    "a page of terms is arithmetic, sums and choices",
                    str(error),
                    "choose another operator",
                )
            ) from error
    outputs = {name: outputs[name] for name in arranged.results}
    calls = [called for called, *_ in helpers]
    # Only a function called once names its local terms: a second call would repeat the names.
    once = [call for call in helpers if calls.count(call[0]) == 1]
    inner = {name: value for _, local, _ in once for name, value in local.items()}
    names = inner, {called: result for called, _, result in once}, known, outputs
    for k, group in enumerate(names):  # the last name given to a term wins
        for name, value in group.items():
            if (
                isinstance(value, Noted)
                and value.term.takes
                and name not in arrays
                and not any(name in later for later in names[k + 1 :])
            ):
                value.term.name = name
    return arrays, [*xp.made.values()], outputs
