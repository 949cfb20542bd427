"""Canonical sums: indices without a common factor get separate sums, and bound indices get names by position."""

from functools import lru_cache
from itertools import permutations, product
from math import prod

from sympy import Add, Dummy, Integer, Mul, Pow, S, Sum, default_sort_key, exp, factor, log

from derivations.prover.expressions import CANONICAL, NotUnderstood, freshen, insert
from derivations.prover.ranges import is_nonnegative

MAX_UNROLLED = 16  # most terms of a sum with numeric limits that is written out
MAX_ORDERED = 4  # most indices of one product whose orders are all tried


def closed(factors, bounds, normalise):
    """Return the sum of the product of `factors` over the indices of `bounds`, {index: last}, each from 0, as canonical sums.

    `normalise` is applied to sums that are written out.
    """
    factors = [part for f in factors for part in exponential_parts(f)]
    factors, bounds = _counted(factors, bounds)
    groups = _connected(factors, bounds)
    inside = [[f for f in factors if _indices(f, bounds) & group] for group in groups]
    outside = [f for f in factors if not _indices(f, bounds)]
    sums = [
        _sum(Mul(*fs), {v: bounds[v] for v in bounds if v in group}, normalise)
        for group, fs in zip(groups, inside)
    ]
    return Mul(*outside, *sums)


def common_monomial(e):
    """Return the product over all bases of the lowest integer power among the terms of `e`; a term without the base has power 0."""
    powers = [
        {
            f.as_base_exp()[0]: f.as_base_exp()[1]
            for f in Mul.make_args(term)
            if f.as_base_exp()[1].is_Integer and not f.is_Rational
        }
        for term in Add.make_args(e)
    ]
    bases = {base for term in powers for base in term}
    return Mul(*[base ** min(term.get(base, 0) for term in powers) for base in bases])


def positive_factor(e):
    """Return (factor, rest) with e = factor * rest; the factor is a positive polynomial of one symbol, so roots split by it.

    >>> from sympy import symbols
    >>> a, b, c = symbols("a b c", positive=True)
    >>> positive_factor(a * b + a * c + b + c)
    (a + 1, b + c)
    """
    for s in sorted((s for s in e.free_symbols if s.is_positive), key=default_sort_key):
        by_power = {}
        for term in Add.make_args(e):
            coefficient, power = term.as_independent(s, as_Add=False)
            by_power[power] = by_power.get(power, 0) + coefficient
        # power -> (positive number, rest)
        parts = {power: total.primitive() for power, total in by_power.items()}
        rests = {rest for _, rest in parts.values()}
        if len(rests) == 1 < len(parts) and all(power.is_positive for power in parts):
            return factor(
                Add(*[content * power for power, (content, _) in parts.items()])
            ), rests.pop()
    return S.One, e


def exponential_parts(f):
    """Return the factors of `f`, with exp(a + b) as exp(a), exp(b): each may leave the sums whose indices it lacks."""
    return tuple(map(exp, Add.make_args(f.args[0]))) if isinstance(f, exp) else Mul.make_args(f)


def is_total(e):
    """Return True if `e` is defined for all values of its symbols: no division, root or logarithm at a possible 0."""
    if (
        isinstance(e, Pow)
        and not (e.exp.is_Rational and e.exp.is_positive)
        and e.base.is_zero is not False
    ):
        return e.base.is_positive is True or e.base is S.Exp1
    if isinstance(e, log) and e.args[0].is_zero is not False:
        return False
    return all(is_total(arg) for arg in e.args)


def _counted(factors, bounds):
    """Replace sums over an index that occurs nowhere by their length."""
    factors, bounds = list(factors), dict(bounds)
    for v, last in list(bounds.items()):
        others = [*factors, *[other for w, other in bounds.items() if w != v]]
        if any(f.has(v) for f in others) or not is_nonnegative(last + 1):
            continue
        if is_nonnegative(last) or all(map(is_total, factors)):
            factors.append(last + 1)
            del bounds[v]
    return factors, bounds


