"""Rewrite entries of symbolic arrays for given signs of all compared numbers, so that a proof takes one branch of the formulas
at a time.
"""

from dataclasses import dataclass
from functools import lru_cache

from sympy import Dummy, Indexed, Integer, KroneckerDelta, S, Sum, Symbol, expand

from aclnn_viz.proving.steps import (
    TRUTHS,
    AtLeast,
    Magnitude,
    Step,
    plain,
)
from aclnn_viz.proving.views import by_key, truth_named
from derivations.prover.gradient import gradient
from derivations.prover.ranges import is_nonnegative

MOVED = "broadcast", "permuted", "reshape", "part"  # operations that only move entries
ARITHMETIC = "add", "sub", "mul", "truediv", "square"  # operations without comparisons
# What a proof replaces by one name: subexpressions computed by equal steps, subexpressions of
# equal value, or none. The ways are tried in this order, the cheapest first.
NAMINGS = BY_WORK, BY_VALUE, NONE = range(3)


class OneOrMore(Exception):
    """An entry depends on the moving entry only if `size` is 1, or only if `size` is not 1; both cases need a proof."""

    def __init__(self, size):
        self.size = size


class Impossible(Exception):
    """No inputs give the compared numbers these signs, so the case needs no proof."""


class Path:
    """A view of entries for given signs of all compared numbers that move with one entry.

    Parts that do not move with the entry get names. A compared number that is not in `given` gets the sign 1; the paths with
    the other sign are in `others`. Paths with one `memory` differ in `given` and sizes alone: a path asks again for the parts
    of an entry, and where they are the same as on an earlier path, it takes the entry of that path.
    """

    def __init__(self, of, entry, unmoved, given, known, sizes, memory=None):
        self.of, self.entry, self.unmoved, self.known, self.sizes = of, entry, unmoved, known, sizes
        self.given, self.signs, self.others, self.rows = given, [], [], {}
        self.open, self.lines, self.reached = set(), {}, {}
        self.memory, self.seen = {} if memory is None else memory, {}
        self.steps, self.piece = [], None

    def entry_of(self, array, index):
        """Return an entry of an array, from memory if its recorded (question, about what, answer) still hold."""
        value = self._entry_of((array, index))
        self.steps.append((Path._entry_of, (array, index), value))
        return value

    def _entry_of(self, place):
        array, index = place
        if (array.key, index) not in self.seen:
            records = self.memory.setdefault((array.key, index, self.piece, self.unmoved), [])
            for steps, known in records:
                if all(ask(self, what) == answer for ask, what, answer in steps):
                    value = known
                    break
            else:
                outer, self.steps = self.steps, []
                value = array.seen(self, index)
                records.append((self.steps, value))
                self.steps = outer
            self.seen[array.key, index] = value
        return self.seen[array.key, index]

    def shared(self, array, index):
        """Return the view to share: that of still arrays, `by_key` for results of steps in other rows, or None."""
        if not self._reached(array.deps):
            return self.unmoved.shared(array)
        is_apart = (
            self.open
            and not self.rows
            and any(i.free_symbols & self.open for axis in index for i in axis)
        )
        return (
            by_key
            if is_apart and not self._reached(array.slopes) and self.unmoved.hides(array)
            else None
        )

    def _reached(self, deps):
        if deps not in self.reached:
            self.reached[deps] = any(
                name == self.of and not _elsewhere(place, self.entry) for name, place in deps
            )
        return self.reached[deps]

    def __call__(self, array, e, index):
        if array.made_by in MOVED:  # the moved entries are already rewritten
            return e.xreplace(self.sizes) if self.sizes else e
        e = e if array.made_by in ARITHMETIC else self.settled(e)
        if self.unmoved.keeps(array, e):
            return e
        if not moves(e, self.entry, array.xp.views, self.lines):
            return truth_named(array, e, index)
        if _may_be_line(e):
            self.steps.append((Path._line, e, line := self._line(e)))
            return line
        return e

    def _line(self, e):
        """Name the first expression linear in the entry, and keep its slope in `lines`; return others unchanged."""
        if self.lines and e.has(*self.lines):
            return e
        here = e.xreplace(self.rows) if self.rows else e
        entry = self.entry.xreplace(self.sizes)
        if not here.has(entry) or here.free_symbols & self.open or here.atoms(Dummy):
            return e
        line, (known, slope) = next(
            iter(self.lines.items()), (Symbol("#t", real=True), (here, gradient(here, entry)))
        )
        if known != here or slope.has(entry) or slope.is_number:
            return e
        self.lines[line] = here, slope
        return line

    def written_out(self, e):
        while e.has(*self.lines) if self.lines else False:
            e = e.xreplace({line: known for line, (known, _) in self.lines.items()})
        return e

    @property
    def words(self):
        return (
            *(f"{n} = {value}" for n, value in self.sizes.items()),
            *(f"{d} > 0" for d in self.signs),
        )

    def settled(self, e):
        e = e.xreplace(self.known).xreplace(self.sizes) if self.known or self.sizes else e
        while True:
            found = {}
            for atom in _compared(e):
                d = atom.args[0]
                if not d.has(*TRUTHS, Magnitude):
                    here = d.xreplace(self.rows) if self.rows else d
                    side = self._side(here)
                    self.steps.append((Path._side, here, side))
                    if side is not None:
                        holds = side >= 0 if isinstance(atom, AtLeast) else side > 0
                        found[atom] = (
                            side * d if isinstance(atom, Magnitude) else Integer(int(holds))
                        )
            if not found:
                return e
            e = e.xreplace(found)

    def _side(self, d):
        entry, d = self.entry.xreplace(self.sizes), plain(self.written_out(d))
        # no one sign: d lacks the moving entry, or has an index that the entry's place leaves open
        if not d.has(entry) or d.atoms(Dummy) or d.free_symbols & self.open:
            return None
        for known, side in zip(self.signs, self.taken):
            if d == known or expand(d + known) == 0:
                return 0 if side == 0 else 1 if d == known else -1
        slope = gradient(d, entry)
        if (
            slope == 0
            or slope.has(entry)
            and any(s.has(entry) for s in d.atoms(Step, KroneckerDelta))
        ):
            return None
        if not slope.is_nonzero and not self.loose:
            for n in sorted(
                (s for s in slope.free_symbols if s.is_integer and s.is_positive), key=str
            ):
                if expand(slope.subs(n, 1)) == 0:
                    raise OneOrMore(n)
        side = self.given[len(self.signs)] if len(self.signs) < len(self.given) else 1
        fresh = len(self.signs) >= len(self.given)
        possible = [
            s for s in (1, -1) if not any(_contradict(s * d, other) for other in self.signs)
        ] + [0] * self.loose
        if fresh and side not in possible:
            side = -1
        if side not in possible:
            raise Impossible
        if fresh and {1, -1} <= set(possible):
            self.others.append(((*self.taken, -side), self.sizes))
        self.taken = (*self.taken, side)
        self.signs.append(plain((side or 1) * d))
        return side

    taken, loose = (), False


