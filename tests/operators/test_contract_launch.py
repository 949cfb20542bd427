"""Phase 2, the C prototypes, and the tables that judge the contracts."""

from dataclasses import replace

import pytest
from contract_table import Row, disagreements, tensor

from aclnn_viz.operators.contract import contract, evaluate_launch
from machine import sampled
from together import in_one

GENERATED = ("rms_norm", "cross_entropy_loss", "group_norm_swish")

OPERATORS = tuple(op.name for op in sampled(__name__))


@pytest.mark.parametrize(
    ("operators", "launch", "code"),
    [
        (OPERATORS, dict(workspace=True, workspace_size=0, executor=False, required=0), 161001),
        (
            OPERATORS,
            dict(workspace=False, workspace_size=512, executor=False, required=1024),
            161001,
        ),
        (OPERATORS, dict(workspace=False, workspace_size=512, executor=True, required=512), 161001),
        (
            OPERATORS,
            dict(workspace=False, workspace_size=512, executor=True, required=1024),
            161001,
        ),
        (OPERATORS, dict(workspace=False, workspace_size=0, executor=True, required=0), 0),
        (OPERATORS, dict(workspace=True, workspace_size=512, executor=True, required=512), 0),
        (OPERATORS, dict(workspace=True, workspace_size=1024, executor=True, required=512), 0),
        (GENERATED, dict(workspace=True, workspace_size=511, executor=True, required=512), 161002),
        (GENERATED, dict(workspace=False, workspace_size=0, executor=True, required=512), 161002),
        (
            ("hardswish", "grid_sampler_2d"),
            dict(workspace=True, workspace_size=511, executor=True, required=512),
            0,
        ),
        (
            ("hardswish", "grid_sampler_2d"),
            dict(workspace=False, workspace_size=0, executor=True, required=512),
            0,
        ),
    ],
)
def test_phase_2_argument_checks(operators, launch, code):
    for operator in operators:
        status, message = evaluate_launch(operator, **launch)
        assert status == code and (message is None) == (code == 0)


@pytest.mark.parametrize(
    ("operator", "optional", "outputs"),
    [
        ("hardswish", [], ["out"]),
        ("rms_norm", [], ["dxOut", "dgammaOut"]),
        ("grid_sampler_2d", [], ["inputGrad", "gridGrad"]),
        (
            "cross_entropy_loss",
            ["weightOptional", "gradZlossOptional", "lseForZlossOptional", "reduction"],
            ["xGradOut"],
        ),
        ("group_norm_swish", ["dataFormatOptional"], ["dxOut", "dgammaOut", "dbetaOut"]),
    ],
)
def test_optional_parameters_and_outputs(operator, optional, outputs):
    parameters = contract(operator).parameters
    assert [p.name for p in parameters if not p.required] == optional
    assert [p.name for p in parameters if p.output] == outputs


@in_one
@pytest.mark.parametrize("operator", OPERATORS)
def test_contract_is_complete(operator):
    whole = contract(operator)
    assert whole.name == operator and whole.generated == (operator in GENERATED)
    assert whole.aclnn_name.startswith("aclnn")
    assert {c.enforced_by for c in whole.constraints} <= {"library", "device.run", "nobody"}
    assert all(rule.source and rule.name for rule in (*whole.steps, *whole.constraints))
    names = {p.name for p in whole.parameters}
    assert all(set(getattr(step, "about", ())) <= names for step in whole.steps)
    assert all(
        set(row.dtypes) <= {p.name for p in whole.parameters if p.kind == "tensor"}
        for row in whole.dtype_rows
    )


def test_message_names_the_call_and_what_it_got():
    rows = [
        Row(
            {"out": tensor(4, 3)},
            161002,
            "aclnnHardswishBackwardGetWorkspaceSize: out must have the shape of "
            "self; got out = FLOAT [4, 3], self = FLOAT [4, 2]",
        )
    ]
    assert disagreements(contract("hardswish"), GOOD, rows, []) == []


GOOD = dict.fromkeys(("gradOutput", "self", "out"), tensor(4, 2))
TABLE = [
    Row({"self": None}, 161001, "self is a null pointer"),
    Row({"out": tensor(4, 3)}, 161002, "shape"),
]


@pytest.mark.parametrize(
    "wrong",
    [
        Row({"self": None}, 161002, "self is a null pointer"),
        Row({"self": None}, 161001, "out is a null pointer"),
        Row({"self": None}, 161001),
        Row({}, 0),
        Row({}, 161001),
    ],
)
def test_table_refuses_a_wrong_answer(wrong):
    assert disagreements(contract("hardswish"), GOOD, TABLE, []) == []
    assert len(disagreements(contract("hardswish"), GOOD, TABLE, [wrong])) == 1


def test_table_notices_two_checks_that_changed_places():
    whole = contract("hardswish")
    steps = list(whole.steps)
    null = [step.name for step in steps].index("out null")
    # the next one looks at the data type of self
    steps[null : null + 2] = reversed(steps[null : null + 2])
    swapped = replace(whole, steps=tuple(steps))
    null, dtype = (
        Row({"out": None}, 161001, "out is a null"),
        Row({"self": tensor(4, 2, dtype=3)}, 161002, "of self"),
    )
    assert disagreements(swapped, GOOD, [], [null, dtype]) == []  # neither alone can tell
    assert disagreements(swapped, GOOD, [null, dtype], []) != []
    assert disagreements(whole, GOOD, [null, dtype], []) == []


def test_unknown_operator_is_refused_in_three_parts():
    with pytest.raises(ValueError) as refused:
        contract("no_operator")
    assert str(refused.value).startswith(
        "no such operator: got 'no_operator'; use one of hardswish (aclnnHardswishBackward)"
    )
