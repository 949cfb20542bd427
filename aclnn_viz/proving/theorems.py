"""Turn two passes over symbolic inputs into equations, that each output of backward is the derivative of forward, and prove
them.
"""

from dataclasses import dataclass, replace
from itertools import product

from sympy import Add, Dummy, Expr, Indexed, Integer, KroneckerDelta, Mul, S, Sum, Symbol, expand

from aclnn_viz.proving.paths import (
    ARITHMETIC,
    BY_WORK,
    MOVED,
    Impossible,
    OneOrMore,
    Path,
    Probe,
    Still,
    apart,
    is_of,
)
from aclnn_viz.proving.steps import (
    TRUTHS,
    Above,
    Erf,
    Magnitude,
    Refused,
    Step,
    flat,
    generic,
    same_length,
)
from aclnn_viz.proving.symbolic import Pieces
from derivations.prover.canonical import is_total
from derivations.prover.equality import proves_equal
from derivations.prover.expressions import NotUnderstood, substitute
from derivations.prover.gradient import gradient
from derivations.prover.normal_form import normal_form
from derivations.prover.ranges import Ranges, is_nonnegative

# operations without comparisons, which are smooth
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
DIVIDED = "what is divided by is not 0"
MAX_CASES = 400  # most combinations of signs of compared numbers in an equation


@dataclass(frozen=True)
class Claim:
    """The claim that the derivative of `loss` by the entries `leaves`, and by `lines` with known slopes, equals `right`;
    `ranges` maps indices to their ranges.
    """

    output: str
    leaves: tuple
    loss: Expr
    right: Expr
    ranges: dict
    words: tuple = ()
    lines: tuple = ()
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
    """Return whether the outputs of forward do not depend on the values of held maxima.

    Then a maximum may stay constant while an entry changes. If a maximum is compared, a derivative of 0 does not show
    independence.
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
    """Yield the claims about one output, or, for None, that `of` changes no output of forward.

    There is one claim for each index of an axis of numeric length, each joined piece, and each way in which numbers compare.
    `naming` says which parts of a formula get names, among the parts that are the same for every entry.
    """
    leaf, made = (
        traced.leaves[of],
        traced.backward[output] if output else traced.xp.zeros_like(traced.leaves[of]),
    )
    if not isinstance(made, Pieces) and (
        made.ndim != leaf.ndim or not all(map(same_length, made.axes, leaf.axes))
    ):
        raise Refused(
            f"{output} has the shape {_shape(made.axes)}, {of} the shape {_shape(leaf.axes)}"
        )
    for piece, index, at in entries(made, leaf):
        yield from _walked(traced, output, of, piece, index, at, naming)


def entries(made, leaf):
    """Yield (piece, index, place in the leaf) of the entries of an output: one for each index of an axis of numeric length."""
    for offsets, piece in pieces(made):
        axes = piece.axes
        literal = [k for k, axis in enumerate(axes) if len(axis) == 1 and axis[0].is_Integer]
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
            yield piece, index, place_in(index, axes, offsets, leaf)


def _walked(traced, output, of, piece, index, at, naming):
    """Yield a claim for each path, that is for each combination of signs of the compared numbers."""
    todo, tried, memory = [((), dict(traced.equal))], 0, {}
    entry = traced.leaves[of].at(traced.leaves[of].axes, at)
    while todo:
        given, sizes = todo.pop()
        tried += 1
        if tried > MAX_CASES:
            raise Refused(f"more than {MAX_CASES} combinations of signs of the compared numbers")
        still = Still(traced, frozenset(sizes.items()), naming)
        path = Path(of, entry, still, given, traced.known, sizes, memory)
        try:
            found = _claim(traced, output, of, piece, index, at, path)
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
    # only the derivative shows how a comparison within a sum depends on the entry
    left, _ = _derived(claim)
    if any(total.has(*TRUTHS) for total in left.atoms(Sum)):
        claim = replace(claim, left=path.settled(normal_form(left, Ranges(claim.ranges))))
    return replace(claim, words=path.words, compares=bool(path.signs))


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
    """Convert the index of a piece to an index of the whole array."""
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
    """Return the sum of incoming gradients times outputs, over the indices at which an output depends on the entry."""
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
            path.piece = piece.key
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
            path.rows, path.open, path.piece = {}, set(), None
    return Add(*terms)


def _places(e, entry, views):
    """Return {index: place} of the symbols that have one place in all entries that may be `entry`, {} if none."""
    own = [
        a
        for a in e.atoms(Indexed)
        if isinstance(entry, Indexed) and is_of(a, entry.base.name, views) and not apart(a, entry)
    ]
    if not own or any(a.base != entry.base for a in own):
        return {}
    return {
        i: k
        for k, i in enumerate(own[0].indices)
        if i.is_Symbol and all(a.indices[k] == i for a in own)
    }


# The proof of one equation


def equation(claim):
    """Return (left, right) of a claim, without comparisons of moving numbers."""
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
    """Replace each step without bound indices by a symbol on both sides: a proof for all integers holds for steps."""
    free = left.free_symbols | right.free_symbols
    names = {}

    def name(e):
        if isinstance(e, TRUTHS):
            return type(e)(names.setdefault(e.args[0], Symbol(f"#d{len(names)}", real=True)))
        return names.setdefault(e, Symbol(f"#k{len(names)}", integer=True))

    def walked(e):
        if isinstance(e, Step) and e.free_symbols <= free:
            return name(e)
        if not e.args or isinstance(e, Symbol) or not e.has(Step):
            return e
        if isinstance(e, Sum):
            return Sum(walked(e.function), *e.limits)
        if isinstance(e, Indexed):
            return Indexed(e.base, *map(walked, e.indices))
        return e.func(*map(walked, e.args))

    return walked(left), walked(right)


def _cleared(e, ranges):
    """Remove deltas of numbers that cannot be equal, such as an index past the last."""
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
        """Return whether the two sides of a delta are never equal: their difference is always below 0, or always above."""
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
    """Prove one claim, first with a name for parts linear in the entry, then without."""
    answer = _proved(claim, labels)
    if answer or not claim.lines:
        return answer
    names = {line: known for line, known, _ in claim.lines}
    return _proved(replace(claim.xreplace(names), lines=()), labels)


def _proved(claim, labels):
    """Prove a claim twice: for labels within their range, and for labels equal to the ignored label."""
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


# The conditions of a proof


def unsound(traced):
    """Return a message for each lookup that may lie outside its axis, unless forward makes the same lookup."""
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