@dataclass(frozen=True)
class Still:
    """A view of arrays that do not move: gradients and labels stay as they are, others get names as `naming` says."""

    traced: object
    sizes: frozenset
    naming: int

    def keeps(self, array, e):
        subject = self.traced.subject
        return self.naming == NONE or any(
            of in subject.upstream or of in subject.labels and not e.has(Sum)
            for of, _ in array.deps
        )

    def hides(self, array):
        subject = self.traced.subject
        return not (
            self.naming == NONE
            or array.leaf
            or array.cases
            or array.made_by in MOVED
            or any(of in subject.upstream or of in subject.labels for of, _ in array.deps)
        )

    def shared(self, array):
        """Return this view, or `by_key` for arrays that get names without a look at their entries."""
        return (
            by_key
            if array.deps and (self.naming == BY_WORK or not array.slopes) and self.hides(array)
            else self
        )

    def __call__(self, array, e, index):
        known = self.traced.known | dict(self.sizes)
        e = e.xreplace(known) if known else e
        return e if self.keeps(array, e) else truth_named(array, e, index)


@lru_cache(maxsize=1 << 14)
def _may_be_line(e):
    return e.is_Add and not e.has(Sum, Magnitude, *TRUTHS) and e.count_ops() >= 3


@lru_cache(maxsize=1 << 14)
def _compared(e):
    return e.atoms(*TRUTHS, Magnitude)


def _elsewhere(place, entry):
    """Return whether a component, (axis, index), differs from that of the entry."""
    if place is None or not isinstance(entry, Indexed):
        return False
    axis, number = place
    return number.is_Integer and entry.indices[axis].is_Integer and entry.indices[axis] != number


def moves(e, entry, views, lines=()):
    """Return whether `e` contains, outside steps and indices, the entry, a possible alias of it, or a name linear in it."""
    if isinstance(e, (Step, KroneckerDelta)):
        return False
    if isinstance(e, Indexed) and isinstance(entry, Indexed):
        return is_of(e, entry.base.name, views) and not apart(e, entry)
    return e == entry or e in lines or any(moves(arg, entry, views, lines) for arg in e.args)


def is_of(e, name, views):
    return name in (e.base.name, views.get(e.base.name, ("",))[0])


def apart(a, b):
    """Return whether two entries of one input differ in a numeric index."""
    return a.base == b.base and any(
        i.is_Integer and k.is_Integer and i != k for i, k in zip(a.indices, b.indices)
    )


@lru_cache(maxsize=1 << 14)
def _contradict(a, b):
    """Return whether a > 0 and b > 0 contradict: the sum of positive multiples of both is not positive."""
    sums = (expand(a + factor * b) for factor in (S.One, S(2), S.Half))
    return any(
        not total.atoms(Indexed) and (total.is_nonpositive or is_nonnegative(-total))
        for total in sums
    )


class Probe:
    """A view in which every moving compared number is positive, to show which entries can meet."""

    def __init__(self, path):
        self.entry, self.shared = path.entry, path.shared

    def __call__(self, array, e, index):
        if _compared(e):
            e = e.replace(
                lambda a: (
                    isinstance(a, (*TRUTHS, Magnitude))
                    and moves(a.args[0], self.entry, array.xp.views)
                ),
                lambda a: a.args[0] if isinstance(a, Magnitude) else S.One,
            )
        return e if moves(e, self.entry, array.xp.views) else truth_named(array, e, index)
