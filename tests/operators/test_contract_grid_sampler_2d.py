"""The answers of aclnnGridSampler2DBackwardGetWorkspaceSize."""

import pytest
from contract_table import (
    BF16,
    F16,
    F32,
    F64,
    HWCN,
    I32,
    NCHW,
    NHWC,
    Row,
    call,
    disagreements,
    fine,
    nothing_to_do,
    status,
    tensor,
    unnoticed_mutants,
    violated,
    workspace,
)

from aclnn_viz.operators.contract import contract, evaluate
from together import in_one

GOOD = dict(
    gradOutput=tensor(2, 3, 4, 5),
    input=tensor(2, 3, 6, 7),
    grid=tensor(2, 4, 5, 2),
    interpolationMode=0,
    paddingMode=0,
    alignCorners=False,
    outputMask=(True, True),
    inputGrad=tensor(2, 3, 6, 7),
    gridGrad=tensor(2, 4, 5, 2),
)
TENSORS = ("gradOutput", "input", "grid", "inputGrad", "gridGrad")


def of_dtype(dtype, names=TENSORS) -> dict:
    return {name: tensor(*GOOD[name].shape, dtype=dtype) for name in names}


def sized(n=2, c=3, h=6, w=7, h_out=4, w_out=5) -> dict:
    data, grid = tensor(n, c, h, w), tensor(n, h_out, w_out, 2)
    return dict(
        gradOutput=tensor(n, c, h_out, w_out), input=data, grid=grid, inputGrad=data, gridGrad=grid
    )


POINTERS = [
    Row({"workspace_pointer": False}, 161001, "workspaceSize is a null pointer"),
    Row({"executor_pointer": False}, 161001, "executor is a null pointer"),
]
NULL_MASK = nothing_to_do(outputMask=None)
NO_OUTPUT = nothing_to_do(outputMask=(False, False))
BEFORE_MODES = [
    *(Row({name: None}, 161001, f"{name} is a null pointer") for name in TENSORS),
    *(
        Row(of_dtype(F16, [name]), 161002, f"{name} must have the data type of input")
        for name in ("gradOutput", "grid", "inputGrad", "gridGrad")
    ),
    Row(of_dtype(I32), 161002, "data type of input is not supported"),
]
AFTER_MODES = [
    Row({"paddingMode": 3}, 161002, "paddingMode must be 0 to 2"),
    Row({"input": tensor(2, 3, 6, 7, 1)}, 161002, "input must have 4 axes"),
    Row({"grid": tensor(2, 4, 5, 2, 1)}, 161002, "grid must have 4 axes"),
    Row({"gradOutput": tensor(2, 3, 20)}, 161002, "gradOutput must have 4 axes"),
    Row({"grid": tensor(9, 4, 5, 2)}, 161002, "axis 0 of grid must be as long as axis 0 of input"),
    Row(
        {"gradOutput": tensor(9, 3, 4, 5)},
        161002,
        "axis 0 of gradOutput must be as long as axis 0 of input",
    ),
    Row(
        {"gradOutput": tensor(2, 9, 4, 5)},
        161002,
        "axis 1 of gradOutput must be as long as axis 1 of input",
    ),
    Row({"input": tensor(2, 3, 0, 7)}, 161002, "last two axes of input must not be 0"),
    Row(
        {"grid": tensor(2, 9, 5, 2)},
        161002,
        "axis 1 of grid must be as long as axis 2 of gradOutput",
    ),
    Row(
        {"grid": tensor(2, 4, 9, 2)},
        161002,
        "axis 2 of grid must be as long as axis 3 of gradOutput",
    ),
    Row({"grid": tensor(2, 4, 5, 3)}, 161002, "last axis of grid must be 2"),
    Row({"inputGrad": tensor(2, 3, 6, 8)}, 161002, "inputGrad must have the shape of input"),
    Row({"gridGrad": tensor(2, 4, 5, 3)}, 161002, "gridGrad must have the shape of grid"),
]
MASK_SIZE = Row({"outputMask": (True,)}, 161002, "outputMask must have two entries")
UP_TO_1 = Row({"interpolationMode": 2}, 161002, "interpolationMode must be 0 to 1")
UP_TO_2 = Row({"interpolationMode": 3}, 161002, "interpolationMode must be 0 to 2")

