"""Arrays of symbolic sizes and entries: formulas run over them unchanged, and each entry of a result is a SymPy expression for
proofs.

An array is a tuple of axes and a function from indices to an expression. An axis is the tuple of lengths whose product is its
length, outermost first: () has length 1, and a flattened axis keeps its original lengths. Comparisons are numbers 0 and 1, and
`where` is arithmetic with them, so nothing has to be decided here. Equal operations give the same array, which shows what two
passes share. Unknown operations are refused.
"""

import sys
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from pathlib import Path

from sympy import (
    Add,
    Indexed,
    IndexedBase,
    Integer,
    KroneckerDelta,
    Mul,
    S,
    Sum,
    Symbol,
    exp,
    expand,
    log,
    sqrt,
)

from aclnn_viz.proving.letters import (
    ARITHMETIC,
    KINDS,
    RANK,
    LetteredArray,
    LetteredArrays,
    kind_of,
)
from aclnn_viz.proving.steps import (
    BOOL,
    INT,
    REAL,
    Above,
    AtLeast,
    Ceil,
    Digit,
    Erf,
    Floor,
    Magnitude,
    Nearest,
    Pieces,
    Refused,
    Truncated,
    Whether,
    broadcast,
    chosen,
    equal,
    exact,
    fitted,
    flat,
    generic,
    negated,
    same_length,
)
from aclnn_viz.proving.views import by_key, named
from derivations.prover.expressions import fresh_index

OPERATIONS = ARITHMETIC | {
    "floordiv": lambda a, b: Floor(a / b),
    "and": ARITHMETIC["mul"],
    "or": lambda a, b: a + b - a * b,
    "lt": lambda a, b: Above(b - a),
    "gt": lambda a, b: Above(a - b),
    "le": lambda a, b: AtLeast(b - a),
    "ge": lambda a, b: AtLeast(a - b),
    "eq": equal,
    "ne": lambda a, b: negated(equal(a, b)),
}
STEPS = "floor", "round", "trunc", "ceil", f"astype {INT}"
FAR = 1e4  # bounds of a guard beyond FAR, or below 1 / FAR, only keep numbers finite


class SymbolicArray(LetteredArray):
    """A symbolic array.

    `deps` names its inputs, as (name, index and place of a component); with `slopes`, some of these, it moves, or changes where
    they compare. `cases` is (c, a, b) of a `where`. `source` is the input component from which alone this array is made, entry
    by entry.
    """

    def __init__(self, xp, axes, entry, kind, key, deps, slopes, cases=None):
        self.xp, self.axes, self._entry, self.kind, self.key, self.deps, self.slopes = (
            xp,
            axes,
            entry,
            kind,
            key,
            deps,
            slopes,
        )
        self.cases, self.leaf, self._known, self._shared, self._seen_by = cases, None, {}, {}, None
        self.made_by, self.places, self.place = "", None, xp.place()

    ndim = property(lambda self: len(self.axes))
    lengths = property(lambda self: tuple(Mul(*axis) for axis in self.axes))

    def at(self, axes, index):
        """Return the entry at an index of an array with these axes, to which this one is broadcast."""
        index = tuple(
            fitted(i, have, want)
            for i, have, want in zip(
                index[len(axes) - self.ndim :], axes[len(axes) - self.ndim :], self.axes
            )
        )
        view, known = self.xp.view, self._known
        shared = view.shared(self, index) if hasattr(view, "shared") else None
        if shared:
            view, known = shared, self._shared.setdefault(shared, {})
        elif hasattr(view, "entry_of"):
            return view.entry_of(self, index)
        elif self._seen_by is not view:
            self._seen_by, self._known = view, (known := {})
        if index not in known:
            known[index] = self.seen(view, index)
        return known[index]

    def seen(self, view, index):
        """Return the entry at an index after the view's replacements; errors get the line of the page."""
        try:
            e = None if view is by_key else self._entry(*index)
            return e if view is None else view(self, e, tuple(i for axis in index for i in axis))
        except Exception as error:
            error.place = getattr(error, "place", "") or self.place
            raise

    @property
    def value(self):
        """The expression of an array without axes."""
        if any(self.axes):
            raise Refused("an array is used where one number is needed")
        return self.at(self.axes, self.axes)

    def __bool__(self):
        return self.xp.decide(self.value)


