"""The answers of aclnnHardswishBackwardGetWorkspaceSize."""

import pytest
from contract_table import (
    BF16,
    F16,
    F32,
    F64,
    HWCN,
    I32,
    NDHWC,
    Row,
    disagreements,
    fine,
    nothing_to_do,
    status,
    tensor,
    unnoticed_mutants,
    violated,
    workspace,
)

from aclnn_viz.operators.contract import contract
from together import in_one

GOOD = dict(gradOutput=tensor(4, 2), self=tensor(4, 2), out=tensor(4, 2))
LONG = (1,) * 9

ORDER = [
    Row({"workspace_pointer": False}, 161001, "workspaceSize is a null pointer"),
    Row({"executor_pointer": False}, 161001, "executor is a null pointer"),
    Row({"gradOutput": None}, 161001, "gradOutput is a null pointer"),
    Row({"self": None}, 161001, "self is a null pointer"),
    Row({"out": None}, 161001, "out is a null pointer"),
    Row({"self": tensor(4, 2, dtype=I32)}, 161002, "data type of self is not supported"),
    Row(
        {"gradOutput": tensor(4, 2, dtype=F64)}, 161002, "data type of gradOutput is not supported"
    ),
    Row(
        {"gradOutput": tensor(4, 2, dtype=F16)},
        161002,
        "gradOutput must have the data type of self",
    ),
    Row({"out": tensor(4, 2, dtype=F16)}, 161002, "out must have the data type of self"),
    Row({"gradOutput": tensor(*LONG)}, 161002, "gradOutput must have 0 to 8 axes"),
    Row({"self": tensor(*LONG)}, 161002, "self must have 0 to 8 axes"),
    Row({"gradOutput": tensor(4, 3)}, 161002, "gradOutput must have the shape of self"),
    Row({"out": tensor(4, 3)}, 161002, "out must have the shape of self"),
]
SINGLE = [
    fine(),
    fine(gradOutput=tensor(), self=tensor(), out=tensor()),
    fine(**dict.fromkeys(GOOD, tensor(*LONG[:8]))),
    fine(**dict.fromkeys(GOOD, tensor(4, 2, dtype=F16))),
    fine(**dict.fromkeys(GOOD, tensor(4, 2, strides=(1, 4)))),
    fine(**dict.fromkeys(GOOD, tensor(4, 2, format=HWCN))),
    fine(**dict.fromkeys(GOOD, tensor(4, 2, format=NDHWC))),
    nothing_to_do(**dict.fromkeys(GOOD, tensor(4, 0))),
    # no broadcasting
    Row({"gradOutput": tensor(1, 2)}, 161002, "gradOutput must have the shape of self"),
    Row(dict.fromkeys(GOOD, tensor(4, 2, dtype=F64)), 161002, "data type of self"),
    Row({"self": tensor(4, 0)}, 161002, "gradOutput must have the shape of self"),
    Row(dict(gradOutput=tensor(0), self=tensor(0)), 161002, "out must have the shape of self"),
]
NO_KERNEL = Row({}, 561103, "no kernel for this product")


@pytest.mark.parametrize("cann", ["8.1", "9.1"])
@pytest.mark.parametrize("product", ["910", "910b", "A3", "950", "310b"])
def test_answers_and_their_order(product, cann):
    assert disagreements(contract("hardswish"), GOOD, ORDER, SINGLE, product, cann) == []


def test_every_check_comes_before_the_missing_kernel():
    others = [
        nothing_to_do(**dict.fromkeys(GOOD, tensor(0))),
        *(row for row in SINGLE if row.status),
    ]
    assert disagreements(contract("hardswish"), GOOD, [*ORDER, NO_KERNEL], others, "310p") == []
    assert unnoticed_mutants("hardswish", GOOD, [*ORDER, NO_KERNEL], others, "310p") == []


@in_one
@pytest.mark.parametrize(
    ("product", "dtype", "code"),
    [
        *(
            (product, dtype, 0)
            for product in ("910", "910b", "A3", "950", "310b")
            for dtype in (F32, F16)
        ),
        *((product, BF16, 0) for product in ("910b", "A3", "950")),
        *((product, BF16, 161002) for product in ("910", "310p", "310b")),
        *((product, dtype, 561103) for product in ("310p",) for dtype in (F32, F16)),
        *((product, F64, 161002) for product in ("910", "910b", "A3", "950", "310p", "310b")),
    ],
)
def test_dtypes_per_product(product, dtype, code):
    assert (
        status("hardswish", GOOD, product, **dict.fromkeys(GOOD, tensor(4, 2, dtype=dtype))) == code
    )


def test_undocumented_product_is_warned_of():
    assert violated("hardswish", GOOD, "310b") == {"undocumented data types": "nobody"}
    assert violated("hardswish", GOOD, "910b") == {}


def test_only_strided_tensors_need_workspace():
    assert workspace("hardswish", GOOD) == 0
    assert workspace("hardswish", GOOD, self=tensor(4, 2, strides=(1, 4))) == 512
    # 960 bytes and 32 more take two blocks of 512
    large = dict.fromkeys(GOOD, tensor(120, 2, strides=(1, 120)))
    assert workspace("hardswish", GOOD, **large) == 3 * 1024
