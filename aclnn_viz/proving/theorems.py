"""From two passes over symbolic inputs to equations: each output of backward is the derivative of forward."""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from sympy import Add, Dummy, Expr, Indexed, Integer, KroneckerDelta, Mul, S, Sum, Symbol, expand

from aclnn_viz.proving.steps import (
    TRUTHS,
    Above,
    AtLeast,
    Erf,
    Magnitude,
    Part,
    Refused,
    Step,
    Whether,
    flat,
    generic,
    plain,
    same_length,
    tidy,
)
from aclnn_viz.proving.symbolic import BOOL, Pieces
from aclnn_viz.proving.views import by_key, of_source, truth_named
from derivations.prover.canonical import is_total
from derivations.prover.expressions import NotUnderstood, substitute
from derivations.prover.gradient import gradient
from derivations.prover.normal_form import normal_form
from derivations.prover.proving import Answer, proves_equal
from derivations.prover.ranges import Ranges, is_nonnegative

ONE = Symbol("#1", real=True)
MOVED = "broadcast", "permuted", "reshape", "part"  # what makes no new entries
ARITHMETIC = "add", "sub", "mul", "truediv", "square"  # compares nothing
# nor does this
SMOOTH = {
    "input",
    *ARITHMETIC,
    "exp",
    "log",
    "sqrt",
    "negative",
    "reciprocal",
    "sum",
    "where",
    *MOVED,
}
# equal work has equal names, equal expressions have, nothing has one; the cheapest first
NAMINGS = BY_WORK, BY_VALUE, NONE = range(3)
DIVIDED = "what is divided by is not 0"
MAX_CASES = 400  # of the signs of compared numbers, in one equation


@dataclass(frozen=True)
class Claim:
    """The derivative of the `loss` by the entries in `leaves`, and by `lines` with their own derivatives, is `right`; `ranges` are those of indices."""

    output: str
    leaves: tuple
    loss: Expr
    right: Expr
    ranges: dict
    words: tuple = ()
    lines: tuple = ()
    answer: Answer | None = None
    left: Expr | None = None
    compares: bool = False

    def xreplace(self, mapping):
        def new(e):
            return e.xreplace(mapping)

        return replace(
            self,
            loss=new(self.loss),
            right=new(self.right),
            left=None if self.left is None else new(self.left),
            leaves=tuple(map(new, self.leaves)),
            ranges={new(i): tuple(map(new, map(S, ends))) for i, ends in self.ranges.items()},
        )


def independent(traced):
    """Whether the outputs of forward are the same whatever numbers stand in the place of the maxima that are held.

    Then a maximum, which is such a number, may be held while an entry changes: however it changes, no output does. Where
    one is compared with anything, a derivative of 0 does not show that.
    """
    held = set(traced.xp.held)
    try:
        return all(
            array.made_by in SMOOTH
            for array in traced.xp.arrays.values()
            if held & {name for name, _ in array.deps}
        ) and all(
            proved(claim, traced.subject.labels)
            for name in held
            for claim in claims(traced, None, name, BY_WORK)
        )
    except (Refused, NotUnderstood):
        return False


def claims(traced, output, of, naming):
    """The claims about one output, or that `of` changes no output of forward (None): one for each place of an axis whose length is a number, each joined piece, and each way

    in which numbers compare. `naming` says what has a name that does not move with the entry.
    """
    leaf, made = (
        traced.leaves[of],
        traced.backward[output] if output else traced.xp.zeros_like(traced.leaves[of]),
    )
    for offsets, piece in pieces(made):
        axes = piece.axes
        literal = [k for k, axis in enumerate(axes) if len(axis) == 1 and axis[0].is_Integer]
        if piece is made and (len(axes) != leaf.ndim or not all(map(same_length, axes, leaf.axes))):
            raise Refused(
                f"{output} has the shape {_shape(axes)}, {of} the shape {_shape(leaf.axes)}"
            )
        for places in product(*(range(int(axes[k][0])) for k in literal)):
            index = [
                tuple(
                    Symbol(f"i{k}" if len(axis) == 1 else f"i{k}_{m}", integer=True)
                    for m in range(len(axis))
                )
                for k, axis in enumerate(axes)
            ]
            for k, place in zip(literal, places):
                index[k] = (Integer(place),)
            at = place_in(index, axes, offsets, leaf)
            yield from _paths(traced, output, of, piece, index, at, naming)


