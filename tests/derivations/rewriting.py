"""Neighbours of equations: rewritings that are true for all values, and changes of one place that rarely are."""

from sympy import (
    Add,
    Dummy,
    Indexed,
    Integer,
    KroneckerDelta,
    Mul,
    Piecewise,
    Pow,
    Rational,
    Sum,
    Symbol,
    exp,
    expand_mul,
    factor_terms,
)

SPARE = Symbol("spare", positive=True)


def nodes(e, kinds):
    """The nodes of some kinds, outside of conditions, functions and indices, in a fixed order."""
    found = [e] if isinstance(e, kinds) else []
    if isinstance(e, (Add, Mul, exp)) or isinstance(e, Pow) and e.exp.is_Rational:
        found += [node for arg in e.args for node in nodes(arg, kinds)]
    if isinstance(e, Sum):
        found += nodes(e.function, kinds)
    return found


def replaced(e, node, new):
    """`e` with its first `node` replaced."""
    if e == node:
        return new
    if isinstance(e, Sum):
        return Sum(replaced(e.function, node, new), *e.limits)
    for place, arg in enumerate(e.args):
        if isinstance(e, (Add, Mul, Pow, exp)) and (arg == node or arg.has(node)):
            return e.func(*e.args[:place], replaced(arg, node, new), *e.args[place + 1 :])
    return e


def _put(e, v, new):
    """`e` with `new` for an index; a sum inside that uses the same letter keeps everything as it is."""
    shadowed = any(v in inner.variables for inner in e.atoms(Sum))
    return None if shadowed else e.xreplace({v: new})


def _rename(e, rng):
    (v, low, high), *outer = e.limits
    body = _put(e.function, v, new := Dummy("renamed", integer=True))
    return e if body is None else Sum(body, (new, low, high), *outer)


def _shift(e, rng):
    (v, low, high), *outer = e.limits
    step, new = rng.choice([-2, -1, 1, 3]), Dummy("shifted", integer=True)
    body = _put(e.function, v, new - step)
    return e if body is None else Sum(body, (new, low + step, high + step), *outer)


def _split(e, rng):
    share = Rational(rng.randint(1, 4), 5)
    return Sum(share * e.function, *e.limits) + (1 - share) * e


def _select(e, rng):
    (v, low, high), *outer = e.limits
    body = _put(e.function, v, new := Dummy("selected", integer=True))
    return (
        e
        if body is None
        else Sum(Sum(KroneckerDelta(new, v) * body, (new, low, high)), (v, low, high), *outer)
    )


def _scale(e, rng):
    return SPARE * Sum(e.function / SPARE, *e.limits)


def _exchange(e, rng):
    """The order of two sums whose limits do not depend on each other."""
    limits = list(e.limits)
    if len(limits) < 2 or any(
        limit[2].has(*e.variables) or limit[1].has(*e.variables) for limit in limits
    ):
        return e
    return Sum(e.function, *rng.sample(limits, len(limits)))


def _scale_terms(e, rng):
    return Add(*[SPARE * arg for arg in Add.make_args(e)]) / SPARE


def _by_a_whole(e, rng):
    return e * (1 + SPARE) - SPARE * e


def _distribute(e, rng):
    return expand_mul(e) if rng.random() < 0.5 else factor_terms(e)


def _as_a_mean(e, rng):
    return (e + SPARE * e) / (1 + SPARE)


TRUE_OF_SUMS = (_rename, _shift, _split, _select, _scale, _exchange)
TRUE_OF_ALL = (_by_a_whole, _scale_terms, _distribute, _as_a_mean)


def _by_one_of(rules, node, rng):
    """The node by the first of the rules, in any order, that changes it."""
    return next(
        (new for rule in rng.sample(rules, len(rules)) if (new := rule(node, rng)) != node), node
    )


def rewritten(rng, e):
    """An expression equal to `e` wherever both are defined, by up to three rules."""
    for _ in range(rng.randint(1, 3)):
        sums, others = nodes(e, Sum), nodes(e, (Add, Mul, Pow, Indexed, Sum))
        others = [node for node in others if node.is_commutative and not node.has(Piecewise)]
        if sums and rng.random() < 0.6:
            node = rng.choice(sums)
            e = replaced(e, node, _by_one_of(TRUE_OF_SUMS, node, rng))
        elif others:
            node = rng.choice(others)
            e = replaced(e, node, _by_one_of(TRUE_OF_ALL, node, rng))
    return e


def _other_limit(e, rng):
    limits = list(e.limits)
    place = rng.randrange(len(limits))
    v, low, high = limits[place]
    limits[place] = rng.choice([(v, low, high + 1), (v, low, high - 1), (v, low + 1, high)])
    return Sum(e.function, *limits)


def _other_entry(e, rng):
    place = rng.randrange(len(e.indices))
    index = e.indices[place] + rng.choice([-1, 1])
    return e.base[(*e.indices[:place], index, *e.indices[place + 1 :])]


def _one_less(e, rng):
    place = rng.randrange(len(e.args))
    return e.func(*e.args[:place], *e.args[place + 1 :])


def _other_delta(e, rng):
    return rng.choice([Integer(1), KroneckerDelta(e.args[0], e.args[1] + 1)])


def _other_number(e, rng):
    return rng.choice([2 * e, -e, e + 1, e + SPARE, e**2])


def changed(rng, e):
    """An expression that differs from `e` in one place, and is seldom equal."""
    node = rng.choice(nodes(e, (Add, Mul, Pow, Sum, Indexed, KroneckerDelta, Rational, exp)) or [e])
    rules = [_other_number]
    rules += [_other_limit] * 2 * isinstance(node, Sum) + [_other_entry] * 2 * isinstance(
        node, Indexed
    )
    rules += [_one_less] * 2 * isinstance(node, (Add, Mul)) + [_other_delta] * 2 * isinstance(
        node, KroneckerDelta
    )
    return replaced(e, node, rng.choice(rules)(node, rng))
