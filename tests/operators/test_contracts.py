"""Answers of GetWorkspaceSize, as in contracts/<operator>.toml: checks in the vendor's order, facts of the answers."""

import numpy as np
import pytest
from contract_table import FOLDER, POINTERS, SOC, TABLES, Table, call, lines

import aclnn_viz as av
from aclnn_viz.operators.contract import Call, TensorDescriptor, contract
from aclnn_viz.operators.contract.model import Scope
from aclnn_viz.operators.products import A2, PRODUCTS, Version
from aclnn_viz.verification.contract import status


@pytest.fixture(params=TABLES)
def table(request):
    return Table(request.param)


def test_the_answers_are_the_vendors(table):
    assert [line for trial in table.trials() for line in trial.disagreements()] == []


def test_every_step_and_its_place_is_noticed(table):
    """Mutants that a table lists answer the same, or no row of this product can tell them apart."""
    judged = [entry for entry in table.data["table"] if entry.keys() & {"unnoticed", "noticed"}]
    assert judged
    for entry in judged:
        products, versions = entry["products"].split(), entry["cann"].split()
        unnoticed = table.trial(entry, products[0], versions[0]).unnoticed()
        assert unnoticed == entry.get("unnoticed", unnoticed)
        assert not set(unnoticed) & set(entry.get("noticed", ()))


def test_facts_of_the_answers(table):
    answers = {line: table.answer(line) for line in lines(table.data["rows"]["answers"])}
    assert {line: got for line, (got, expected) in answers.items() if got != expected} == {}


def test_a_wrong_fact_is_seen():
    answer = Table("rms_norm").answer
    assert answer("910b,310b 9.1 dy=[6,64] -> status 561002") == ("161002 or 561002", "561002")
    assert answer("950 9.1 rows=0,3 -> fills") == ("dgammaOut=nan", "")


def test_the_answers_are_those_of_the_documents():
    asked = [line.split(maxsplit=1) for line in lines((FOLDER / "documented.txt").read_text())]
    answers = {(name, line): Table(name).answer(line) for name, line in asked}
    assert {line: got for line, (got, expected) in answers.items() if got != expected} == {}


def test_the_c_api_hands_over_what_the_contract_sees(table):
    trial = table.trials()[0]
    for row in (*trial.ordered, *trial.single):
        if not row.changes.keys() & set(POINTERS):
            given = {
                name: (value.shape, value.dtype, value.format)
                if isinstance(value, TensorDescriptor)
                else list(value)  # a tuple stands for a tensor
                if isinstance(value, tuple)
                else value
                for name, value in (trial.good | row.changes).items()
            }
            assert (
                status(trial.contract.name, SOC[trial.product], trial.cann, **given) == row.status
            )


def test_discarded_checks_are_marked_as_inferred():
    steps = [s for s in contract("group_norm_swish").steps if getattr(s, "launch_status", 0)]
    assert len(steps) == 11 and all(step.inferred for step in steps)


def test_channels_may_come_last():
    """The numbers are those of the other layout, moved; the emulator reads and writes them through the format."""
    op, table = av.operator("grid_sampler_3d"), Table("grid_sampler_3d")
    last = table.changes("input,inputGrad=[2,4,5,6,3]@NDHWC gradOutput=[2,2,3,4,3]@NDHWC")
    inputs = av.case(op, shape=(2, 3, 4, 5, 6)).inputs
    expected, promise = op.backward(**inputs), contract(op.name)
    moved = {n: np.moveaxis(v, 1, -1) if n in last else v for n, v in inputs.items()}
    tensors = {name: value for name, value in moved.items() if isinstance(value, np.ndarray)}
    attributes = {name: value for name, value in moved.items() if name not in tensors}
    asked = call(table.good | last)
    given = promise.kernel_inputs(None, asked, tensors, attributes, [])
    out = promise.kernel_outputs(asked, op.backward(**given))
    assert np.array_equal(np.moveaxis(out["inputGrad"], -1, 1), expected["inputGrad"])
    assert np.array_equal(out["gridGrad"], expected["gridGrad"])


def test_a_rule_holds_from_its_first_version_on_and_before_its_last():
    scope = Scope(since=Version.parse("9.0"), until=Version.parse("9.1"), products=(A2,))
    versions = [Version.parse(v) for v in ("8.5", "9.0", "9.0.1", "9.1.0-beta.1", "9.1")]
    holds = [scope.applies(Call(A2, version)) for version in versions]
    assert holds == [False, True, True, True, False]
    assert not any(scope.applies(Call(PRODUCTS[-1], version)) for version in versions)
