"""From two passes over symbolic inputs to equations: each output of backward is the derivative of forward."""

from dataclasses import dataclass, replace
from itertools import product

from sympy import Add, Dummy, Expr, Indexed, Integer, KroneckerDelta, Mul, S, Sum, Symbol, expand

from aclnn_viz.arrays.symbolic import TRUTHS, Above, AtLeast, Magnitude, Pieces, Refused, Step, flat, plain, same_length
from derivations.expressions import substitute
from derivations.gradient import gradient
from derivations.normal_form import normal_form
from derivations.proving import proves_equal
from derivations.ranges import Ranges, is_nonnegative

MAX_CASES = 400  # of the signs of compared numbers, in one equation


@dataclass(frozen=True)
class Claim:
    """At `index`: the derivative of the `loss` by the entries in `leaves` is `right`; `ranges` are those of its indices."""

    output: str
    leaves: tuple
    loss: Expr
    right: Expr
    ranges: dict
    signs: tuple = ()

    def xreplace(self, mapping, sign=()):
        def new(e):
            return e.xreplace(mapping)
        return replace(self, loss=new(self.loss), right=new(self.right), signs=(*self.signs, *sign), leaves=tuple(map(new, self.leaves)),
                       ranges={new(i): tuple(map(new, map(S, ends))) for i, ends in self.ranges.items()})


def claims(traced, output, of, abstract):
    """The claims about one output: one for each place of an axis whose length is a number, and for each joined piece."""
    leaf, made = traced.leaves[of], traced.backward[output]
    for offsets, piece in _pieces(made):
        axes = piece.axes
        literal = [k for k, axis in enumerate(axes) if len(axis) == 1 and axis[0].is_Integer]
        if piece is made and (len(axes) != leaf.ndim or not all(map(same_length, axes, leaf.axes))):
            raise Refused(f"{output} has the shape {_shape(axes)}, {of} the shape {_shape(leaf.axes)}")
        for places in product(*(range(int(axes[k][0])) for k in literal)):
            index = [tuple(Symbol(f"i{k}" if len(axis) == 1 else f"i{k}_{m}", integer=True) for m in range(len(axis)))
                     for k, axis in enumerate(axes)]
            for k, place in zip(literal, places):
                index[k] = (Integer(place),)
            ranges = {i: (S.Zero, n - 1) for axis, own in zip(index, axes) for i, n in zip(axis, own) if not i.is_Integer}
            component = (literal[0], Integer(places[0])) if len(literal) == 1 else None
            with traced.xp.only(of if abstract else None, component, tuple(traced.subject.upstream)):
                right = piece.at(axes, tuple(index))
                at = [(flat(i, axis) + offset,) if leaf.axes[k] else () for k, (i, axis, offset) in enumerate(zip(index, axes, offsets))]
                entry = leaf.at(leaf.axes, tuple(at))
                loss, used = _loss(traced, of, entry)
            views = _views(traced.xp, of, [i for axis in at for i in axis])
            claim = Claim(output, (entry, *views), loss, right, ranges | used)
            yield claim.xreplace(traced.known).xreplace(traced.equal) if traced.known else claim


def _shape(axes):
    return "(" + ", ".join(str(Mul(*axis)) for axis in axes) + ")"


def _pieces(made):
    if not isinstance(made, Pieces):
        yield [S.Zero] * made.ndim, made
        return
    before = S.Zero
    for piece in made.arrays:
        yield [before if k == made.axis else S.Zero for k in range(piece.ndim)], piece
        before += Mul(*piece.axes[made.axis])


def _views(xp, of, at):
    for view, (name, places, lengths) in xp.views.items():
        if name == of:
            rest = [i for k, i in enumerate(at) if k not in places]
            yield xp.named(view, [*rest, expand(flat([at[k] for k in places], lengths))], "real")


def _loss(traced, of, entry):
    """The sum of gradients times outputs, without the indices at which nothing depends on the entry; and ranges of chosen places."""
    terms = []
    for d, y in traced.subject.upstream.items():
        made, up = traced.forward[y], traced.leaves[d]
        for offsets, piece in _pieces(made):
            if piece is made and (piece.ndim != up.ndim or not all(map(same_length, piece.axes, up.axes))):
                raise Refused(f"{d} has the shape {_shape(up.axes)}, {y} the shape {_shape(piece.axes)}")
            index = tuple(tuple(Dummy(f"q{k}", integer=True) for _ in axis) for k, axis in enumerate(piece.axes))
            at = tuple((flat(i, axis) + offset,) if up.axes[k] else () for k, (i, axis, offset) in enumerate(zip(index, piece.axes, offsets)))
            e = piece.at(piece.axes, index)
            term = up.at(up.axes, at) * e
            limits = [(q, S.Zero, n - 1) for i, axis in zip(index, piece.axes) for q, n in zip(i, axis)]
            own = [a for a in e.atoms(Indexed) if str(a.base) == of or traced.xp.views.get(str(a.base), ("",))[0] == of]
            for q, low, high in list(limits):  # an index that is also that of every entry: nothing else depends on the entry
                at = next((k for k in range(len(getattr(entry, "indices", ()))) if all(
                    str(a.base) == of and a.indices[k] == q for a in own)), None)
                if own and at is not None:
                    term = substitute(term, {q: entry.indices[at]})
                    own = [substitute(a, {q: entry.indices[at]}) for a in own]
                    limits.remove((q, low, high))
            terms.append(Sum(term, *limits) if limits else term)
    return Add(*terms), dict(traced.xp.granted)


# Cases: off the places where compared numbers meet, every comparison stays as it is when an entry changes a little.

