"""Independent wrong kernels, as engineers write them: how many are explained, and that none is explained wrongly."""

import random
from functools import cache

import pytest
from machine import SOAK

from aclnn_viz.checking import check
from aclnn_viz.checking.evidence import KernelUnderTest, examine
from aclnn_viz.checking.scope import Scope
from checking.engineers import OPERATORS, wrong

pytestmark = pytest.mark.usefixtures("unshrunken")

ALL = list(wrong())
CHEAP = ("hardswish", "rms_norm", "layer_norm")
DEPTH = "normal" if SOAK else "quick"
SOME = ALL if SOAK else random.Random(4).sample([one for one in ALL if one[0] in CHEAP], 2)


def test_there_are_enough_of_them():
    assert len(ALL) >= 60 and len(OPERATORS) >= 7 and {name for name, *_ in ALL} == set(OPERATORS)


@cache
def found():
    return [
        (name, slip, kernel, check(name, kernel, depth=DEPTH, **options))
        for name, slip, kernel, options in SOME
    ]


def test_all_are_caught_and_most_explained(record_property):
    results = [(name, slip, result) for name, slip, _, result in found()]
    assert [(name, slip) for name, slip, result in results if result.passed] == []
    unexplained = [(name, slip) for name, slip, result in results if not result.explanation]
    record_property("explained", f"{len(results) - len(unexplained)} of {len(results)}")
    assert len(unexplained) <= 0.25 * len(results) + (not SOAK), unexplained


def test_none_is_explained_wrongly():
    """An explanation gives the kernel's numbers on a suite with numbers of its own, too."""
    for name, slip, kernel, result in found():
        if result.explanation:
            scope = Scope.of(name)
            others = [
                one
                for one in examine(KernelUnderTest(kernel, scope), scope.cases(seed=11), 60.0).seen
                if one.usable
            ]
            assert [
                (slip, str(one.prepared.recipe))
                for one in others
                if not result.explanation.holds(one)
            ] == []


def test_a_wrong_explanation_would_be_noticed():
    name, slip, kernel, _ = next(one for one in ALL if one[1] == "dgamma with gamma")
    explanation = check(name, kernel, depth=DEPTH).explanation
    other = next(kernel for _, slip, kernel, _ in ALL if slip == "dgamma without rstd")
    scope = Scope.of(name)
    seen = [
        one
        for one in examine(KernelUnderTest(other, scope), scope.cases(seed=11), 60.0).seen
        if one.misses and one.usable
    ]
    assert seen and not all(explanation.holds(one) for one in seen)
