"""The attention explorer against one query after the other, key by key: what is seen, P, dS, and what each tile brings."""

from math import exp, inf

import numpy as np
import pytest
from panelled_explorer import assert_fits, mark

from aclnn_viz.explorers.by_operator.flash_attention_score import subject
from aclnn_viz.explorers.by_operator.flash_attention_score_data import State, compute
from aclnn_viz.pictures.marks import Heat, Line

STATES = [
    {},
    {"sparseMode": 0},
    {"sparseMode": 1, "block": 3},
    {"sparseMode": 2, "keys": 5, "column": 1},
    {"sparseMode": 4, "row": 9},
    {"sparseMode": 6, "row": 0, "block": 32},
    {"queries": 20, "keys": 9, "row": 2},
    {"queries": 1, "keys": 1, "row": 0, "column": 0},
]


def sees(state, given, i, j) -> bool:
    """As the vendor's page on sparseMode draws it."""
    ahead = j - i if state.sparseMode == 2 else j - i - (state.keys - state.queries)
    return [
        True,
        state.sparseMode != 1 or not given["attenMaskOptional"][0, 0, i, j],
        ahead <= 0,
        ahead <= 0,
        -given["preTokens"] <= ahead <= given["nextTokens"],
        None,
        ahead <= 0 or j < [*given["prefixOptional"], 0][0],
    ][state.sparseMode]


@pytest.mark.parametrize("values", STATES, ids=str)
def test_it_shows_what_a_loop_over_keys_computes(values):
    state = State(dtype="float64", **values)
    data = compute(state)
    given = data.inputs
    q, k, v, dy = (given[name][0, 0].tolist() for name in ("query", "keyIn", "value", "dy"))
    seen = [[sees(state, given, i, j) for j in range(state.keys)] for i in range(state.queries)]
    assert data.seen.tolist() == seen
    for i in range(state.queries):
        scores = [state.scaleValue * sum(a * b for a, b in zip(q[i], each)) for each in k]
        weights = [exp(s) if there else 0.0 for s, there in zip(scores, seen[i])]
        weights = [w / (sum(weights) or 1.0) for w in weights]
        y = [sum(w * each[e] for w, each in zip(weights, v)) for e in range(8)]
        D, dP = (
            sum(a * b for a, b in zip(dy[i], y)),
            [sum(a * b for a, b in zip(dy[i], each)) for each in v],
        )
        assert data.P[i] == pytest.approx(weights, abs=1e-14)
        assert data.dS[i] == pytest.approx([w * (g - D) for w, g in zip(weights, dP)], abs=1e-13)
        if i == state.row:
            assert data.D == pytest.approx(D, abs=1e-13)
            for t, end in enumerate(range(state.block, state.keys + state.block, state.block)):
                shown = [s for s, there in zip(scores[:end], seen[i]) if there]
                assert np.nan_to_num(data.tops[t], nan=-inf) == pytest.approx(
                    max(shown, default=-inf)
                )
                assert data.sums[t] == pytest.approx(sum(exp(s - max(shown)) for s in shown))
    kinds = [
        [
            {0: 0, len(tile): 2}.get(sum(tile), 1)
            for j in range(0, state.keys, state.block)
            for tile in [
                [one for row in seen[i : i + state.block] for one in row[j : j + state.block]]
            ]
        ]
        for i in range(0, state.queries, state.block)
    ]
    assert data.kinds.tolist() == kinds
    shown = subject().show(data)
    assert_fits(shown)
    assert np.array_equal(np.isnan(mark(shown, "P", Heat).values), ~data.seen) and mark(
        shown, "scores", Line
    ).y.shape == (2 * state.keys,)


def test_a_query_that_sees_nothing_has_no_gradient_and_no_maximum():
    data = compute(State(queries=20, keys=9, row=2))
    assert not data.dS[2].any() and np.isnan(data.tops).all() and not data.sums.any()
    assert (
        "sees 0 of 9 keys" in subject().headline(data)[0]
        and "hidden: nothing of it is loaded" in subject().headline(data)[1]
    )


def test_the_maximum_so_far_is_a_step():
    data = compute(State())
    line = mark(subject().show(data), "scores", Line, "maximum so far")
    wide = np.diff(line.x) != 0
    assert (np.diff(line.y)[wide] == 0).all() and np.diff(line.x)[~wide].size == data.state.keys - 1
    np.testing.assert_array_equal(
        line.y[::2], [data.tops[k // data.state.block] for k in range(data.state.keys)]
    )