def _paths(traced, output, of, piece, index, at, naming):
    """The claims, on one path each. Where they hold as an equation of unknown functions of the entry, that one serves all paths."""
    whole, entry = {}, traced.leaves[of].at(traced.leaves[of].axes, at)
    if naming != NONE and isinstance(entry, Indexed) and any(i.is_Integer for i in entry.indices):
        try:
            found = list(
                _walked(
                    traced,
                    of,
                    at,
                    naming,
                    lambda path: _of_parts(traced, output, of, piece, index, at, path, whole),
                )
            )
            if found:
                return found
        except (Apart, NotUnderstood):
            pass
    return _walked(
        traced, of, at, naming, lambda path: _claim(traced, output, of, piece, index, at, path)
    )


def _walked(traced, of, at, naming, claim):
    """The claim of each path."""
    todo, tried, entry = (
        [((), dict(traced.equal))],
        0,
        traced.leaves[of].at(traced.leaves[of].axes, at),
    )
    while todo:
        given, sizes = todo.pop()
        tried += 1
        if tried > MAX_CASES:
            raise Refused(f"more than {MAX_CASES} combinations of signs of the compared numbers")
        path = Path(
            of, entry, Still(traced, frozenset(sizes.items()), naming), given, traced.known, sizes
        )
        try:
            found = claim(path)
        except OneOrMore as case:
            more = Symbol(f"{case.size}'", integer=True, positive=True) + 1
            todo += [
                (given, {**sizes, case.size: value})
                for value in (S.One, more)
                if value == more or case.size not in traced.several
            ]
            continue
        except Impossible:
            continue
        todo += path.others
        yield found


def _claim(traced, output, of, piece, index, at, path):
    with traced.xp.seen_by(path):
        right = path.settled(piece.at(piece.axes, tuple(index)))
        loss = loss_of(traced, of, path.entry, path)
    ranges = {
        i: (S.Zero, n - 1)
        for axis, own in zip(index, piece.axes)
        for i, n in zip(axis, own)
        if not i.is_Integer
    }
    views = _views(traced.xp, of, [i for axis in at for i in axis])
    lines = tuple((line, known, slope) for line, (known, slope) in path.lines.items())
    claim = replace(
        Claim(output, (path.entry, *views), loss, right, ranges | traced.xp.granted).xreplace(
            path.sizes
        ),
        lines=lines,
    )
    # what forward compares within a sum is of the entry once the derivative is taken
    if path.parts is None:
        left, _ = _derived(claim)
        if any(total.has(*TRUTHS) for total in left.atoms(Sum)):
            claim = replace(claim, left=path.settled(normal_form(left, Ranges(claim.ranges))))
    return replace(claim, words=path.words, compares=bool(path.signs))


