"""The contract of layer norm, row by row: the checks in the vendor's order, and what the library does not check."""

import numpy as np
import pytest
from contract_table import (
    BF16,
    F16,
    F32,
    F64,
    Row,
    call,
    disagreements,
    fine,
    nothing_to_do,
    status,
    tensor,
)
from contract_table import unnoticed_mutants, violated

from aclnn_viz.acl import HostAcl
from aclnn_viz.operators.contract import contract

NAME = "layer_norm"
GOOD = {
    "gradOut": tensor(2, 3, 4),
    "input": tensor(2, 3, 4),
    "normalizedShape": (4,),
    "mean": tensor(2, 3, 1),
    "rstd": tensor(2, 3, 1),
    "weightOptional": tensor(4),
    "biasOptional": tensor(4),
    "outputMask": (True, True, True),
    "gradInputOut": tensor(2, 3, 4),
    "gradWeightOut": tensor(4),
    "gradBiasOut": tensor(4),
}
NINE = (1,) * 9
ORDERED = [
    Row({"workspace_pointer": False}, 161001, "workspaceSize is a null pointer"),
    Row({"executor_pointer": False}, 161001, "executor is a null pointer"),
    *(
        Row({name: None}, 161001, f"{name} is a null pointer")
        for name in ("gradOut", "input", "normalizedShape", "mean", "rstd", "outputMask")
    ),
    Row({"outputMask": (True, True)}, 161002, "outputMask must have 3 entries"),
    *(
        Row({name: None}, 161001, f"{name} is a null pointer")
        for name in ("gradInputOut", "gradWeightOut", "gradBiasOut")
    ),
    *(
        Row(
            {name: tensor(*GOOD[name].shape, dtype=F64)},
            161002,
            f"data type of {name} is not supported",
        )
        for name in ("gradOut", "input", "mean", "rstd")
    ),
    Row(
        {"gradOut": tensor(2, 3, 4, dtype=F16)}, 161002, "gradOut must have the data type of input"
    ),
    Row(
        {"weightOptional": tensor(4, dtype=F16)},
        161002,
        "weightOptional must be FLOAT or of the data type of input",
    ),
    *(
        Row(
            {name: tensor(*GOOD[name].shape, dtype=F64)},
            161002,
            f"{name} has a data type that is not supported",
        )
        for name in ("biasOptional", "gradInputOut", "gradWeightOut", "gradBiasOut")
    ),
    *(
        Row({name: tensor(*NINE)}, 161002, f"{name} must have 0 to 8 axes")
        for name in ("gradOut", "input", "mean", "rstd")
    ),
    Row({"normalizedShape": ()}, 161002, "normalizedShape must have 1 to 8 entries"),
    *(
        Row({name: tensor(*NINE)}, 161002, f"{name} must have at most 8 axes")
        for name in ("gradInputOut", "gradWeightOut", "gradBiasOut")
    ),
    Row({"normalizedShape": (2, 3, 4, 5)}, 161002, "input must have at least as many axes"),
    Row({"normalizedShape": (2, 3, 5)}, 161002, "normalizedShape must be the last axes of input"),
    *(
        Row({name: tensor(5)}, 161002, f"{name} must have the shape normalizedShape")
        for name in ("weightOptional", "biasOptional")
    ),
    Row({"gradOut": tensor(2, 3, 5)}, 161002, "gradOut must have the shape of input"),
    Row({"mean": tensor(2, 3)}, 161002, "mean must have the shape of rstd"),
    Row({"mean": tensor(2, 2), "rstd": tensor(2, 2)}, 161002, "mean must have one element a row"),
    Row({"gradInputOut": tensor(2, 3, 5)}, 161002, "gradInputOut must have the shape of input"),
    *(
        Row({name: tensor(5)}, 161002, f"{name} must have one element a column")
        for name in ("gradWeightOut", "gradBiasOut")
    ),
]
SINGLE = [
    nothing_to_do(outputMask=(False, False, False)),
    fine(weightOptional=None, biasOptional=None),
    fine(mean=tensor(6), rstd=tensor(6)),
    fine(gradWeightOut=tensor(2, 2)),
    fine(outputMask=(False, True, True), gradInputOut=None),
    fine(outputMask=(False, False, True), gradInputOut=None, gradWeightOut=tensor(9)),
    fine(biasOptional=tensor(4, dtype=F16)),  # its data type is only looked up
    fine(mean=tensor(2, 3, 1, dtype=BF16)),  # the width is not compared, nor mean with rstd
    # With as many leading axes as normalised ones the shapes are not compared at all: the other checks find this one.
    Row({"normalizedShape": (5,)}, 161002, "weightOptional must have the shape normalizedShape"),
    fine(
        normalizedShape=(5,),
        weightOptional=None,
        biasOptional=None,
        gradWeightOut=tensor(5),
        gradBiasOut=tensor(5),
    ),
]


def test_the_answers_are_the_vendors():
    assert disagreements(contract(NAME), GOOD, ORDERED, SINGLE) == []


def test_every_step_and_its_place_is_noticed():
    assert unnoticed_mutants(NAME, GOOD, ORDERED, SINGLE) == [
        # no rows tell them apart: both look at mean
        "mean must have one element a row before mean shape as rstd",
        # which is made only if it is asked for
        "nothing asked for before gradBiasOut must have one element a column",
    ]


@pytest.mark.parametrize(
    "product,dtype,code",
    [
        ("910b", BF16, 0),
        ("950", BF16, 0),
        ("A3", F16, 0),
        ("310p", F16, 0),
        ("910", F32, 0),
        ("910", BF16, 161002),
        ("310p", BF16, 161002),
        ("910b", F64, 161002),
    ],
)
def test_formats_of_the_products(product, dtype, code):
    data = {
        name: tensor(*GOOD[name].shape, dtype=dtype)
        for name in (
            "gradOut",
            "input",
            "weightOptional",
            "biasOptional",
            "gradInputOut",
            "gradWeightOut",
            "gradBiasOut",
        )
    }
    assert status(NAME, GOOD, product, **data) == code


def test_what_the_library_does_not_check_is_a_constraint():
    silent = dict(normalizedShape=(5,), weightOptional=None, biasOptional=None)
    assert violated(NAME, GOOD, **silent) == {"normalizedShape": "device.run"}
    assert violated(NAME, GOOD, mean=tensor(2, 3, 1, dtype=F16)) == {"mean and rstd": "device.run"}
    assert violated(NAME, GOOD) == {}
    assert violated(NAME, GOOD, input=tensor(0, 4), gradOut=tensor(0, 4)) == {
        "empty tensors": "nobody"
    }


def test_without_rows_the_sums_are_filled_with_nothing():
    empty = dict(
        input=tensor(0, 4),
        gradOut=tensor(0, 4),
        mean=tensor(0, 1),
        rstd=tensor(0, 1),
        gradInputOut=tensor(0, 4),
    )
    outcome = contract(NAME).evaluate(call(GOOD | empty))
    assert outcome.status == 0 and outcome.fills == {"gradWeightOut": 0.0, "gradBiasOut": 0.0}


def test_arrays_of_integers_are_made_and_freed():
    acl = HostAcl()
    acl.aclInit(None)
    handle = acl.aclCreateIntArray((2, 3))
    assert acl.aclGetIntArraySize(handle) == (0, 2) and acl.aclDestroyIntArray(handle) == 0
    assert acl.misuse == [] and np.ndim(handle.values) == 1
