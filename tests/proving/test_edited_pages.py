"""Mechanical edits of pages: proved equal only where numbers agree, and otherwise refuted by numbers.

A judge that shares nothing with the prover runs both pages in float64 on drawn numbers.
"""

import random
from collections import defaultdict
from dataclasses import replace
from functools import cache
from inspect import signature

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.operators.faults.edits import anywhere, edits
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving.counterexample import search
from aclnn_viz.proving.proofs import _theorems
from aclnn_viz.proving.subjects import of_operator

FEW = {"hardswish": 8, "rms_norm": 8, "layer_norm": 8, "group_norm_swish": 6}
EACH = {
    "hardswish": 36,
    "rms_norm": 60,
    "layer_norm": 60,
    "group_norm_swish": 60,
    "cross_entropy_loss": 60,
    "grid_sampler_2d": 24,
    "grid_sampler_3d": 12,
}
SPECIAL = (0.0, 1.0, -1.0, 3.0, -3.0, 0.5, 2.0)
UNDECIDED = "undecided"


def drawn(op, count, seed=0):
    """Return single edits of a page, of each kind in turn; edits of number formats change no mathematics."""
    kinds = defaultdict(list)
    for edit in {
        str(edit): edit
        for edit in (*edits(op.page), *anywhere(op.page))
        if edit.kind not in ("format", "16 bits")
    }.values():
        kinds[edit.kind].append(edit)
    rng, found = random.Random(seed), []
    for some in kinds.values():
        rng.shuffle(some)
    while len(found) < count and any(kinds.values()):
        found += [some.pop() for some in kinds.values() if some]
    return found[:count]


def numbers(subject, rng, seed):
    """Return sizes of 1 to 4, and inputs: wide, equal, special; some rows ignored."""
    letters = {
        s
        for given in subject.inputs.values()
        if given
        for n in given[0]
        for s in getattr(n, "free_symbols", ())
    }
    sizes = {s: int(rng.integers(1, 5)) for s in sorted(letters, key=str)}
    known = {}
    for name, value in subject.attributes.items():
        if hasattr(value, "free_symbols"):
            value = (
                int(rng.choice([-100, 0, 1]))
                if value.is_integer
                else float(rng.choice([1e-5, 0.5, 2.0]))
                if value.is_positive
                else float(rng.choice([0.0, 0.1, 0.7, 1.0]))
            )
        known[name] = value
    for name, given in subject.inputs.items():
        shape = given and tuple(int(n.subs(sizes)) if hasattr(n, "subs") else n for n in given[0])
        if shape is None:
            known[name] = None
        elif name in subject.labels:
            length, beside = subject.labels[name]
            known[name] = rng.integers(0, int(length.subs(sizes)), shape)
            if beside is not None:
                known[name] = np.where(rng.random(shape) < 0.3, known[str(beside)], known[name])
        else:
            known[name] = rng.normal(0, (1.0, 4.0)[seed % 2], shape)
            if seed % 5 == 4:
                known[name] = np.where(
                    rng.random(shape) < 0.5, rng.choice(SPECIAL, shape), known[name]
                )
    return known


def run(function, prelude, known):
    xp, known = NumPyArrays(), dict(known)
    if prelude:
        known |= prelude(xp, **{n: known[n] for n in list(signature(prelude).parameters)[1:]})
    return function(xp, **{n: known[n] for n in list(signature(function).parameters)[1:]})


def differs(right, wrong, draws=40):
    """Return whether the gradients of two subjects differ on any drawn numbers."""
    with np.errstate(all="ignore"):
        for seed in range(draws):
            known = numbers(right, np.random.default_rng([7, seed]), seed)
            saved = run(right.forward, right.preludes[0], known)
            known |= {
                name: saved[of]
                for name, of in right.saved.items()
                if known.get(name, 0) is not None
            }
            expected = run(right.backward, right.preludes[1], known)
            try:
                got = run(wrong.backward, wrong.preludes[1], known)
            except Exception:
                return True
            for name in right.gradient_of:
                a, b = np.asarray(expected[name], float), np.asarray(got.get(name, np.nan), float)
                if a.shape != b.shape or not np.allclose(
                    a,
                    b,
                    rtol=1e-8,
                    atol=1e-10 * max(1.0, np.nanmax(np.abs(a), initial=0)),
                    equal_nan=True,
                ):
                    return True
    return False


@cache
def kinks(op, number):
    return [theorem.kinks for theorem in _theorems(of_operator(op)[number])]


def tried(op, edit):
    """Return (outcome, whether it is wrong, the edit); without differing numbers, the prover runs under all options."""
    try:
        page = edit.page
        pairs = list(zip(of_operator(op), of_operator(op, page), strict=True))
    except Exception:
        return "is no page", False, str(edit)
    unlike = next(([n] for n, pair in enumerate(pairs) if differs(*pair)), [])
    reason, kink = "", False
    for number in unlike or range(len(pairs)):
        theorems = []
        for theorem in _theorems(pairs[number][1]):
            theorems.append(theorem)
            if not theorem.holds:
                reason = str(theorem.reason)
                break
        if reason:
            break
        if unlike:
            kink = [t.kinks for t in theorems] != kinks(op, number)
    if not reason:
        return "proved equal", bool(unlike) and not kink, str(edit)
    if search([wrong for _, wrong in pairs]):
        return "refuted", not unlike, str(edit)
    missed = bool(unlike) and av.check(op, replace(op, page=page).backward).passed
    return UNDECIDED, missed, f"{edit}: {reason}"


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.soak if name != "hardswish" else ()) for name in FEW],
)
def test_a_sample_of_edits_is_decided_rightly(name):
    op = av.operator(name)
    rows = [tried(op, edit) for edit in drawn(op, FEW[name], seed=1)]
    assert [row for row in rows if row[1] or row[0] == UNDECIDED] == []


@pytest.mark.soak
@pytest.mark.parametrize("name", EACH)
def test_all_edits_are_decided_rightly_and_the_rest_is_caught(name):
    op = av.operator(name)
    rows = [tried(op, edit) for edit in drawn(op, EACH[name])]
    undecided = [row for row in rows if row[0] == UNDECIDED]
    assert [row for row in rows if row[1]] == [] and len(undecided) <= 0.05 * len(rows)


@pytest.mark.parametrize(
    "name, old, new, differ",
    [
        ("hardswish", "x <= 3.0", "x < 3.0", True),
        ("hardswish", "x / 3.0 + 0.5", "(x + 1.5) / 3.0", False),
        ("rms_norm", "(dy * gamma - xhat", "(dy * gamma + 1e-6 - xhat", True),
        ("layer_norm", "row_mean(xp, grad * xhat)", "row_mean(xp, (grad - 1) * xhat)", False),
        *(
            pytest.param("cross_entropy_loss", *one, marks=pytest.mark.soak)
            for one in (
                ("labelSmoothing != 0.0:\n        grad", "True:\n        grad", False),
                ("gradLoss / weightSum * counted", "gradLoss / weightSum", True),
            )
        ),
    ],
)
@pytest.mark.sampled(1)
def test_the_judge_of_edits_tells_pages_apart(name, old, new, differ):
    op = av.operator(name)
    pairs = zip(of_operator(op), of_operator(op, changed(op.page, ((old, new),))), strict=True)
    assert any(differs(*pair, draws=20) for pair in pairs) == differ
