"""Phase 2, the C prototypes, and the tables that judge the contracts."""

from dataclasses import replace

import pytest
from contract_table import Table, Trial
from machine import sampled
from together import in_one

from aclnn_viz.operators.contract import contract

GENERATED = ("rms_norm", "cross_entropy_loss", "group_norm_swish")

OPERATORS = tuple(op.name for op in sampled(__name__))


HAND_WRITTEN = ("hardswish", "grid_sampler_2d")


@pytest.mark.parametrize(
    ("operators", "workspace", "size", "executor", "required", "code"),
    [
        (OPERATORS, True, 0, False, 0, 161001),
        (OPERATORS, False, 512, False, 1024, 161001),
        (OPERATORS, False, 512, True, 512, 161001),
        (OPERATORS, False, 512, True, 1024, 161001),
        (OPERATORS, False, 0, True, 0, 0),
        (OPERATORS, True, 512, True, 512, 0),
        (OPERATORS, True, 1024, True, 512, 0),
        (GENERATED, True, 511, True, 512, 161002),
        (GENERATED, False, 0, True, 512, 161002),
        (HAND_WRITTEN, True, 511, True, 512, 0),
        (HAND_WRITTEN, False, 0, True, 512, 0),
    ],
)
def test_phase_2_argument_checks(operators, workspace, size, executor, required, code):
    for operator in operators:
        status, message = contract(operator).evaluate_launch(
            workspace=workspace,
            workspace_size=size,
            executor=executor,
            required=required,
        )
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


HARDSWISH = Table("hardswish")


def trial(*single, ordered=(), whole=HARDSWISH.contract):
    rows = [[HARDSWISH.row(line) for line in part] for part in (ordered, single)]
    return Trial(whole, HARDSWISH.good, *rows)


def test_message_names_the_call_and_what_it_got():
    text = "aclnnHardswishBackwardGetWorkspaceSize: out must have the shape of self; got out = FLOAT [4, 3], self = FLOAT [4, 2]"
    assert trial(f"out=[4,3] -> 161002 {text}").disagreements() == []


@pytest.mark.parametrize(
    "wrong",
    [
        "self=null -> 161002 self is a null pointer",
        "self=null -> 161001 out is a null pointer",
        "self=null -> 161001",
        "-> nothing",
        "-> 161001",
    ],
)
def test_table_refuses_a_wrong_answer(wrong):
    right = ["self=null -> 161001 self is a null pointer", "out=[4,3] -> 161002 shape"]
    assert trial(ordered=right).disagreements() == []
    assert len(trial(wrong, ordered=right).disagreements()) == 1


def test_table_notices_two_checks_that_changed_places():
    steps = list(HARDSWISH.contract.steps)
    null = [step.name for step in steps].index("out null")
    # the next one looks at the data type of self
    steps[null : null + 2] = reversed(steps[null : null + 2])
    swapped = replace(HARDSWISH.contract, steps=tuple(steps))
    rows = ["out=null -> 161001 out is a null", "self=i32 -> 161002 of self"]
    assert trial(*rows, whole=swapped).disagreements() == []  # neither alone can tell
    assert trial(ordered=rows, whole=swapped).disagreements() != []
    assert trial(ordered=rows).disagreements() == []


def test_unknown_operator_is_refused_in_three_parts():
    with pytest.raises(ValueError) as refused:
        contract("no_operator")
    assert str(refused.value).startswith(
        "no such operator: got 'no_operator'; use one of hardswish (aclnnHardswishBackward)"
    )
