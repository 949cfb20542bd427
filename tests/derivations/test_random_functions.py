"""Random expressions with exponentials, roots and quotients: their normal form has the same value in numbers."""

import random

import pytest
from machine import SOAK
from numeric import SIZES, difference
from sympy import Add, Integer, Mul, Pow, Rational, Sum, exp, expand, symbols
from sympy import IndexedBase as Array

from derivations.prover import normal_form as page
from derivations.prover.normal_form import normal_form
from derivations.prover.theorem import Equation

n = symbols("n", integer=True, positive=True)
INDICES = symbols("i j k", integer=True)
POSITIVE, REAL = symbols("a b s", positive=True), symbols("v w", real=True)
x, y = Array("x", real=True), Array("y", positive=True)
HALVES = [Rational(1, 2), -Rational(1, 2), -Rational(3, 2)]
CLOSE = 1e-18  # 30 digits, of which sums of terms of both signs cost some
COUNT = 4000 if SOAK else 40


def summed(rng, kind, depth, scope):
    index = rng.choice(INDICES)
    return Sum(kind(rng, depth, {*scope, index}), (index, 0, n - 1))


def exponential(rng, scope):
    symbol = rng.choice([*REAL, *[x[index] for index in sorted(scope, key=str)]])
    other = rng.choice([*POSITIVE, *REAL, Integer(0)])
    return exp(
        rng.choice([-2, -1, 1, Rational(1, 2)]) * symbol * rng.choice([1, *POSITIVE]) + other
    )


def positive(rng, depth, scope):
    kind = rng.choice(["leaf", "add", "mul", "exp", "square", "sum", "factor"])
    if depth <= 0 or kind == "leaf":
        return rng.choice([*POSITIVE, Integer(2), *[y[index] for index in sorted(scope, key=str)]])
    if kind in ("add", "mul"):
        return (Add if kind == "add" else Mul)(*[positive(rng, depth - 1, scope) for _ in range(2)])
    if kind == "exp":
        return exponential(rng, scope)
    if kind == "square":
        return real(rng, depth - 1, scope) ** 2 + rng.choice([1, *POSITIVE])
    if kind == "factor":
        return expand(positive(rng, depth - 1, scope) * (1 + rng.choice(POSITIVE)))
    return summed(rng, positive, depth - 1, scope)


def real(rng, depth, scope=frozenset()):
    kind = rng.choice(["leaf", "add", "mul", "quotient", "share", "root", "sum"])
    if depth <= 0 or kind == "leaf":
        entries = [array[index] for array in (x, y) for index in sorted(scope, key=str)]
        return rng.choice(
            [*POSITIVE, *REAL, Rational(rng.randint(1, 5), rng.randint(1, 4)), *entries]
        )
    if kind in ("add", "mul"):
        return (Add if kind == "add" else Mul)(*[real(rng, depth - 1, scope) for _ in range(2)])
    if kind == "quotient":
        return real(rng, depth - 1, scope) / positive(rng, depth - 1, scope) ** rng.choice([1, 2])
    if kind == "share":  # a factor in the derivative of a sigmoid
        e = exponential(rng, scope)
        return (
            real(rng, depth - 2, scope) * e / (e + positive(rng, 0, scope)) ** rng.choice([1, 2, 3])
        )
    if kind == "root":
        return real(rng, depth - 2, scope) * Pow(
            positive(rng, depth - 1, scope), rng.choice(HALVES)
        )
    return summed(rng, real, depth - 1, scope)


def wrong(seed, count=COUNT):
    """Return random expressions whose normal form has another value."""
    found, rng = [], random.Random(seed)
    for _ in range(count):
        e = real(rng, 4)
        if any(
            difference(Equation(e, normal_form(e)), point, sizes=SIZES[point]) > CLOSE
            for point in range(2)
        ):
            found.append(e)
    return found


@pytest.mark.parametrize("seed", range(5 if SOAK else 1))
def test_the_normal_form_has_the_same_value(seed, record_property):
    assert wrong(seed) == []
    record_property("expressions", COUNT)


@pytest.fixture
def forgetful():
    """Isolate the caches from other tests, in both directions."""
    for step in ("before", "after"):
        for cached in (page.normal_form, page._divided):
            cached.cache_clear()
        if step == "before":
            yield


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("_leading", lambda total: (total.args[0], total.args[0] - total)),
        ("positive_factor", lambda e: (e.args[0], e - e.args[0])),
    ],
)
def test_a_wrong_rule_is_noticed(name, broken, monkeypatch, forgetful):
    monkeypatch.setattr(page, name, broken)
    assert wrong(0, 20)
