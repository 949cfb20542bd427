"""Random neighbours of all theorems: what is false is never proved, what is true nearly always, and soon."""

import random
from collections import Counter
from dataclasses import replace
from itertools import islice
from time import process_time

import pytest
from machine import SOAK
from numeric import SIZES, difference
from rewriting import TRUE_OF_ALL, TRUE_OF_SUMS, changed, nodes, replaced, rewritten
from sympy import Add, Mul, Sum

from derivations import proves_equal, theorems

ALL = list(theorems())
RUNS = 20
TRIED = 20 if SOAK else 6
COUNT = 10_000 // RUNS if SOAK else 3
FALSE, SLOW = 1e-6, 10.0  # relative difference; seconds of one core


def neighbours(seed, change):
    """Endless (equation, the same with one side replaced) of random theorems."""
    rng = random.Random(seed)
    while True:
        e = rng.choice(rng.choice(ALL).equations())
        side = rng.choice(["left", "right"])
        new = change(rng, getattr(e, side))
        if new != getattr(e, side):
            yield e, replace(e, **{side: new})


def differs(e, points=6):
    """Whether some drawn point shows that an equation is false; None where it has no value to draw."""
    try:
        return any(difference(e, seed, sizes=SIZES[seed % 2]) > FALSE for seed in range(points))
    except (ZeroDivisionError, IndexError, StopIteration, KeyError, TypeError):
        return None


def timed(e):
    """The prover's answer, and what it took: seconds of one core."""
    start = process_time()
    return proves_equal(e.left, e.right, in_range=e.in_range), process_time() - start


@pytest.mark.parametrize("seed", range(RUNS if SOAK else 3))
@pytest.mark.sampled(1)
def test_no_false_neighbour_is_proved(seed, record_property):
    seen, slowest = Counter(), 0.0
    for _, e in neighbours(seed, changed):
        false = differs(e)
        seen[false] += 1
        if false:
            answer, seconds = timed(e)
            slowest = max(slowest, seconds)
            assert not answer, e
        if seen[True] == COUNT:
            break
    assert seen[True] > seen[False] and slowest < SLOW
    for name, value in {"false neighbours": seen[True], "proved": 0, "slowest, s": slowest}.items():
        record_property(name, value)


@pytest.mark.parametrize("seed", range(RUNS if SOAK else 3))
@pytest.mark.sampled(1)
def test_true_rewritings_are_proved(seed, record_property):
    missed, slowest = [], 0.0
    for number, (e, other) in enumerate(neighbours(100 + seed, rewritten)):
        if number == COUNT:
            break
        answer, seconds = timed(other)
        slowest = max(slowest, seconds)
        if not answer:
            missed.append((other, answer.reason))
            assert not differs(other, 2), other  # the rule that wrote it is true
    for name, value in {
        "rewritings": COUNT,
        "not proved": len(missed),
        "slowest, s": slowest,
    }.items():
        record_property(name, value)
    assert slowest < SLOW and len(missed) <= COUNT / 200, missed[:3]


@pytest.mark.parametrize("rule", TRUE_OF_SUMS + TRUE_OF_ALL, ids=lambda rule: rule.__name__)
@pytest.mark.sampled(2)
def test_each_true_rule_changes_what_it_is_applied_to_and_no_number(rule):
    rng, kinds = random.Random(3), Sum if rule in TRUE_OF_SUMS else (Add, Mul)
    written = (
        (e, node, rule(node, rng))
        for t in ALL
        for e in t.equations()
        for node in nodes(e.left, kinds)[:1]
    )
    found = list(islice(((e, node, new) for e, node, new in written if new != node), 3))
    assert len(found) == 3
    for e, node, new in found:
        assert differs(replace(e, right=replaced(e.left, node, new)), 1) is False


def test_a_false_rewriting_would_be_noticed():
    found = [differs(e, 2) for _, (_, e) in zip(range(TRIED), neighbours(7, changed))]
    true = [differs(e, 2) for _, (_, e) in zip(range(TRIED), neighbours(8, rewritten))]
    assert sum(map(bool, found)) > 0.6 * TRIED and not any(true)