def _of_parts(traced, output, of, piece, index, at, path, whole):
    """The claim on a path from the equation of unknown functions, with what these and their derivatives are on it.

    Equal values get equal names, so that most paths ask for the same proof. Where that does not do, the claim as it is.
    """
    if path.unmoved not in whole:
        joint = Path(of, path.entry, path.unmoved, (), traced.known, path.sizes)
        joint.parts = {}
        claim = _claim(traced, output, of, piece, index, at, joint)
        if joint.signs or not joint.parts:
            raise Apart
        whole[path.unmoved] = claim, *_derived(claim), joint.parts
    claim, left, right, parts = whole[path.unmoved]
    values, names = {}, {}

    def name(e):
        content, rest = tidy(path.written_out(e))
        return (
            content * rest
            if rest.is_Rational
            else content * names.setdefault(rest, Symbol(f"#s{len(names)}", real=True))
        )

    with traced.xp.seen_by(path):
        for array, at_row in parts.values():
            if array.source.at(array.axes, at_row) != path.entry:
                raise Apart
            value = path.settled(array.at(array.axes, at_row))
            part = Part(path.entry, Integer(array.key), S.Zero).xreplace(path.sizes)
            if array.kind != BOOL:
                values |= {part: name(value), part.slope: name(path.slope(value))}
            elif value.is_Rational:
                values[Whether(part)] = value
    sides = [side.xreplace(values) for side in (left, right)]
    rest = {
        part: Symbol(f"#p{part.args[1]}", real=True) for side in sides for part in side.atoms(Part)
    }
    if any(part.args[0] != path.entry.xreplace(path.sizes) or part.args[2] != 0 for part in rest):
        raise Apart
    loss, right = (side.xreplace(rest) for side in sides)
    found = replace(
        claim,
        leaves=(ONE,),
        loss=ONE * loss,
        right=right,
        words=path.words,
        compares=bool(path.signs),
        lines=(),
    )
    if answer := proved(found, traced.subject.labels):
        return replace(found, answer=answer)
    full = Path(of, path.entry, path.unmoved, path.given, traced.known, path.sizes)
    full.signs, full.taken, full.others = list(path.signs), path.taken, path.others
    return _claim(traced, output, of, piece, index, at, full)


class Apart(Exception):
    """The short form of a claim, with unknown functions of one entry, does not apply: the claim is proved as it is."""


class OneOrMore(Exception):
    """An entry depends on the moved one only if this size is 1, or only if it is not: both cases are to be proved."""

    def __init__(self, size):
        self.size = size


class Impossible(Exception):
    """No numbers have these signs: the case has nothing to prove."""


class Path:
    """How entries are seen where the signs of all compared numbers that move with one entry are given.

    What does not move with the entry is named. A compared number that is not among `given` gets the sign 1; the paths
    with the other sign are in `others`.
    """

    def __init__(self, of, entry, unmoved, given, known, sizes):
        self.of, self.entry, self.unmoved, self.known, self.sizes = of, entry, unmoved, known, sizes
        self.given, self.signs, self.others, self.rows, self.open, self.lines = (
            given,
            [],
            [],
            {},
            set(),
            {},
        )
        self.reached = {}

    def shared(self, array, index):
        """The view of what does not move with the entry; where no row is that of the entry, what is made by steps has a name."""
        if not self._reached(array.deps):
            return self.unmoved.shared(array)
        if self.parts is not None and not array.cases and array.made_by not in MOVED:
            if array.source is not None and (array.kind == BOOL or self._reached(array.slopes)):
                self.parts[array.key] = (
                    array,
                    tuple(tuple(i.xreplace(self.rows) for i in axis) for axis in index),
                )
                return of_source
            return (
                by_key
                if array.kind != BOOL
                and not self._reached(array.slopes)
                and self.unmoved.hides(array)
                else None
            )
        apart = (
            self.open
            and not self.rows
            and any(i.free_symbols & self.open for axis in index for i in axis)
        )
        return (
            by_key
            if apart and not self._reached(array.slopes) and self.unmoved.hides(array)
            else None
        )

    def _reached(self, deps):
        if deps not in self.reached:
            self.reached[deps] = any(
                name == self.of and not _elsewhere(place, self.entry) for name, place in deps
            )
        return self.reached[deps]

    def __call__(self, array, e, index):
        if array.made_by in MOVED:  # what it is made of was seen
            return e.xreplace(self.sizes) if self.sizes else e
        e = e if array.made_by in ARITHMETIC else self.settled(e)
        if self.unmoved.keeps(array, e) or e.has(Part):
            return e
        return (
            self._line(e)
            if moves(e, self.entry, array.xp.views, self.lines)
            else truth_named(array, e, index)
        )

    def _line(self, e):
        """A name for what is linear in the entry, the first of its kind: its derivative is kept in its place."""
        if not e.is_Add or e.count_ops() < 3 or e.has(Sum, Magnitude, *TRUTHS, *self.lines):
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

    def slope(self, e):
        """The derivative of an expression by the entry."""
        entry = self.entry.xreplace(self.sizes)
        return gradient(e, entry) + Add(
            *(gradient(e, line) * slope for line, (_, slope) in self.lines.items() if e.has(line))
        )

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
                if not d.has(*TRUTHS, Magnitude, Part):
                    here = d.xreplace(self.rows) if self.rows else d
                    side = self._side(here)
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
        # then it differs from entry to entry
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

    taken, loose, parts = (), False, None


