"""No call, however wrong, makes a contract raise: C has no exceptions."""

import random

import pytest
from contract_table import SOC, TABLES, Table
from machine import SOAK, sampled

from aclnn_viz.operators.codes import status_name
from aclnn_viz.operators.contract import Call, TensorDescriptor, contract
from aclnn_viz.operators.products import Version, product_of

STATUSES = {0, 161001, 161002, 561002, 561003, 561103}

OPERATORS = tuple(op.name for op in sampled(__name__))


def any_argument(kind: str, draw: random.Random):
    if kind == "tensor":
        rank = draw.choice((0, 1, 2, 3, 4, 4, 4, 5, 9))
        shape = tuple(draw.choice((-1, 0, 1, 2, 2, 2, 3)) for _ in range(rank))
        strides = tuple(draw.choice((-1, 0, 1, 2, 7)) for _ in range(rank))
        dtype = draw.choice((0, 0, 0, 0, 1, 27, 11, 3, 9, 29, -1, 99))
        format = draw.choice((2, 2, 1, 16))
        return (
            None
            if draw.random() < 0.1
            else TensorDescriptor(shape, dtype, strides, 0, format, shape)
        )
    values = {
        "int": (-(2**63), -1, 0, 1, 2, 2**63 - 1),
        "bool": (False, True),
        "float": (0.0, 1.0, -0.5, 1e300, float("inf"), float("nan")),
        "str": (None, "", "none", "mean", "max"),
        "ints": (None, (), (2,), (3, 2), (-1, 2), (2,) * 9),
        "floats": (None, (), (0.5,)),
        "bools": (None, (), (True,), (False, False), (True, False), (True, True, True)),
    }
    return draw.choice(values[kind])


@pytest.mark.parametrize("operator", [name for name in OPERATORS if name in TABLES])
@pytest.mark.sampled(2)
def test_any_call_is_answered(operator):
    draw, whole, good = random.Random(0), contract(operator), Table(operator).good
    tensors = [p.name for p in whole.parameters if p.kind == "tensor" and p.required]
    seen = set()
    for _ in range(4000 if SOAK else 1500):
        wild = draw.choice((0.05, 0.2, 1.0))
        arguments = good | {
            p.name: any_argument(p.kind, draw) for p in whole.parameters if draw.random() < wild
        }
        if draw.random() < 0.3:  # tensors that resemble each other come further
            arguments |= dict.fromkeys(tensors, any_argument("tensor", draw))
        call = Call(
            product_of(SOC[draw.choice(list(SOC))]),
            Version.parse(draw.choice(("8.1", "9.0.1", "9.1"))),
            arguments,
        )
        outcome = whole.evaluate(call)
        seen.add(outcome.status)
        assert outcome.status in STATUSES and status_name(outcome.status) != "unknown status"
        assert outcome.workspace_size >= 0 and (outcome.status == 0 or not outcome.runs)
        if all(arguments[name] is not None for name in tensors):
            whole.violations(call)
    assert {0, 161001, 161002} <= seen