@cache
def _base(name, kind):
    return IndexedBase(name, **{kind: True})


def _of_each(name, f, kind=REAL):
    return lambda self, *arrays: self.each(name, f, kind, *arrays)


class SymbolicArrays(LetteredArrays):
    """The namespace of a page over symbolic arrays.

    `decide(expression)` answers a question of the page's own Python, such as whether a size is 1. `granted` maps arrays of
    indices to their ranges, `assumed` holds assumptions, `lookups` is [(condition, number, length, line)] of all indices into
    an axis, `divisors` holds all divisors. `held` is None, or maps names to maxima that are inputs.
    """

    pi = S.Pi

    def __init__(self, decide, held=None):
        (
            self._decide,
            self.held,
            self.arrays,
            self.granted,
            self.assumed,
            self.lookups,
            self.view,
        ) = decide, held, {}, {}, {}, [], None
        self.views, self.names, self.divisors = {}, {}, {}

    @staticmethod
    def of_page(frame):
        """Return "line {} of page.py" if a frame runs the page, else ""."""
        # pages alone see `float` as a method of this class
        own = hasattr(frame.f_globals.get("float"), "__self__")
        return f"line {{}} of {Path(frame.f_code.co_filename).name}" if own else ""

    def place(self):
        """Return the line of the page being executed."""
        frame = sys._getframe(2)
        while frame and not self.of_page(frame):
            frame = frame.f_back
        return self.of_page(frame).format(frame.f_lineno) if frame else ""

    def decide(self, e):
        if e in (S.Zero, S.One):
            return e == 1
        return self._decide(e)

    def guard(self, x, smallest=None, largest=None):
        """Ignore bounds that keep numbers finite, assuming that they are not reached; clip at other bounds."""
        if (
            smallest is not None
            and not (smallest <= -FAR or 0 < smallest <= 1 / FAR)
            or largest is not None
            and not largest >= FAR
        ):
            return self.clip(x, smallest, largest)
        ends = [
            f"{end} {sign} numbers kept finite"
            for end, sign in ((smallest, "<="), (largest, ">="))
            if end is not None
        ]
        self.assumed.update(dict.fromkeys(ends))
        return self.lift(x)

    # Functions that make arrays

    def made(self, axes, entry, kind, key, *parents, cases=None, deps=None, slopes=None):
        key = (*key, *(p.key for p in parents))
        if key not in self.arrays:
            slopes = (
                deps or frozenset().union(*(p.slopes for p in parents))
                if slopes is None
                else slopes
            )
            deps = frozenset().union(*(p.deps for p in parents)) if deps is None else deps
            self.arrays[key] = SymbolicArray(
                self, tuple(axes), entry, kind, len(self.arrays), deps, slopes, cases
            )
            self.arrays[key].made_by = key[0]
        return self.arrays[key]

    def input(self, name, shape, kind=REAL):
        """Make an input of the page; an axis of numeric length is written out if the page reads single indices of it."""
        return self._leaf(name, tuple(() if n == 1 else (exact(n),) for n in shape), kind)

    def _leaf(self, name, axes, kind):
        array = self.made(axes, None, kind, ("input", name), deps=frozenset([(name, None)]))
        array.leaf = name
        array._entry = lambda *index: self._input_entry(
            name, [i for axis in index for i in axis], kind
        )
        return array

    def named(self, name, parts, kind):
        kind = "integer" if kind == INT else "real"
        return Indexed(_base(name, kind), *parts) if parts else Symbol(name, **{kind: True})

    def _input_entry(self, name, parts, kind):
        """Return an entry of an input; if all its indices are digits of one number, an entry of the flattened input."""
        digits = [(at, i) for at, i in enumerate(parts) if isinstance(i, Digit)]
        if (
            digits
            and [int(i.args[1]) for _, i in digits] == list(range(len(digits[0][1].args) - 2))
            and len({(i.args[0], i.args[2:]) for _, i in digits}) == 1
        ):
            places, (number, _, *lengths) = [at for at, _ in digits], digits[0][1].args
            view = f"{name}_{''.join(map(str, places))}"
            self.views[view] = name, places, lengths
            return self.named(
                view, [*(i for at, i in enumerate(parts) if at not in places), number], kind
            )
        return (
            Whether(self.named(name, parts, kind))
            if kind == BOOL and self.held is not None
            else self.named(name, parts, kind)
        )

    @contextmanager
    def seen_by(self, view):
        """Replace entries by `view(array, entry, indices)` within this context: a view may name or decide them.

        A view may have `shared(array, index)`, which returns the view that it shares with others for this entry, or None.
        """
        before, self.view = self.view, view
        try:
            yield
        finally:
            self.view = before

    def number(self, e):
        return self.made(
            (), lambda: e, INT if e.is_integer else REAL, ("number", e), deps=frozenset()
        )

    def lift(self, x):
        if isinstance(x, SymbolicArray):
            return x
        if isinstance(x, (list, tuple, Pieces)):
            raise Refused("a list or joined arrays are used where an array is needed")
        e = exact(x)
        return self.made(
            (),
            lambda: e,
            BOOL if isinstance(x, bool) else INT if isinstance(x, Integral) else REAL,
            ("number", e, type(x)),
        )

    def _kind(self, arrays, kind):
        return kind or max((a.kind for a in arrays), key=RANK.get)

    def each(self, name, f, kind, *arrays):
        arrays = [self.lift(a) for a in arrays]
        axes = broadcast(*(a.axes for a in arrays))
        if name in ("truediv", "reciprocal"):
            self.divisors[arrays[-1].key] = arrays[-1]
        neutral = {"add": 0, "mul": 1, "sub": 0, "truediv": 1}.get(name)
        if (
            neutral is not None
            and not any(arrays[1].axes)
            and not arrays[1].deps
            and arrays[1].value == neutral
            and axes == arrays[0].axes
        ):
            return arrays[0]
        if name == "eq" and all(a.kind == BOOL for a in arrays):
            f = lambda a, b: a * b + (1 - a) * (1 - b)
        elif name == "eq" and arrays[0].key in (arrays[1].places or ()):
            return self._at_place(*arrays)
        elif name == "eq" and arrays[1].key in (arrays[0].places or ()):
            return self._at_place(*arrays[::-1])
        if name in ("add", "mul"):
            arrays.sort(key=lambda a: a.key)
        if name in ("and", "or") and any(a.kind != BOOL for a in arrays):
            raise Refused(f"{name!r} takes boolean arrays, and one of these is none")
        return self.made(
            axes,
            lambda *i: f(*(a.at(axes, i) for a in arrays)),
            self._kind(arrays, kind),
            (name,),
            *arrays,
            slopes=frozenset() if name in STEPS else None,
        )

    def infix(self, name, a, b):
        return self.each(name, OPERATIONS[name], KINDS.get(name), a, b)

    def _at_place(self, x, top):
        """Return an array that is 1 where `x` has its maximum `top`, and 0 elsewhere."""

        def entry(*i):
            places = top.places[x.key](
                *(() if top.axes[a] == () else own for a, own in enumerate(i))
            )
            return Mul(
                *(
                    KroneckerDelta(k, places.pop(0))
                    for a, own in enumerate(i)
                    if top.axes[a] != x.axes[a]
                    for k in own
                )
            )

        return self.made(x.axes, entry, BOOL, ("at place",), x, top)

    # Functions of single entries

    sqrt, exp, log = _of_each("sqrt", sqrt), _of_each("exp", exp), _of_each("log", log)
    abs = _of_each("abs", Magnitude, None)
    square = _of_each("square", lambda e: e * e, None)
    negative = _of_each("negative", lambda e: -e, None)
    tanh = _of_each("tanh", lambda e: (exp(2 * e) - 1) / (exp(2 * e) + 1))
    erf, erfc = _of_each("erf", Erf), _of_each("erfc", lambda e: 1 - Erf(e))
    log1p, expm1 = _of_each("log1p", lambda e: log(1 + e)), _of_each("expm1", lambda e: exp(e) - 1)
    reciprocal = _of_each("reciprocal", lambda e: 1 / e)
    sign = _of_each("sign", lambda e: Above(e) - Above(-e), None)
    floor, round, trunc, ceil = (
        _of_each(name, f, None)
        for name, f in (("floor", Floor), ("round", Nearest), ("trunc", Truncated), ("ceil", Ceil))
    )
    remainder = _of_each("remainder", lambda e, n: e - n * Floor(e / n), None)
    maximum = _of_each("maximum", lambda a, b: b + (a - b) * Above(a - b), None)
    minimum = _of_each("minimum", lambda a, b: b - (b - a) * Above(b - a), None)
    logical_not = _of_each("not", negated, BOOL)

    def pow(self, x, power):
        power = self.lift(power).value
        if not power.is_Rational:
            raise Refused("the exponent is no number")
        kind = REAL if not power.is_Integer or power < 0 else None
        return self.each(f"pow {power}", lambda e: e**power, kind, x)

    def cast(self, x, kind):
        f = (
            Truncated
            if kind == INT
            else (lambda e: e)
            if kind == REAL or x.kind == BOOL
            else lambda e: negated(equal(e, S.Zero))
        )
        return self._through(
            x, ("astype", kind), lambda part: self.each(f"astype {kind}", f, kind, part)
        )

    def where(self, condition, x, y):
        condition, x, y = map(self.lift, (condition, x, y))
        if condition.kind != BOOL:
            raise Refused("the condition of where is no boolean array")
        axes = broadcast(condition.axes, x.axes, y.axes)

        def entry(*i):
            c, a, b = (part.at(axes, i) for part in (condition, x, y))
            return a if a == b else chosen(c, a, b)

        kind = self._kind((x, y), None)
        return self.made(
            axes,
            entry,
            kind,
            ("where",),
            condition,
            x,
            y,
            cases=(condition, x, y) if kind == INT else None,
        )

    def _cases(self, x):
        """Return the condition and both cases of an integer `where`, broadcast to its axes."""
        return [self.broadcast_to(part, x.axes) for part in x.cases]

    def _through(self, x, key, f):
        """Apply a function to the condition and both cases of an integer `where`."""
        if not x.cases:
            return f(x)
        c, a, b = self._cases(x)
        return self.where(c if key[0] == "astype" else f(c), f(a), f(b))

    def broadcast_to(self, x, axes):
        return (
            x
            if x.axes == axes
            else self.made(axes, lambda *i: x.at(axes, i), x.kind, ("broadcast", axes), x)
        )

    # Functions that make and move entries

    def full(self, shape, value, dtype=REAL):
        shape = shape if isinstance(shape, tuple) else (shape,)
        value, kind = self.lift(value), kind_of(dtype)
        axes = tuple(() if n == 1 else (n,) for n in (self.lift(n).value for n in shape))
        return self.made(axes, lambda *_: value.value, kind, ("full", axes, kind), value)

    def full_like(self, x, value):
        x, value = self.lift(x), self.lift(value)
        return self.made(x.axes, lambda *_: value.value, x.kind, ("full", x.axes, x.kind), value)

    def arange(self, stop, dtype=INT):
        n = self.lift(stop).value
        kind = kind_of(dtype)
        return self.made(((n,),), lambda i: i[0], kind, ("arange", n, kind))

    def permute_dims(self, x, axes):
        order = tuple(axes)

        def entry(*index):
            return x.at(x.axes, tuple(index[order.index(k)] for k in range(x.ndim)))

        if x.cases:
            raise Refused("axes are moved of indices that where chose, which is not known")
        return self.made([x.axes[k] for k in order], entry, x.kind, ("permuted", order), x)

    def reshape(self, x, shape):
        wanted = self.wanted(x, shape)
        return self._through(x, ("reshape",), lambda part: self._reshaped(part, wanted))

    def _reshaped(self, x, wanted):
        """Reshape: group old lengths and new axes where their products meet; within a group an index is a flat number."""
        old, axes, groups, spare = [n for axis in x.axes for n in axis], [], [], []
        for n in wanted:  # a new axis that is a product of whole old axes keeps them
            taken, left = [], list(old)
            while left and not spare and not same_length(taken, [n]):
                taken.append(left.pop(0))
            if not spare and same_length(taken, [n]):
                axes.append(tuple(taken))
                groups.append(([len(axes) - 1], taken))
                old = left
                continue
            axes.append((n,) if n != 1 else ())
            spare.append(len(axes) - 1)
            taken = []
            for k in range(1, len(old) + 1):
                if same_length(old[:k], [wanted[at] for at in spare]):
                    groups.append((spare, old[:k]))
                    old, spare = old[k:], []
                    break
        if old or spare:
            raise Refused(f"how axes become the shape {' x '.join(map(str, wanted))} is not known")

        def entry(*index):
            parts = []
            for places, lengths in groups:
                have = tuple(n for at in places for n in axes[at])
                parts += fitted(tuple(i for at in places for i in index[at]), have, tuple(lengths))
            parts = iter(parts)
            return x.at(x.axes, tuple(tuple(next(parts) for _ in axis) for axis in x.axes))

        return self.made(axes, entry, x.kind, ("reshape", tuple(axes)), x)

    def parted(self, x, index):
        axes, plan, places, old = [], [], [], iter(enumerate(x.axes))
        for i in index:
            if i is None:
                axes.append(())
                continue
            k, axis = next(old)
            length = Mul(*axis)
            if isinstance(i, slice):
                first, last = self.ends(i, length)
                whole = first == 0 and expand(last - length) == 0
                plan.append((len(axes), S.Zero if whole else first, axis if whole else None))
                axes.append(
                    axis if whole else () if expand(last - first) == 1 else (expand(last - first),)
                )
                if not whole:
                    self.lookups.append((S.One, first, length, self.place()))
                    self.lookups.append((S.One, expand(last - 1), length, self.place()))
            else:
                place = self.place_in(i, length)
                self.lookups.append((S.One, place, length, self.place()))
                plan.append((None, place, None))
                places.append((k, place))

        def entry(*new):
            found = []
            for (where, first, whole), axis in zip(plan, x.axes):
                if whole is not None:
                    found.append(new[where])
                else:
                    number = first if where is None else first + flat(new[where], axes[where])
                    found.append(fitted((number,), (Mul(*axis),), axis))
            return x.at(x.axes, tuple(found))

        axis, place = places[0] if x.leaf and len(places) == 1 else (0, None)
        deps = (
            frozenset([(x.leaf, (sum(map(len, x.axes[:axis])), place))])
            if place is not None and x.axes[axis]
            else None
        )
        if x.cases:
            return self.where(*(self.parted(part, index) for part in self._cases(x)))
        return self.made(axes, entry, x.kind, ("part", tuple(axes), tuple(plan)), x, deps=deps)

    def take(self, x, index, axis=0):
        axis %= x.ndim
        if index.kind != INT:
            raise Refused("the indices of take are not whole numbers")
        return self._taken(x, index, axis)

    def _taken(self, x, index, axis, condition=None):
        if index.cases:
            c, a, b = self._cases(index)
            both = [part if condition is None else condition & part for part in (c, ~c)]
            return self.where(
                c[(..., *(None,) * (x.ndim - axis - 1))],
                *(self._taken(x, part, axis, own) for part, own in zip((a, b), both)),
            )
        axes = x.axes[:axis] + index.axes + x.axes[axis + 1 :]
        self._looked_up(index, Mul(*x.axes[axis]), condition)
        here = slice(axis, axis + index.ndim)

        def entry(*i):
            place = fitted((index.at(index.axes, i[here]),), (Mul(*x.axes[axis]),), x.axes[axis])
            return x.at(x.axes, i[:axis] + (place,) + i[here.stop :])

        return self.made(axes, entry, x.kind, ("take", axis), x, index, slopes=x.slopes)

    def _looked_up(self, index, length, condition):
        at = generic(index.axes)
        with self.seen_by(named):
            c = S.One if condition is None else condition.at(index.axes, at)
            self.lookups.append((c, index.at(index.axes, at), length, self.place()))

    def concat(self, arrays, axis=0):
        return Pieces(self, [self.lift(a) for a in arrays], axis)

    def stack(self, arrays, axis=0):
        arrays = [self.lift(a) for a in arrays]
        axes = broadcast(*(a.axes for a in arrays))
        at = axis % (len(axes) + 1)

        def entry(*i):
            k = i[at][0] if i[at] else S.Zero
            rest = i[:at] + i[at + 1 :]
            if k.is_Integer:
                return arrays[int(k)].at(axes, rest)
            return Add(*(KroneckerDelta(k, n) * a.at(axes, rest) for n, a in enumerate(arrays)))

        return self.made(
            (*axes[:at], (Integer(len(arrays)),) if len(arrays) > 1 else (), *axes[at:]),
            entry,
            self._kind(arrays, None),
            ("stack", at),
            *arrays,
        )

    def scatter_add(self, target, index, values):
        indices, parts = (x.arrays if isinstance(x, Pieces) else [x] for x in (index, values))
        if len(indices) != len(parts):
            raise Refused("indices and values have different lengths")
        for i in indices:
            for c, number in self._leaves(i):
                self._looked_up(number, Mul(*target.axes[-1]), c)

        def entry(*i):
            total, place = target.at(target.axes, i), flat(i[-1], target.axes[-1])
            for one, value in zip(indices, parts):
                axes = broadcast(value.axes, one.axes)
                bound = tuple(fresh_index("s") for _ in axes[-1])
                at = i[:-1] + (bound,)
                limits = [(s, S.Zero, n - 1) for s, n in zip(bound, axes[-1])]
                term = value.at(axes, at) * self._hits(one, axes[-1:], (bound,), place)
                total += Sum(term, *limits[::-1]) if limits else term
            return total

        return self.made(target.axes, entry, REAL, ("scatter",), target, *indices, *parts)

    def _leaves(self, index, condition=None):
        if not index.cases:
            yield condition, index
            return
        c, a, b = self._cases(index)
        for own, part in ((c, a), (~c, b)):
            yield from self._leaves(part, own if condition is None else condition & own)

    def _hits(self, index, axes, at, place):
        if index.cases:
            c, a, b = index.cases
            return chosen(
                c.at(axes, at), self._hits(a, axes, at, place), self._hits(b, axes, at, place)
            )
        return KroneckerDelta(index.at(axes, at), place)

    # Functions that work along axes

    def _along(self, x, axis, keepdims):
        chosen = self.axes_of(x, axis)
        axes = [
            () if a in chosen else own
            for a, own in enumerate(x.axes)
            if keepdims or a not in chosen
        ]

        def index(i, inner):
            rest, inner = iter(i), iter(inner)
            return tuple(
                tuple(next(inner) for _ in own)
                if a in chosen and (not keepdims or next(rest) is not None)
                else next(rest)
                for a, own in enumerate(x.axes)
            )

        return chosen, axes, index

    def sum(self, x, /, *, axis=None, keepdims=False):
        x = self.lift(x)
        if isinstance(x, Pieces):
            raise Refused("a sum over joined arrays is not known")
        chosen, axes, index = self._along(x, axis, keepdims)
        lengths = [n for a in chosen for n in x.axes[a]]

        # the same index names in every case, so that equal work gives equal sums
        bound = [fresh_index("s") for _ in lengths]

        def entry(*i):
            e = x.at(x.axes, index(i, bound))
            return (
                Sum(e, *[(s, S.Zero, n - 1) for s, n in zip(bound, lengths)][::-1]) if bound else e
            )

        return self.made(
            axes, entry, INT if x.kind == BOOL else x.kind, ("sum", chosen, keepdims), x
        )

    def mean(self, x, /, *, axis=None, keepdims=False):
        chosen, _, _ = self._along(x, axis, keepdims)
        return self.sum(x, axis=axis, keepdims=keepdims) / self.number(
            Mul(*(n for a in chosen for n in x.axes[a]))
        )

    def max(self, x, /, *, axis=None, keepdims=False, name="max"):
        """Return the entry at the place of the maximum, which small changes do not move; if `held`, a separate input."""
        chosen, axes, index = self._along(x, axis, keepdims)
        if self.held is not None and x.kind == REAL:
            key = "_".join([f"{name}{x.key}", *map(str, chosen)]) + "k" * keepdims
            return self.held.setdefault(key, self._leaf(key, axes, REAL))
        lengths = [n for a in chosen for n in x.axes[a]]

        def places(*i):
            rest, inner = [k for axis in i for k in axis], []
            for k, n in enumerate(lengths):
                place = self.named(f"{name}{x.key}_{k}", rest, INT)
                self.granted[getattr(place, "base", place)] = S.Zero, n - 1
                inner.append(place)
            return inner

        self.assumed[f"one entry alone is the {name}imum"] = None
        made = self.made(
            axes,
            lambda *i: x.at(x.axes, index(i, places(*i))),
            x.kind,
            (name, chosen, keepdims),
            x,
        )
        made.places = {x.key: places} if keepdims else None
        return made

    def min(self, x, /, *, axis=None, keepdims=False):
        return self.max(x, axis=axis, keepdims=keepdims, name="min")