@dataclass(frozen=True)
class Still:
    """A view of what does not move, in which gradients and labels have no name, and all else as `naming` says; the same for equal sizes."""

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
        """This view, but what is made by steps, or all, has a name without a look at it."""
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
def _compared(e):
    return e.atoms(*TRUTHS, Magnitude)


def _elsewhere(place, entry):
    """Whether a component, (axis, place), is another one than that of the entry."""
    if place is None or not isinstance(entry, Indexed):
        return False
    axis, number = place
    return number.is_Integer and entry.indices[axis].is_Integer and entry.indices[axis] != number


def moves(e, entry, views, lines=()):
    """Whether an entry, another one that may be it, or a name of what is linear in it stands in `e` outside of steps and of indices."""
    if isinstance(e, (Step, KroneckerDelta)):
        return False
    if isinstance(e, Indexed) and isinstance(entry, Indexed):
        return _of(e, entry.base.name, views) and not _apart(e, entry)
    return e == entry or e in lines or any(moves(arg, entry, views, lines) for arg in e.args)


def _of(e, name, views):
    return name in (e.base.name, views.get(e.base.name, ("",))[0])


def _apart(a, b):
    """Two entries of one input whose places along an axis are different numbers."""
    return a.base == b.base and any(
        i.is_Integer and k.is_Integer and i != k for i, k in zip(a.indices, b.indices)
    )


def _contradict(a, b):
    """a > 0 and b > 0 cannot both be: a positive multiple of one and the other add up to a number that is not positive."""
    sums = (expand(a + factor * b) for factor in (S.One, S(2), S.Half))
    return any(
        not total.atoms(Indexed) and (total.is_nonpositive or is_nonnegative(-total))
        for total in sums
    )


def _shape(axes):
    return "(" + ", ".join(str(Mul(*axis)) for axis in axes) + ")"


def pieces(made):
    if not isinstance(made, Pieces):
        yield [S.Zero] * made.ndim, made
        return
    before = S.Zero
    for piece in made.arrays:
        yield [before if k == made.axis else S.Zero for k in range(piece.ndim)], piece
        before += Mul(*piece.axes[made.axis])


def place_in(index, axes, offsets, whole):
    """The index of a piece as one of the whole array that it is a piece of."""
    return tuple(
        (flat(i, axis) + offset,) if own else ()
        for i, axis, offset, own in zip(index, axes, offsets, whole.axes)
    )


def _views(xp, of, at):
    for view, (name, places, lengths) in xp.views.items():
        if name == of:
            rest = [i for k, i in enumerate(at) if k not in places]
            yield xp.named(view, [*rest, expand(flat([at[k] for k in places], lengths))], "real")


def loss_of(traced, of, entry, path):
    """The sum of gradients times outputs, without the indices at which nothing depends on the entry."""
    terms = []
    for d, y in traced.subject.upstream.items():
        made, up = traced.forward[y], traced.leaves[d]
        for offsets, piece in pieces(made):
            if piece is made and (
                piece.ndim != up.ndim or not all(map(same_length, piece.axes, up.axes))
            ):
                raise Refused(
                    f"{d} has the shape {_shape(up.axes)}, {y} the shape {_shape(piece.axes)}"
                )
            index = generic(piece.axes, "q")
            at = place_in(index, piece.axes, offsets, up)
            key = piece.key, entry, path.unmoved
            if key not in traced.places:
                with traced.xp.seen_by(Probe(path)):
                    places = _places(piece.at(piece.axes, index), entry, traced.xp.views)
                traced.places[key] = {q: k for q, k in places.items() if any(q in i for i in index)}
            places = traced.places[key]
            path.rows = {q: entry.indices[k] for q, k in places.items()}
            path.open = {q for i in index for q in i} - set(places)
            e = path.settled(piece.at(piece.axes, index))
            if any(_places(e, entry, traced.xp.views).get(q, k) != k for q, k in places.items()):
                raise Refused(
                    "whether two rows share an entry depends on a comparison whose outcome is not known"
                )
            limits = [
                (q, S.Zero, n - 1)
                for i, axis in zip(index, piece.axes)
                for q, n in zip(i, axis)
                if q not in places
            ]
            term = substitute(up.at(up.axes, at) * e, path.rows)
            terms.append(Sum(term, *limits) if limits else term)
            path.rows, path.open = {}, set()
    return Add(*terms)


