"""The contract of the 3D grid sampler, row by row: the checks in the vendor's order, and both layouts of the channels."""

import numpy as np
import pytest
from contract_table import (
    BF16,
    F16,
    F32,
    F64,
    NCDHW,
    NDHWC,
    Row,
    call,
    disagreements,
    fine,
    nothing_to_do,
    status,
    tensor,
    unnoticed_mutants,
    violated,
)

import aclnn_viz as av
from aclnn_viz.operators.contract import contract

NAME = "grid_sampler_3d"
GOOD = {
    "gradOutput": tensor(2, 3, 2, 3, 4),
    "input": tensor(2, 3, 4, 5, 6),
    "grid": tensor(2, 2, 3, 4, 3),
    "interpolationMode": 0,
    "paddingMode": 0,
    "alignCorners": False,
    "outputMask": (True, True),
    "inputGrad": tensor(2, 3, 4, 5, 6),
    "gridGrad": tensor(2, 2, 3, 4, 3),
}
LAST = {
    "input": tensor(2, 4, 5, 6, 3, format=NDHWC),
    "gradOutput": tensor(2, 2, 3, 4, 3, format=NDHWC),
    "inputGrad": tensor(2, 4, 5, 6, 3, format=NDHWC),
}
ORDERED = [
    Row({"workspace_pointer": False}, 161001, "workspaceSize is a null pointer"),
    Row({"executor_pointer": False}, 161001, "executor is a null pointer"),
    nothing_to_do(outputMask=None),
    *(
        Row({name: None}, 161001, f"{name} is a null pointer")
        for name in ("gradOutput", "input", "grid", "inputGrad", "gridGrad")
    ),
    *(
        Row(
            {name: tensor(*GOOD[name].shape, dtype=F16)},
            161002,
            f"{name} must have the data type of input",
        )
        for name in ("gradOutput", "grid", "inputGrad", "gridGrad")
    ),
    Row({"paddingMode": 3}, 161002, "paddingMode must be 0 to 2"),
    Row({"interpolationMode": 2}, 161002, "interpolationMode must be 0 to 1"),
    *(
        Row({name: tensor(2, 3)}, 161002, f"{name} must have 5 axes")
        for name in ("input", "grid", "gradOutput")
    ),
    Row({"grid": tensor(1, 2, 3, 4, 3)}, 161002, "axis 0 of grid"),
    Row({"gradOutput": tensor(1, 3, 2, 3, 4)}, 161002, "axis 0 of gradOutput"),
    Row({"gradOutput": tensor(2, 1, 2, 3, 4)}, 161002, "the channels of input"),
    Row({"gradOutput": tensor(2, 3, 1, 3, 4)}, 161002, "the D of grid"),
    Row({"gradOutput": tensor(2, 3, 2, 1, 4)}, 161002, "the H of grid"),
    Row({"gradOutput": tensor(2, 3, 2, 3, 1)}, 161002, "the W of grid"),
    Row({"grid": tensor(2, 2, 3, 4, 2)}, 161002, "the last axis of grid must be 3"),
    Row({"inputGrad": tensor(2, 3, 4, 5, 5)}, 161002, "inputGrad must have the shape of input"),
    Row({"gridGrad": tensor(2, 2, 3, 4, 2)}, 161002, "gridGrad must have the shape of grid"),
    Row({"outputMask": (True,)}, 161002, "outputMask must have 2 entries"),
]
INTEGERS = {
    name: tensor(*GOOD[name].shape, dtype=9)
    for name in ("gradOutput", "input", "grid", "inputGrad", "gridGrad")
}
SINGLE = [
    Row(INTEGERS, 161002, "the data type of input is not supported"),
    Row(INTEGERS | {"paddingMode": 3}, 161002, "the data type of input is not supported"),
    Row(
        INTEGERS | {"gridGrad": tensor(2, 2, 3, 4, 3)},
        161002,
        "gridGrad must have the data type of input",
    ),
    # Two things wrong with one tensor: the earlier check answers.
    Row({"gradOutput": tensor(1, 1, 2, 3, 4)}, 161002, "axis 0 of gradOutput"),
    Row({"gradOutput": tensor(2, 1, 1, 3, 4)}, 161002, "the channels of input"),
    Row({"gradOutput": tensor(2, 3, 1, 1, 4)}, 161002, "the D of grid"),
    Row({"gradOutput": tensor(2, 3, 2, 1, 1)}, 161002, "the H of grid"),
    Row(
        {
            "gradOutput": tensor(2, 0, 2, 3, 4),
            "input": tensor(2, 0, 4, 5, 6),
            "inputGrad": tensor(2, 0, 4, 5, 6),
            "outputMask": (True,),
        },
        161002,
        "outputMask must have 2 entries",
    ),
    Row({"paddingMode": -1}, 161002, "paddingMode"),
    fine(interpolationMode=1, paddingMode=2),
    fine(**LAST),
    fine(outputMask=(False, True)),
    nothing_to_do(outputMask=(False, False)),
    Row(
        LAST | {"gradOutput": tensor(2, 2, 3, 4, 2, format=NDHWC)}, 161002, "the channels of input"
    ),
    nothing_to_do(input=tensor(2, 3, 0, 5, 6), inputGrad=tensor(2, 3, 0, 5, 6)),
]


