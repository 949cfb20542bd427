"""The prover's knowledge of erf, of the sign of exp(x) - 1, and of numbers declared positive."""

import pytest

import aclnn_viz as av
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving.proofs import proved
from aclnn_viz.proving.subjects import of_operator


def holds(name, *change):
    op = av.operator(name)
    page = changed(op.page, (change,)) if change else None
    return [theorem.holds for theorem in proved(name, of_operator(op, page)).theorems]


@pytest.mark.parametrize(
    "name,count", [("gelu", 1), ("gelu_v2", 2), ("selu", 1), ("elu", 3), ("leaky_relu", 3)]
)
def test_what_is_right_is_proved(name, count):
    assert holds(name) == [True] * count


@pytest.mark.parametrize(
    "name,right,wrong,expected",
    [
        ("gelu", "1.0 + xp.erf(z)", "1.0 - xp.erf(z)", [False]),
        ("gelu", "gradOutput * gaussian_slope", "1.0000001 * gradOutput * gaussian_slope", [False]),
        ("selu", "result > 0.0", "result > -0.5", [False]),
        ("selu", "result + BELOW", "result + SCALE", [False]),
        ("elu", "v + alpha * scale", "v + alpha", [True, False, True]),
        ("elu", "inputScale * curve", "curve", [False, False, True]),
        ("elu", "v > 0.0", "v < 0.0", [False, False, False]),
        ("leaky_relu", "self > 0.0", "self < 0.0", [False, False, False]),
    ],
)
def test_what_is_wrong_is_not(name, right, wrong, expected):
    assert holds(name, right, wrong) == expected


def test_what_is_assumed_is_said():
    found = {
        name: {
            one
            for theorem in proved(name, of_operator(av.operator(name))).theorems
            for one in theorem.assumptions
        }
        for name in ("gelu", "elu", "leaky_relu")
    }
    assert (
        "1.1283791670955126 = 2 / sqrt(pi)" in found["gelu"]
        and "negativeSlope > 0" in found["leaky_relu"]
    )
    assert {"alpha > 0", "scale > 0", "inputScale > 0"} <= found["elu"]