def _places(e, entry, views):
    """{index: place} of the indices that stand in the same place of every entry that may be this one, {} where it is looked up otherwise."""
    own = [
        a
        for a in e.atoms(Indexed)
        if isinstance(entry, Indexed) and _of(a, entry.base.name, views) and not _apart(a, entry)
    ]
    if not own or any(a.base != entry.base for a in own):
        return {}
    return {
        i: k
        for k, i in enumerate(own[0].indices)
        if i.is_Symbol and all(a.indices[k] == i for a in own)
    }


class Probe:
    """A view in which every compared number that moves is positive: it shows which entries can meet."""

    def __init__(self, path):
        self.entry, self.shared = path.entry, path.shared

    def __call__(self, array, e, index):
        e = e.replace(
            lambda a: (
                isinstance(a, (*TRUTHS, Magnitude)) and moves(a.args[0], self.entry, array.xp.views)
            ),
            lambda a: a.args[0] if isinstance(a, Magnitude) else S.One,
        )
        return e if moves(e, self.entry, array.xp.views) else truth_named(array, e, index)


# One equation.


def equation(claim):
    """(left, right) of a claim in which nothing that moves is compared any more."""
    return _named(*(_cleared(side, claim.ranges) for side in _derived(claim)), claim.ranges)


def _derived(claim):
    if claim.left is not None:
        return claim.left, claim.right
    loss = claim.loss.replace(
        lambda e: isinstance(e, Magnitude),
        lambda e: e.args[0] * (Above(e.args[0]) - Above(-e.args[0])),
    )
    left = Add(
        *(gradient(loss, leaf) for leaf in claim.leaves),
        *(gradient(loss, line) * slope for line, _, slope in claim.lines),
    )
    return left, claim.right


def _named(left, right, ranges):
    """Both sides with each step that has no bound index as one symbol: what holds for any integers holds for these."""
    free = left.free_symbols | right.free_symbols
    names = {}

    def name(e):
        if isinstance(e, TRUTHS):
            return type(e)(names.setdefault(e.args[0], Symbol(f"#d{len(names)}", real=True)))
        return names.setdefault(e, Symbol(f"#k{len(names)}", integer=True))

    def walked(e):
        if isinstance(e, Step) and e.free_symbols <= free:
            return name(e)
        if not e.args or isinstance(e, (Symbol,)) or not e.has(Step):
            return e
        if isinstance(e, Sum):
            return Sum(walked(e.function), *e.limits)
        if isinstance(e, Indexed):
            return Indexed(e.base, *map(walked, e.indices))
        return e.func(*map(walked, e.args))

    return walked(left), walked(right)


def _cleared(e, ranges):
    """Without deltas of numbers that cannot meet: a place behind the last one."""
    ends = {i: limits for i, limits in ranges.items() if isinstance(i, Symbol)}
    bound = [
        limit for total in e.atoms(Sum) for limit in total.limits if isinstance(limit[0], Dummy)
    ]
    ends |= {
        i: (first, last)
        for i, first, last in bound
        if all(limit == (i, first, last) for limit in bound if limit[0] == i)
    }

    def never(delta):
        """Whether the greatest difference is below 0, or the least one above."""
        difference = expand(delta.args[0] - delta.args[1])
        known = difference.free_symbols & set(ends)
        if difference.atoms(Indexed, Step) or not known:
            return False
        for side in (1, -1):
            far = {i: Dummy(i.name, integer=True, nonnegative=True) for i in known}
            least = {
                i: ends[i][0] + d if (side * difference).coeff(i).is_positive else ends[i][1] - d
                for i, d in far.items()
            }
            if is_nonnegative(expand((side * difference).xreplace(least)) - 1):
                return True
        return False

    gone = {delta: S.Zero for delta in e.atoms(KroneckerDelta) if never(delta)}
    return e.xreplace(gone) if gone else e