def test_the_answers_are_the_vendors():
    assert disagreements(contract(NAME), GOOD, ORDERED, SINGLE) == []


def test_every_step_and_its_place_is_noticed():
    commuting = unnoticed_mutants(NAME, GOOD, ORDERED, SINGLE)
    assert commuting == ["outputMask both false before empty"]  # both have nothing to do


@pytest.mark.parametrize(
    "product,dtype,code",
    [
        ("910b", BF16, 0),
        ("950", F64, 0),
        ("A3", F16, 0),
        ("910", F32, 0),
        ("910", F64, 0),
        ("910", BF16, 161002),
    ],
)
def test_formats_of_the_products(product, dtype, code):
    data = {
        name: tensor(*GOOD[name].shape, dtype=dtype)
        for name in ("gradOutput", "input", "grid", "inputGrad", "gridGrad")
    }
    assert status(NAME, GOOD, product, **data) == code


def test_what_the_library_does_not_check_is_a_constraint():
    assert violated(NAME, GOOD) == {}
    assert violated(NAME, GOOD, outputMask=None) == {"null outputMask": "device.run"}
    empty = dict(input=tensor(2, 0, 4, 5, 6), inputGrad=tensor(2, 0, 4, 5, 6))
    assert violated(NAME, GOOD, **empty) == {"outputs of empty inputs": "device.run"}
    wide = {name: tensor(*value.shape, dtype=F64, format=NDHWC) for name, value in LAST.items()}
    assert violated(NAME, GOOD, **wide) == {"double in NDHWC": "device.run"}


def test_channels_may_come_last():
    """The numbers are those of the other layout, moved; the emulator reads and writes them through the format."""
    op = av.operator(NAME)
    inputs = av.case(op, shape=(2, 3, 4, 5, 6)).inputs
    expected = op.backward(**inputs)
    promise = contract(NAME)
    last = call(GOOD | LAST)
    given = {
        name: np.moveaxis(value, 1, -1) if name in LAST else value for name, value in inputs.items()
    }
    tensors = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
    attributes = {name: value for name, value in given.items() if name not in tensors}
    found = promise.kernel_outputs(
        last, op.backward(**promise.kernel_inputs(None, last, tensors, attributes, []))
    )
    assert np.array_equal(np.moveaxis(found["inputGrad"], -1, 1), expected["inputGrad"])
    assert np.array_equal(found["gridGrad"], expected["gridGrad"]) and NCDHW != NDHWC
