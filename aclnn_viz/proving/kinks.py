"""Find the value of a backward pass exactly at a kink, about which the proved equations, valid beside it, say nothing."""

from itertools import chain, combinations_with_replacement

from sympy import S, cancel, expand

from aclnn_viz.proving.paths import BY_VALUE, Impossible, OneOrMore, Path, Still
from aclnn_viz.proving.steps import TRUTHS, plain
from aclnn_viz.proving.theorems import entries, loss_of

# Most regions of a theorem whose kinks are searched: for the samplers, which have more, the search
# would take minutes.
REGIONS = 6
TRIED = 2  # further regions in which a kink is searched
LARGE_EXPRESSION = 60  # operations of the largest expression that is divided
TRUTHS_TRIED = 5  # most truth symbols in a value at a kink, each tried as 0 and as 1


def kinks(traced, output, of):
    """Return (compared number, side): at 0 the output equals that "above" or "below"; any other side is its formula."""
    return sorted(
        {
            str(d): "above" if zero == above else "below" if zero == below else str(zero)[:80]
            for found, *_ in turns(traced, output, of)
            for d, zero, above, below in found
        }.items()
    )


def turns(traced, output, of):
    """Yield for each place of the output (changes, regions, entry).

    A change is (number, output at 0, above, below) of a moving compared number, if these three outputs differ. A region is
    (output, the numbers above 0 there).
    """
    leaf, made = traced.leaves[of], traced.backward[output]
    for piece, index, at in entries(made, leaf):
        entry, todo, tries, found, regions = leaf.at(leaf.axes, at), [()], {}, [], []
        while todo:
            given = todo.pop()
            right, path = _right(traced, of, entry, piece, index, given)
            if path is None:
                continue
            todo += [g for g, _ in path.others]
            regions.append((right, path.signs))
            for k, d in enumerate(path.signs):
                turned = plain(path.taken[k] * d)
                if tries.setdefault(turned, 0) > TRIED:
                    continue
                tries[turned] += 1
                zero, above, below = (
                    _right(traced, of, entry, piece, index, (*path.taken[:k], s))[0]
                    for s in (0, 1, -1)
                )
                if None in (above, below):  # the kink lies elsewhere
                    continue
                tries[turned] = TRIED + 1
                if not zero == above == below:
                    found.append((turned, zero, above, below))
        yield found, regions, entry


def beside(traced, of, d, zero, above, below, regions, entry):
    """Return whether the output at d = 0 equals that of a region that borders on d = 0, or lies between those of two.

    None if the entry there is unknown, or if forward itself compares and the regions agree: then its value there is a
    convention.
    """
    d = expand(d)
    slope, rest = d.coeff(entry), d.coeff(entry, 0)
    if zero is None or zero.has(S.NaN, S.ComplexInfinity) or zero in (above, below):
        return True
    if slope == 0 or slope.has(entry) or expand(slope * entry + rest - d) != 0:
        return None
    at = {entry: -rest / slope}
    meeting = [
        value
        for value, signs in regions
        if not any(plain(e.xreplace(at)).is_negative for e in signs)
    ]
    here = [_each_way(e.xreplace(at)) for e in (zero, *meeting)]
    if None in here:
        return None
    zeros, others = here[0], list(dict.fromkeys(chain(*here[1:])))
    answers = [
        {_between(z, a, b) for a, b in combinations_with_replacement(others, 2)} for z in zeros
    ]
    if all(True in found for found in answers):
        return True
    if all({True, None} & found for found in answers):
        return None
    return None if len(others) == 1 and _is_compared(traced, of, d, entry) else False


def _is_compared(traced, of, d, entry):
    """Return whether the forward page itself compares d, or -d, with 0."""
    todo = [()]
    while todo:
        path = _path(traced, of, entry, todo.pop())
        try:
            with traced.xp.seen_by(path):
                loss_of(traced, of, entry, path)
        except (Impossible, OneOrMore):
            continue
        if any(expand(own - d) == 0 or expand(own + d) == 0 for own in path.signs):
            return True
        todo += [given for given, _ in path.others]
    return False


def _each_way(e):
    """Return the expression for each combination of values, 0 or 1, of the indicators in it; None for too many."""
    found = [plain(e)]
    for _ in range(TRUTHS_TRIED):
        if not any(one.has(*TRUTHS) for one in found):
            return found
        found = [
            plain(new)
            for one in found
            for truth in sorted(one.atoms(*TRUTHS), key=str)[:1] or [one]
            for new in (
                (one,)
                if truth is one
                else (one.xreplace({truth: S.One}), one.xreplace({truth: S.Zero}))
            )
        ]
    return None


def _between(z, a, b):
    """Return whether z lies between a and b, None if that depends on unknown numbers."""
    part, span = plain(z - a), plain(b - a)
    if span != 0 and part.count_ops() + span.count_ops() > LARGE_EXPRESSION:
        return True if part in (0, span) else None
    share = S.Zero if part == 0 else cancel(part / span) if span != 0 else S.Infinity
    return bool(0 <= share <= 1) if share.is_Rational or share == S.Infinity else None


def _path(traced, of, entry, given):
    still = Still(traced, frozenset(traced.equal.items()), BY_VALUE)
    return Path(of, entry, still, given, traced.known, dict(traced.equal))


def _right(traced, of, entry, piece, index, given):
    path = _path(traced, of, entry, given)
    path.loose = True
    try:
        with traced.xp.seen_by(path):
            return path.settled(piece.at(piece.axes, tuple(index))), path
    except (Impossible, OneOrMore):
        return None, None
