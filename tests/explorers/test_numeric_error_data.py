"""The data of the explorer of numeric error: errors, causes, standards, faults against plain loops and known cases."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from machine import sampled
from panelled_explorer import HELD, mark, marks

from aclnn_viz.accuracy.standard import at_least, at_most, none
from aclnn_viz.arrays.plan import HOST
from aclnn_viz.explorers.numeric_error import subject
from aclnn_viz.explorers.numeric_error_data import (
    CAUSES,
    MISSED,
    compute,
    fault_of,
    plan_of,
)
from aclnn_viz.explorers.numeric_error_data import State as Opening
from aclnn_viz.operators import operator, registry
from aclnn_viz.pictures.error_plot import GREY
from aclnn_viz.pictures.marks import Band, Bars, Box, Dots, Spots
from aclnn_viz.pictures.roles import INK, READ, WRONG
from aclnn_viz.pictures.text import unmarked

parametrize = pytest.mark.parametrize
show = subject().show

SMALL = {"rows": 6, "n": 32}
State = partial(Opening, fault="none", dtype="float32")
OPERATORS = parametrize("name", [op.name for op in sampled(__name__)])


def judged(**values):
    return compute(State(**values))


def spacing(value: float) -> float:
    """Return the distance of float32 numbers at a value."""
    return float(np.spacing(np.float32(abs(value))))


@OPERATORS
@parametrize("plan", ["kit", "Ascend910B2 9.1", "Ascend950PR_9579 9.1"])
@pytest.mark.sampled(4)
def test_correct_arithmetic_of_a_plan_is_no_bug(name, plan):
    data = judged(operator=name, plan=plan, dtype="float16", **SMALL)
    assert data.counts["not explained"] == 0 and data.errors.size > 0


@OPERATORS
@parametrize("kind", ["formula", "slight", "seldom", "truncated"])
@pytest.mark.sampled(9)
def test_a_fault_lies_outside_the_envelope_or_the_headline_says_what_it_needs(name, kind):
    data = judged(operator=name, fault=kind, dtype="float16", plan="kit", **SMALL)
    text = " ".join(show(data).headline)
    assert data.fault is fault_of(data.state) and data.fault.name in text
    assert (data.counts["not explained"] > 0) != ("Not seen here" in text)


@parametrize("name", [op.name for op in sampled(__name__) if registry.file("faults", op.name)])
def test_a_wrong_formula_is_never_explained_by_rounding(name):
    data = judged(operator=name, fault="formula")
    assert data.counts["not explained"] > data.errors.size / 4 and "A bug." in " ".join(
        show(data).headline
    )


def test_a_slight_fault_passes_a_standard_and_leaves_the_envelope():
    data = judged(fault="slight", dtype="bfloat16", plan="kit")
    assert data.report.verdicts["mixed tolerance"] == "pass" and data.counts["not explained"] > 100


def test_a_missing_scale_of_the_device_is_a_bug_until_it_was_mended():
    before, after = (
        judged(operator="group_norm_swish", plan=f"Ascend910B2 {cann}") for cann in ("9.0", "9.1")
    )
    assert before.counts["not explained"] > 1000 and after.counts["not explained"] == 0


def test_causes_follow_the_yardsticks():
    """format: as near as a float32 can be; inputs: no farther than that and the spread; plan: farther, in the bound."""
    data = judged()
    e = data.errors
    seen = set()
    for k in range(e.size):
        nearest = abs(float(np.float32(e.truth[k])) - e.truth[k]) / spacing(e.truth[k])
        kind = "plan"
        if e.ulps[k] <= nearest:
            kind = "format"
        elif e.ulps[k] <= (nearest + data.spread[k]) * (1 + 1e-12):
            # the spread was divided by the ulp once more
            kind = "inputs"
        assert CAUSES[data.cause[k]] == kind and e.ulps[k] <= e.bound[k]
        seen.add(kind)
    assert seen == {"format", "inputs", "plan"}


def test_the_spread_is_what_inputs_one_ulp_away_do():
    """hardswish between the kinks: out = g (x / 3 + 1/2), so an ulp of x moves out by |g| ulp(x) / 3 or less."""
    data = judged(operator="hardswish", plan="kit")
    given = {name: data.inputs[name].reshape(-1).astype(float) for name in ("gradOutput", "self")}
    for k in range(data.errors.size):
        g, x = given["gradOutput"][k], given["self"][k]
        most = abs(g) * spacing(x) / 3 + spacing(g) * abs(x / 3 + 0.5) + spacing(g) * spacing(x)
        if abs(x) < 2.9:
            assert data.spread[k] <= most / spacing(data.errors.truth[k]) * (1 + 1e-6)
    assert np.median(data.spread) > 0.1


@parametrize("values", HELD["formulas"]["numeric_error"])
def test_every_element_is_in_a_pile_before_the_wall_or_behind_it(values):
    data = judged(**values)
    e, shown = data.errors, show(data)
    bars = {pile.kind: pile for pile in marks(shown, "errors", Bars)}
    one, missed, undecided = data.focus, data.cause == MISSED, data.cause == MISSED - 1
    share = np.where(e.ulps == 0, 1e-9, e.ulps / np.maximum(e.bound, 1e-12))
    used = np.clip(np.log10(share), -3.99, 3.99)
    for kind, those, behind in ((READ, ~missed & ~undecided, False), (WRONG, missed, True)):
        if not those.any():
            assert kind not in bars
            continue
        pile = bars[kind]
        assert pile.y.sum() == those.sum() and ((pile.x > 0) == behind).all()
        ends = np.abs(pile.x) + pile.width / 2
        assert ends.max() < 4 and (np.abs(pile.x) - pile.width / 2).min() > 0  # none over the wall
        own = used[those]
        sides = own[(own > 0) == behind]
        for x, y in zip(pile.x, pile.y):
            near = np.count_nonzero(np.abs(sides - x) <= 4 / 98)
            assert y == near or 0 < abs(x) < 0.1 or undecided.any(), x
    assert (GREY in bars) == undecided.any()
    element = mark(shown, "errors", Dots)
    assert element.label == f"element {list(e.index(one))}, magnified" and element.kind == INK
    assert not missed.any() or missed[one]
    beyond, spots = marks(shown, "errors", Spots)
    n = missed.sum()
    assert beyond.texts == (
        f"✗ a bug: {n:,}" if n else "nothing here: no element lies beyond the bound",
    )
    counts = [int(text.split()[-1]) for text in spots.texts]
    assert sum(counts) == e.size and min(counts) > 0
    for text, start, end in zip(spots.texts, spots.x0, spots.x1):
        share = f"{10 ** ((start + end) / 2):.4g}" if end < 3.99 else "10,000 or more"
        assert text.startswith(f"at {share} times the bound: ")
    assert element.x[0] == pytest.approx(used[one], abs=2 * 4 / 96)
    said = unmarked(subject().said(data))
    if n:
        assert f"{n:,} lie behind the wall" in said and "a bug" in said
    else:
        assert "crosses the wall" in said
        assert ("these inputs do not show the bug" in said) == (data.fault is not None)


def test_the_first_state_has_errors_on_both_sides_and_one_under_the_glass():
    data = compute(Opening())
    shown = show(data)
    counts = [(data.cause < MISSED - 1).sum(), (data.cause == MISSED).sum()]
    assert min(counts) > 500
    said = [box.label for box in marks(shown, "errors", Box)]
    assert said == [f"rounding explains {counts[0]:,}", f"✗ a bug: {counts[1]:,}"]
    one, e = data.focus, data.errors
    band, numbers, got = marks(shown, "glass", (Band, Dots))
    assert band.low.max() == 0 and band.x.tolist() == [-e.bound[one], e.bound[one]]
    assert abs(got.x[0]) == pytest.approx(e.ulps[one]) and abs(got.x[0]) > band.x[1]
    assert np.abs(numbers.x - got.x[0]).min() < 1e-9  # it is a number of the format
    assert f"the kernel's number {float(e.actual[one]):.4g}" in mark(shown, "glass", Spots).texts[0]


@parametrize(
    ("criterion", "share"),
    [
        (at_most("", 6.0, 2.0), 3.0),
        (at_least("", 0.999, 0.99), 0.1),
        (at_least("", 0.9, 0.99), 10.0),
        (none("", 3), math.inf),
    ],
)
def test_the_part_of_a_limit_that_is_used(criterion, share):
    assert criterion.strain == pytest.approx(share)


@parametrize("values", [{}, {"dtype": "float16", "accumulate": "float16", "plan": "kit"}])
def test_each_standard_and_its_reason_are_in_the_words(values):
    data = judged(**values)
    verdicts, text = data.report.verdicts, show(data).text
    assert {"pass", "fail"} <= {verdict.outcome for verdict in verdicts.values()}
    for name, verdict in verdicts.items():
        assert f"{name}: {verdict.outcome}, {verdict.reason}" in text


def test_without_a_fault_the_largest_error_is_shown_and_with_one_the_middle_of_those_outside():
    data = judged()
    assert data.errors.ulps[data.focus] == data.errors.ulps.max()
    wrong = judged(fault="slight")
    missed = np.flatnonzero(wrong.cause == MISSED)
    excess = wrong.errors.ulps[missed] / wrong.errors.bound[missed]
    beyond = excess > wrong.errors.ulps[wrong.focus] / wrong.errors.bound[wrong.focus]
    assert wrong.focus in missed and abs(beyond.sum() - missed.size / 2) <= 1
    place = f"Element {list(wrong.errors.index(wrong.focus))} (dy = {wrong.inputs['dy'].reshape(-1)[wrong.focus]:.4g},"
    assert place in " ".join(show(wrong).headline)


def test_a_fault_is_held_to_the_textbook_page_on_every_product():
    """Open kinks show at the kinks alone, although this product multiplies by a rounded 1/3 elsewhere."""
    data = judged(operator="hardswish", fault="seldom", plan="Ascend910B2 9.1")
    assert set(np.abs(data.inputs["self"].reshape(-1))[data.cause == MISSED].tolist()) == {3.0}


@parametrize("order", ["sequential", "pairwise"])
def test_the_pieces_of_the_precision_are_those_of_the_plan(order):
    pieces = {"accumulate": "float16", "rounding": "away", "order": order}
    small = {"leading": None, "tile": 8, "cores": 4, "seed": 3}
    assert plan_of(State(plan="kit", **pieces, seed=3)) == replace(HOST, **pieces, **small)
    assert plan_of(State(plan="kit")) == HOST


def test_nothing_finite_is_said_in_words():
    shown = show(judged(dtype="float16", gradient=8.0, plan="kit", **SMALL))
    said = shown.panels[0].marks[0].text.replace("\n", " ")
    assert "No element is finite" in said and shown.headline == (f"dxOut of rms_norm: {said}",)


def test_float64_is_computed_in_float64():
    state = State(dtype="float64")
    assert (plan_of(state).compute, plan_of(state).accumulate) == ("float64", "float64")


def test_an_atlas_is_held_to_the_envelope_of_the_plan():
    state, asked = State(device="atlas", operator="hardswish", **SMALL), []

    def backward(state, given):
        asked.append(state.plan)
        return {"out": operator("hardswish").backward(**given)["out"] * np.float32(1.01)}, (
            "a notice",
        )

    data = compute(state, backward)
    assert asked == ["Ascend910B2 9.1"] and data.counts["not explained"] > 50
    assert show(data).notices == ("a notice", "computed by atlas; the envelope is that of the plan")


def test_predictions_are_labelled():
    assert show(judged()).notices == (
        "predicted for Ascend910B2, CANN 9.1: not measured on hardware",
    )
    assert show(judged(plan="kit")).notices == ()