ORDER_9_1 = [*POINTERS, NULL_MASK, *BEFORE_MODES, UP_TO_2, *AFTER_MODES, MASK_SIZE, NO_OUTPUT]
ORDER_BETA_1 = [*POINTERS, NULL_MASK, *BEFORE_MODES, UP_TO_1, *AFTER_MODES, MASK_SIZE, NO_OUTPUT]
ORDER_9_0 = [*POINTERS, NULL_MASK, NO_OUTPUT, *BEFORE_MODES, UP_TO_1, *AFTER_MODES]

SINGLE = [
    fine(),
    fine(interpolationMode=1),
    fine(paddingMode=1),
    fine(paddingMode=2),
    fine(alignCorners=True),
    fine(outputMask=(True, False)),
    fine(outputMask=(False, True)),
    fine(**of_dtype(F16)),
    fine(**of_dtype(F64)),
    fine(**sized(h=1, w=1, h_out=1, w_out=1)),
    fine(
        **{
            name: tensor(*GOOD[name].shape, format=format)
            for name, format in zip(TENSORS, (NHWC, HWCN, NCHW, NHWC, HWCN))
        }
    ),
    fine(inputGrad=tensor(2, 3, 6, 7, strides=(126, 1, 21, 3))),
    nothing_to_do(**sized(n=0)),
    nothing_to_do(**sized(c=0)),
    nothing_to_do(**sized(h_out=0)),
    nothing_to_do(**sized(w_out=0)),
    nothing_to_do(**dict.fromkeys(TENSORS), outputMask=None, interpolationMode=9, paddingMode=-1),
    Row({"interpolationMode": -1}, 161002, "interpolationMode"),
    Row({"paddingMode": -1}, 161002, "paddingMode"),
    Row(sized(h=0), 161002, "last two axes of input must not be 0"),
    Row(sized(w=0), 161002, "last two axes of input must not be 0"),
    Row({"input": tensor(9, 3, 6, 7)}, 161002, "axis 0 of grid must be as long as axis 0 of input"),
    Row(
        {"input": tensor(2, 9, 6, 7)},
        161002,
        "axis 1 of gradOutput must be as long as axis 1 of input",
    ),
    Row(
        {"gradOutput": tensor(2, 3, 9, 5)},
        161002,
        "axis 1 of grid must be as long as axis 2 of gradOutput",
    ),
    Row(
        {"gradOutput": tensor(2, 3, 4, 9)},
        161002,
        "axis 2 of grid must be as long as axis 3 of gradOutput",
    ),
    # Two rules broken by one tensor: the earlier one answers.
    Row(
        of_dtype(I32, ("gradOutput", "input", "grid", "inputGrad")),
        161002,
        "gridGrad must have the data type",
    ),
    Row({"gradOutput": tensor(9, 9, 4, 5)}, 161002, "axis 0 of gradOutput"),
    Row({"gradOutput": tensor(2, 9, 9, 5)}, 161002, "axis 1 of gradOutput"),
    Row({"grid": tensor(2, 9, 9, 2)}, 161002, "axis 1 of grid"),
    Row({"grid": tensor(2, 4, 9, 3)}, 161002, "axis 2 of grid"),
    Row({"inputGrad": None, "outputMask": (False, True)}, 161001, "inputGrad is a null pointer"),
    Row({"gridGrad": None, "outputMask": (True, False)}, 161001, "gridGrad is a null pointer"),
    Row(
        sized(n=0) | {"gridGrad": tensor(1, 4, 5, 2)},
        161002,
        "gridGrad must have the shape of grid",
    ),
]
SINGLE_9_1 = [
    *SINGLE,
    fine(interpolationMode=2),
    Row(sized(n=0) | {"outputMask": (True,)}, 161002, "outputMask"),
    Row({"outputMask": (True, True, True)}, 161002, "outputMask"),
    Row({"outputMask": ()}, 161002, "outputMask"),
    Row(dict.fromkeys(TENSORS) | {"outputMask": (False, False)}, 161001, "gradOutput"),
]
SINGLE_9_0 = [
    *SINGLE,
    fine(outputMask=(True,)),
    nothing_to_do(**dict.fromkeys(TENSORS), outputMask=(False, False), paddingMode=7),
]