def cases(claim, found=()):
    """Yield the claim for each way in which the numbers that depend on the entry compare, as far as both are compared."""
    d = _undecided(claim)
    if d is None:
        yield claim
        return
    entry = claim.leaves[0]
    slope = gradient(d, entry)
    if not slope.is_nonzero:
        for n in sorted((s for s in slope.free_symbols if s.is_integer and s.is_positive), key=str):
            if expand(slope.subs(n, 1)) == 0 and n not in claim.leaves:
                for value in (S.One, Symbol(n.name, integer=True, positive=True, odd=None) + 1):
                    longer = value if value == 1 else Symbol(f"{n.name}'", integer=True, positive=True) + 1
                    yield from cases(claim.xreplace({n: longer}, ((f"{n} = 1" if value == 1 else f"{n} > 1"),)), found)
                return
    if len(found) > 40:
        raise Refused("too many comparisons")
    for side in (1, -1):
        if not any(_contradict(d * side, other) for other in found):
            yield from cases(claim.xreplace(decided(d, side), (side * d,)), (*found, d * side))


def decided(d, side):
    """What comparisons of d with 0 come to, and its size, when it lies on that side of 0."""
    opposite = plain(-d)
    return {Above(d): Integer(side > 0), AtLeast(d): Integer(side >= 0), Above(opposite): Integer(side < 0),
            AtLeast(opposite): Integer(side <= 0), Magnitude(d): side * d}


def _undecided(claim):
    """A compared number that moves with the entry, and in which nothing is compared; None where there is none."""
    entry, free = claim.leaves[0], claim.loss.free_symbols | claim.right.free_symbols
    found = set()
    for e in (claim.loss, claim.right):
        for atom in e.atoms(*TRUTHS, Magnitude):
            d = atom.args[0]
            if d.has(entry) and not d.has(*TRUTHS, Magnitude) and d.free_symbols <= free and _moves(d, entry):
                found.add(min(d, plain(-d), key=lambda e: e.sort_key()))
    return min(found, key=lambda e: (e.count_ops(), e.sort_key()), default=None)


def _moves(d, entry):
    """Whether d takes every value only at single places of the entry, or nowhere: it has no steps, or a steady slope."""
    slope = gradient(d, entry)
    if slope == 0:
        return False
    return not any(s.has(entry) for s in d.atoms(Step, KroneckerDelta)) or not slope.has(entry)


def _contradict(a, b):
    """a > 0 and b > 0 cannot both be: a positive multiple of one and the other add up to a number that is not positive."""
    total = expand(a + b)
    for factor in {(a - expand(a + b)).as_coeff_Mul()[0], S.One} | {S(2), S.Half}:
        total = expand(a + factor * b) if factor.is_positive else None
        if total is not None and not total.atoms(Indexed) and (total.is_nonpositive or is_nonnegative(-total)):
            return True
    return False


# One equation.

def equation(claim):
    """(left, right) of a claim in which nothing that moves is compared any more."""
    loss = claim.loss.replace(lambda e: isinstance(e, Magnitude), lambda e: e.args[0] * (Above(e.args[0]) - Above(-e.args[0])))
    left = Add(*(gradient(loss, leaf) for leaf in claim.leaves))
    return _named(_cleared(left, claim.ranges), _cleared(claim.right, claim.ranges), claim.ranges)


def _named(left, right, ranges):
    """Both sides with each step that has no bound index as one symbol: what holds for any integers holds for these."""
    free = left.free_symbols | right.free_symbols
    names = {}

    def named(e):
        if isinstance(e, TRUTHS):
            return type(e)(names.setdefault(e.args[0], Dummy("d", real=True)))
        return names.setdefault(e, Dummy("k", integer=True))

    def walked(e):
        if isinstance(e, Step) and e.free_symbols <= free:
            return named(e)
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
    def never(delta):
        difference = expand(delta.args[0] - delta.args[1])
        if difference.atoms(Indexed, Step) or not difference.free_symbols & set(ranges):
            return False
        from_last = {i: last - Dummy(i.name, integer=True, nonnegative=True) for i, (_, last) in ranges.items() if isinstance(i, Symbol)}
        rising = {i: Dummy(i.name, integer=True, nonnegative=True) for i in from_last}
        return any(is_nonnegative(expand((side * difference).xreplace(way)) - 1) for side in (1, -1) for way in (from_last, rising))
    gone = {delta: S.Zero for delta in e.atoms(KroneckerDelta) if never(delta)}
    return e.xreplace(gone) if gone else e


def proved(claim, labels):
    """The Answer about one claim in one case; entries of labels lie in their range, or are the number that is passed over."""
    left, right = equation(claim)
    if labels:
        left, right = normal_form(left - right, Ranges(claim.ranges)), S.Zero
    for entry in {a for a in left.atoms(Indexed) if str(a.base) in labels and all(i in claim.ranges for i in a.indices)}:
        length, beside = labels[str(entry.base)]
        label = Symbol(f"label{entry.indices}", integer=True)
        if beside is not None:
            answer = proves_equal(left.xreplace({entry: beside}), 0, in_range=claim.ranges)
            if not answer:
                return answer
        claim = replace(claim, ranges=claim.ranges | {label: (S.Zero, length - 1)})
        apart = () if beside is None else (KroneckerDelta(label, beside), KroneckerDelta(beside, label))
        left = normal_form(left.xreplace({entry: label}), Ranges(claim.ranges)).xreplace(dict.fromkeys(apart, S.Zero))
    return proves_equal(left, right, in_range=claim.ranges)
