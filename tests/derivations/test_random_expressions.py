"""Random expressions against exact evaluation: never a false "equal", and most true identities proved."""

import random

import pytest
from exact import exact
from machine import SOAK
from sympy import Add, IndexedBase, Integer, KroneckerDelta, Mul, Rational, Sum, symbols

from derivations import proves_equal
from derivations.prover.normal_form import normal_form

n, m = symbols("n m", integer=True, positive=True)
q = symbols("q", integer=True, nonnegative=True)  # may be 0: an empty sum
i, j, k, l, p, r = symbols("i j k l p r", integer=True)
x, y, A = IndexedBase("x"), IndexedBase("y"), IndexedBase("A")
BOUND, FREE, SIZES = [i, j, k, l], [p, r], [n, m, q]
SHAPES = [dict(zip(SIZES, s)) for s in [(1, 2, 0), (3, 1, 2), (2, 3, 1), (4, 2, 3)]]
ROUNDS = 20_000 if SOAK else 120


def random_index(rng, scope):
    index = rng.choice(scope + FREE)
    return index + rng.choice([0, 0, 0, 1, -1]) if rng.random() < 0.3 else index


def random_expression(rng, depth, scope=()):
    scope = list(scope)
    kind = rng.choice(
        ["leaf", "leaf", "delta", "add", "mul", "sum", "sum", "sum", "power", "quotient"]
    )
    if depth == 0 or kind == "leaf":
        return rng.choice(
            [
                lambda: x[random_index(rng, scope)],
                lambda: y[random_index(rng, scope)],
                lambda: A[random_index(rng, scope), random_index(rng, scope)],
                lambda: rng.choice(SIZES),
                lambda: rng.choice(scope + FREE),
                lambda: Rational(rng.randint(-3, 3), rng.randint(1, 3)),
            ]
        )()
    if kind == "delta":
        return KroneckerDelta(
            random_index(rng, scope), random_index(rng, scope)
        ) * random_expression(rng, depth - 1, scope)
    if kind in ("add", "mul"):
        parts = [random_expression(rng, depth - 1, scope) for _ in range(2)]
        return Add(*parts) if kind == "add" else Mul(*parts)
    if kind == "power":
        return random_expression(rng, depth - 1, scope) ** 2
    if kind == "quotient":
        return random_expression(rng, depth - 1, scope) / (
            random_expression(rng, depth - 1, scope) ** 2 + 1
        )
    v, low = rng.choice(BOUND), rng.choice([0, 0, 0, 1, -1])  # names repeat on purpose
    size = rng.choice(SIZES + ([rng.choice(scope)] if scope and rng.random() < 0.05 else []))
    return Sum(random_expression(rng, depth - 1, scope + [v]), (v, low, size - 1 + low))


def rewritten(rng, e):
    """Return an expression equal to `e` for all sizes, by rules that hold for sums."""
    if isinstance(e, (Add, Mul)):
        return e.func(*[rewritten(rng, arg) for arg in e.args])
    if isinstance(e, Sum) and len(e.limits) == 1:
        (v, low, high), body = e.limits[0], rewritten(rng, e.function)
        kind = rng.choice(["rename", "shift", "split", "select", "factor"])
        new = symbols(f"{v.name}_new{rng.randint(0, 9)}", integer=True)
        if body.has(Sum):
            # renaming by replacement is safe only in bodies without sums
            return Sum(body, (v, low, high))
        if kind == "rename":
            return Sum(body.subs(v, new), (new, low, high))
        if kind == "shift":
            return Sum(body.subs(v, new - 2), (new, low + 2, high + 2))
        if kind == "split":
            return Sum(body * Rational(1, 3), (v, low, high)) + Rational(2, 3) * Sum(
                body, (v, low, high)
            )
        if kind == "select":
            return Sum(
                Sum(body.subs(v, new) * KroneckerDelta(new, v), (new, low, high)), (v, low, high)
            )
        return n * Sum(body / n, (v, low, high))
    return e


def changed(rng, e):
    """Return an expression that differs from `e` in one place, but may still be equal."""
    nodes = [
        node for node in e.atoms(Sum, KroneckerDelta, Rational) | {a for a in e.atoms(Add, Mul)}
    ]
    if not nodes:
        return e + 1
    node = rng.choice(sorted(nodes, key=str))
    if isinstance(node, Sum):
        v, low, high = node.limits[0]
        other = rng.choice(
            [(v, low, high + 1), (v, low, rng.choice(SIZES) - 1 + low), (v, low + 1, high + 1)]
        )
        new = Sum(node.function, other, *node.limits[1:])
    elif isinstance(node, KroneckerDelta):
        new = rng.choice([Integer(1), KroneckerDelta(node.args[0], node.args[1] + 1)])
    else:
        new = rng.choice([node + 1, -node, 2 * node, node**2])
    return e.xreplace({node: new})


def points(rng):
    for sizes in SHAPES:
        table = {}
        arrays = {
            name: (
                lambda *ix, name=name: table.setdefault((name, ix), rng.choice([-2, -1, 1, 2, 3]))
            )
            for name in "xyA"
        }
        yield {**sizes, p: rng.randint(0, 3), r: rng.randint(0, 2)}, arrays


def agree(a, b, rng):
    """Return whether `a` and `b` are equal at every point where both are defined."""
    for values, arrays in points(rng):
        try:
            left, right = exact(a, values, arrays), exact(b, values, arrays)
        except (ZeroDivisionError, AssertionError):
            continue
        if left != right:
            return False
    return True


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sampled(1)
def test_nothing_unequal_is_proved(seed):
    rng = random.Random(seed)
    proved = 0
    for _ in range(ROUNDS // 3):
        a = random_expression(rng, 3)
        b = rng.choice([changed, rewritten])(rng, a)
        equal = proves_equal(a, b)
        proved += equal
        assert not equal or agree(a, b, rng), (a, b)
    assert proved > ROUNDS // 12


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.sampled(1)
def test_normal_form_keeps_the_value(seed):
    rng = random.Random(100 + seed)
    for _ in range(ROUNDS // 3):
        e = random_expression(rng, 3)
        assert agree(e, normal_form(e), rng), e


def test_ranges_granted_are_used_and_not_exceeded():
    rng = random.Random(7)
    for _ in range(ROUNDS // 4):
        body, index = random_expression(rng, 2, [i]), rng.choice([p, r])
        size, granted = rng.choice(SIZES), rng.choice(SIZES)
        if body.has(Sum):
            continue  # replacement is safe only in bodies without sums
        a, b = Sum(body * KroneckerDelta(i, index), (i, 0, size - 1)), body.subs(i, index)
        if not proves_equal(a, b, in_range={index: (0, granted - 1)}):
            continue
        for values, arrays in points(rng):
            for value in range(values[granted]):
                values[index] = value
                assert exact(a, values, arrays) == exact(b, values, arrays), (a, b, granted)


def test_most_true_identities_are_proved():
    rng = random.Random(11)
    pairs = [
        (e, rewritten(rng, e)) for e in (random_expression(rng, 3) for _ in range(ROUNDS // 2))
    ]
    pairs = [(a, b) for a, b in pairs if a != b]
    share = sum(proves_equal(a, b) for a, b in pairs) / len(pairs)
    assert share > 0.9, share


def test_the_judge_tells_unequal_expressions_apart():
    rng = random.Random(13)
    assert not agree(Sum(x[i], (i, 0, n - 1)), Sum(x[i], (i, 0, m - 1)), rng)
    assert not agree(Sum(x[i], (i, 0, n - 1)) ** 2, Sum(x[i] ** 2, (i, 0, n - 1)), rng)
