"""Grants of `in_range` for an index, and their limits."""

import pytest
from sympy import IndexedBase, KroneckerDelta, Sum, Symbol, oo, symbols

from derivations import proves_equal

n, m = symbols("n m", integer=True, positive=True)
i, j, p, r = symbols("i j p r", integer=True)
c, x, t, delta = Symbol("c"), IndexedBase("x"), IndexedBase("t", integer=True), KroneckerDelta
ROW = {p: (0, n - 1)}


def over(e, index, size=n):
    return Sum(e, (index, 0, size - 1))


def test_a_granted_index_is_an_integer_limit():
    left, right = Sum(x[i], (i, 0, c)), Sum(x[j], (j, 0, c))
    assert not proves_equal(left, right) and proves_equal(left, right, in_range={c: (0, n)})
    assert proves_equal(over(1 / (p + 1 + i), i), over(1 / (p + 1 + j), j), in_range=ROW)


@pytest.mark.parametrize(
    "granted, expected",
    [
        ({p: (0, n - 1)}, True),
        ({p: (0, n)}, False),
        ({p: (-1, n - 1)}, False),
        ({p: (0, m - 1)}, False),
        ({}, False),
        ({p: (1, n - 1)}, True),
        ({i: (0, n - 1)}, False),
        ({p: (0, 0)}, True),
        ({r: (0, n - 1)}, False),
    ],
)
def test_a_delta_selects_only_within_the_granted_range(granted, expected):
    assert proves_equal(over(delta(i, p) * x[i], i), x[p], in_range=granted) == expected


def test_labels_are_granted_a_range_by_their_array():
    picked = over(delta(i, t[r]) * x[i], i)
    assert proves_equal(picked, x[t[r]], in_range={t: (0, n - 1)})
    assert not proves_equal(picked, x[t[r]])
    assert not proves_equal(picked, x[t[r]], in_range={t: (0, n)})


def test_shifted_indices_are_checked_against_the_range():
    shifted = over(delta(i, p + 1) * x[i], i)
    assert proves_equal(shifted, x[p + 1], in_range={p: (0, n - 2)})
    assert not proves_equal(shifted, x[p + 1], in_range=ROW)


def test_a_range_for_a_bound_index_means_nothing():
    assert not proves_equal(over(delta(i, p), i, m), 1, in_range={i: (0, n - 1), p: (0, n - 1)})


@pytest.mark.parametrize(
    "granted, got",
    [
        ([1], r"\[1\]"),
        ((), r"\(\)"),
        ("i", "'i'"),
        ({3: (0, 1)}, "3"),
        ({i: (0,)}, r"\(0,\)"),
        ({i: 1}, "1"),
        ({i: (0, 0.5)}, r"\(0, 0.5\)"),
        ({i: ("0", 1)}, r"\('0', 1\)"),
        ({i: (0, oo)}, r"\(0, oo\)"),
    ],
)
def test_a_malformed_range_is_refused(granted, got):
    with pytest.raises(TypeError, match=f"in_range maps indices to .*: got {got}; give"):
        proves_equal(1, 1, in_range=granted)
