"""Cells of one axis: what is decided on them is what the closed expressions give there, in numbers."""

import itertools

import pytest
from machine import SOAK
from sympy import Abs, Max, Min, Rational, Symbol, floor

from derivations.cells import T, settle
from derivations.prover.axis import after, axis_cells, before, last, pixel, taps, waves, width
from derivations.prover.functions import round_half_even

MODES = [
    mode
    for mode in itertools.product((0, 1, 2), (0, 1, 2), (False, True))
    if SOAK or sum(mode) % 2 == 0
]  # any two of the three meet


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.sampled(4)
def test_what_is_decided_on_a_cell_is_the_closed_expression_there(mode):
    for cell in axis_cells(*mode):
        decided = [e for values in cell.taps(mode) for e in values]
        assert not any(e.has(T) for e in cell.taps(mode)[0])  # the pixels stay
        for j, r, q, at in ((0, 0, 0, Rational(1, 3)), (2, 1, 1, Rational(7, 2))):
            free = {before: j, after: r, waves: q, T: at, pixel: j - 1, width: 4, last: 3}
            point = free | {s: e.subs(free) for s, e in cell.known}
            x, size = cell.x.subs(point), cell.size.subs(point)
            values = [e for part in taps(x, size, *mode) for e in part]
            assert [e.subs(point) for e in decided] == values, cell


def test_what_is_undecided_stays():
    v = Symbol("v", real=True)
    for e in (floor(v + T), Max(v, T), Abs(v), Min(T, 1), round_half_even(T)):
        assert settle(e) == e


def test_known_sizes_decide():
    assert settle(floor(T / ((1 + T) * last)), {last: after + 1}) == 0 and settle(
        Min(before, last)
    ) == Min(before, last)
    assert settle(Min(before, last), {last: before + after + 1}) == before