def _indices(f, bounds):
    """Return the indices whose sums `f` must not leave.

    An empty sum is 0 even if a factor inside it is undefined, so such a factor stays in every sum that may be empty.
    """
    indices = {v for v in bounds if f.has(v)}
    if not indices and not is_total(f):
        indices = {v for v, last in bounds.items() if not is_nonnegative(last)}
    return indices


def _connected(factors, bounds):
    groups = []
    by_factors = [_indices(f, bounds) for f in factors]
    by_limits = [{v} | {w for w in bounds if bounds[v].has(w)} for v in bounds]
    for link in by_factors + by_limits:
        if link:
            touched = [group for group in groups if group & link]
            groups = [group for group in groups if not group & link] + [link.union(*touched)]
    return groups


def _sum(body, bounds, normalise):
    numeric = {v: last for v, last in bounds.items() if last.is_Rational}
    if any(not last.is_Integer or last < -1 for last in numeric.values()):
        raise NotUnderstood(f"a sum that runs downwards or to a fraction: {bounds}")
    if numeric and prod(int(last) + 1 for last in numeric.values()) <= MAX_UNROLLED:
        limits = [(v, 0, last) for v, last in bounds.items() if v not in numeric]
        return _written_out(body, limits, list(numeric.items()), normalise)
    return _named(body, tuple(bounds.items()))


@lru_cache(maxsize=4096)
def _named(body, limits):
    """Return the sum over (index, last), each from 0, with canonical indices in canonical order."""
    bounds = dict(limits)
    # canonical indices already in use, free or bound
    taken = [s.dummy_index - CANONICAL for e in (body, *bounds.values()) for s in e.atoms(Dummy)]
    level = 1 + max([k for k in taken if 0 <= k < CANONICAL], default=-1)
    names = [
        Dummy(f"b{level + k}", dummy_index=CANONICAL + level + k, integer=True)
        for k in range(len(bounds))
    ]
    candidates = []
    for order in _orders(body, bounds):
        rename = dict(zip(order, names))
        limits = [(rename[v], S.Zero, bounds[v].xreplace(rename)) for v in order]
        candidates.append(Sum(body.xreplace(rename), *limits))
    return candidates[0] if len(candidates) == 1 else min(candidates, key=default_sort_key)


def _written_out(body, limits, numeric, normalise):
    if not numeric:
        return normalise(freshen(Sum(body, *limits))) if limits else normalise(body)
    (v, last), *rest = numeric
    return Add(
        *[
            _written_out(
                insert(body, {v: Integer(k)}),
                [(w, low, high.xreplace({v: Integer(k)})) for w, low, high in limits],
                rest,
                normalise,
            )
            for k in range(int(last) + 1)
        ]
    )


def _orders(body, bounds):
    """Yield orders of the indices, innermost first: by limits, and every order of indices with the same limits.

    If a limit depends on an index, all orders are tried in which each limit depends only on outer indices.
    """
    indices = list(bounds)
    if any(last.has(*indices) for last in bounds.values()):
        if len(indices) > MAX_ORDERED:
            raise NotUnderstood("too many sums with limits that depend on each other")
        return [
            order
            for order in permutations(indices)
            if not any(bounds[order[k]].has(*order[: k + 1]) for k in range(len(order)))
        ]
    groups = {}
    for v in indices:
        groups.setdefault(bounds[v], []).append(v)
    alike = [_alternatives(body, groups[last]) for last in sorted(groups, key=default_sort_key)]
    return [sum(choice, ()) for choice in product(*alike)]


def _alternatives(body, indices):
    if len(indices) <= MAX_ORDERED:
        return list(permutations(indices))
    marker, other = (Dummy("mark", dummy_index=CANONICAL - k, integer=True) for k in (1, 2))
    # too many orders to try: sort each index by its place among indices without names
    alike = {v: other for v in indices}
    return [
        tuple(sorted(indices, key=lambda v: default_sort_key(body.xreplace({**alike, v: marker}))))
    ]