def proved(claim, labels):
    """The Answer about one claim, with and then without a name for what is linear in the entry."""
    answer = claim.answer or _proved(claim, labels)
    if answer or not claim.lines:
        return answer
    names = {line: known for line, known, _ in claim.lines}
    return _proved(replace(claim.xreplace(names), lines=()), labels)


def _proved(claim, labels):
    """Entries of labels lie in their range, or are the number that is passed over."""
    left, right = equation(claim)
    if labels:
        left, right = normal_form(left - right, Ranges(claim.ranges)), S.Zero
    for entry in {
        a
        for a in left.atoms(Indexed)
        if str(a.base) in labels and all(i in claim.ranges for i in a.indices)
    }:
        length, beside = labels[str(entry.base)]
        label = Symbol(f"#label{entry.indices}", integer=True)
        if beside is not None:
            answer = proves_equal(left.xreplace({entry: beside}), 0, in_range=claim.ranges)
            if not answer:
                return answer
        claim = replace(claim, ranges=claim.ranges | {label: (S.Zero, length - 1)})
        apart = (
            () if beside is None else (KroneckerDelta(label, beside), KroneckerDelta(beside, label))
        )
        left = normal_form(left.xreplace({entry: label}), Ranges(claim.ranges)).xreplace(
            dict.fromkeys(apart, S.Zero)
        )
    return proves_equal(left, right, in_range=claim.ranges)


# What goes with a proof.


def unsound(traced):
    """What forward does not say of the places that backward looks up: one that may lie outside of its axis."""
    found = []
    for lookups, sure in ((traced.lookups, ()), (traced.xp.lookups, traced.lookups)):
        for c, number, length, place in lookups:
            of_sizes = not number.atoms(Indexed, Step) and all(
                s.is_positive for s in number.free_symbols
            )
            if of_sizes and not (
                is_nonnegative(number) and is_nonnegative(expand(length - 1 - number))
            ):
                found.append(
                    f"place {number} is looked up, and an axis of length {length} may not have it ({place})"
                )
            elif (
                not of_sizes
                and lookups is traced.xp.lookups
                and not any(
                    number == other
                    and is_nonnegative(expand(length - least))
                    and _implies(c, before)
                    for before, other, least, _ in sure
                )
            ):
                found.append(
                    f"backward looks up place {number}, which may lie outside of an axis of length {length} ({place})"
                )
    return found


def _implies(c, before):
    return set(Mul.make_args(before)) <= set(Mul.make_args(c)) | {S.One}


def assumptions(claim, answer):
    sizes = {
        s
        for e in (claim.loss, claim.right)
        for s in e.free_symbols
        if s.is_Symbol and s.is_integer and s.is_positive
    }
    yield from (f"{n} >= 1" for n in sorted(map(str, sizes)) if "'" not in n)
    yield from (
        f"{s} > 0"
        for s in sorted(claim.right.free_symbols, key=str)
        if s.is_Symbol and s.is_positive and not s.is_integer and "eps" not in str(s)
    )
    if claim.right.has(Erf):
        yield f"{float(Erf.FACTOR)!r} = 2 / sqrt(pi)"
    if answer.denominators:
        yield DIVIDED


def granted(traced):
    for name, (length, beside) in traced.subject.labels.items():
        yield f"0 <= {name} < {length}" + (f" or {name} = {beside}" if beside is not None else "")
    if not all(map(_never_zero, traced.xp.divisors.values())):
        yield DIVIDED


def _never_zero(divisor):
    return is_total(1 / divisor.at(divisor.axes, generic(divisor.axes, "q")))