@in_one
@pytest.mark.parametrize("product", ["910", "910b", "A3", "950"])
@pytest.mark.parametrize(
    ("cann", "ordered", "single"),
    [
        ("9.1", ORDER_9_1, SINGLE_9_1),
        ("9.1.0-beta.2", ORDER_9_1, SINGLE_9_1),
        ("9.1.0-beta.1", ORDER_BETA_1, [*SINGLE, SINGLE_9_1[-1]]),
        ("9.0.1", ORDER_9_0, SINGLE_9_0),
        ("8.5.0", ORDER_9_0, SINGLE_9_0),
        ("8.1", ORDER_9_0, SINGLE_9_0),
    ],
)
def test_answers_and_their_order(product, cann, ordered, single):
    assert disagreements(contract("grid_sampler_2d"), GOOD, ordered, single, product, cann) == []


def test_every_step_and_its_place_matter():
    assert unnoticed_mutants("grid_sampler_2d", GOOD, ORDER_9_1, SINGLE_9_1) == [
        "outputMask both false before empty"
    ]  # both answer success
    assert unnoticed_mutants("grid_sampler_2d", GOOD, ORDER_9_0, SINGLE_9_0, cann="9.0.1") == [
        "without outputMask both false",  # the earlier one has answered
        "outputMask both false before empty",
    ]


@in_one
@pytest.mark.parametrize(
    ("product", "dtype", "code"),
    [
        *(
            (product, dtype, 0)
            for product in ("910", "910b", "A3", "950")
            for dtype in (F32, F16, F64)
        ),
        *((product, BF16, 0) for product in ("910b", "A3", "950")),
        *((product, BF16, 161002) for product in ("910", "310p", "310b")),
        *((product, I32, 161002) for product in ("910", "910b", "A3", "950")),
    ],
)
def test_dtypes_per_product(product, dtype, code):
    assert status("grid_sampler_2d", GOOD, product, **of_dtype(dtype)) == code


@pytest.mark.parametrize(
    ("mask", "untouched"),
    [((True, True), ()), ((True, False), ("gridGrad",)), ((False, True), ("inputGrad",))],
)
def test_outputs_that_are_not_asked_for_stay_untouched(mask, untouched):
    assert evaluate("grid_sampler_2d", call(GOOD | {"outputMask": mask})).untouched == untouched


def test_workspace_holds_the_transposed_tensors_where_the_ai_core_runs():
    # gradOutput 480, input and inputGrad 1008 bytes, each with 32 more in blocks of 512
    assert workspace("grid_sampler_2d", GOOD) == 512 + 2 * 1536
    assert workspace("grid_sampler_2d", GOOD, "950") == 0
    assert workspace("grid_sampler_2d", GOOD, "910") == 0
    assert workspace("grid_sampler_2d", GOOD, **of_dtype(F64)) == 0
    assert workspace("grid_sampler_2d", GOOD, **sized(c=2049)) == 0
    tagged = {name: tensor(*shape.shape, format=NHWC) for name, shape in sized(c=2049).items()}
    assert workspace("grid_sampler_2d", GOOD, **tagged) > 0


@in_one
@pytest.mark.parametrize(
    ("product", "cann", "changes", "expected"),
    [
        ("910b", "9.1", {}, {}),
        ("910b", "9.1", {"outputMask": None}, {"null outputMask": "device.run"}),
        ("910b", "9.1", {"outputMask": (False, False)}, {"outputMask both false": "nobody"}),
        ("910b", "9.0.1", {"outputMask": (True,)}, {"short outputMask": "device.run"}),
        ("910b", "9.1", {"outputMask": (True,)}, {}),
        ("910b", "9.1", sized(h_out=0), {"outputs of empty inputs": "device.run"}),
        ("910b", "9.1", sized(n=0), {}),
        ("910b", "9.1", sized(c=32768, h=256, w=256), {"32-bit strides": "device.run"}),
        ("910b", "9.1", {"input": tensor(2, 3, 6, 7, format=NHWC)}, {"NHWC tag": "nobody"}),
        ("910", "9.1", of_dtype(F64), {"undocumented data types": "nobody"}),
        ("910b", "9.1", of_dtype(F64), {}),
        ("310p", "9.1", {}, {"undocumented data types": "nobody"}),
    ],
)
def test_constraints(product, cann, changes, expected):
    assert violated("grid_sampler_2d", GOOD, product, cann, **changes) == expected
