"""The answers of aclnnRmsNormGradGetWorkspaceSize."""

from math import isnan

import numpy as np
import pytest
from contract_table import (
    BF16,
    F16,
    F32,
    F64,
    HWCN,
    I32,
    NCDHW,
    NCHW,
    NCL,
    NDHWC,
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

NAMES = ("dy", "x", "rstd", "gamma", "dxOut", "dgammaOut")


def sized(rows=(2, 3), columns=(64,), rstd=None) -> dict:
    data, gamma = tensor(*rows, *columns), tensor(*columns)
    return dict(
        dy=data,
        x=data,
        rstd=tensor(*(rows if rstd is None else rstd)),
        gamma=gamma,
        dxOut=data,
        dgammaOut=gamma,
    )


GOOD = sized()
LONG = (1,) * 9
MIB_16 = 16 * 1024 * 1024

BEFORE_PRODUCT = [
    *(Row({name: None}, 161001, f"{name} is a null pointer") for name in NAMES),
    Row({"executor_pointer": False}, 161001, "executor is a null pointer"),
    Row({"workspace_pointer": False}, 161001, "workspaceSize is a null pointer"),
]
LOOKUP = [
    Row({"dy": tensor(2, 3, 64, format=HWCN)}, 161002, "format"),
    Row({"rstd": tensor(2, 3, dtype=F16)}, 161002, "no supported combination"),
    nothing_to_do(dxOut=tensor(2, 3, 0), dgammaOut=tensor(0)),
]
TILING = [
    Row({"x": tensor(*LONG)}, 561002, "x must have 1 to 8 axes"),
    Row({"gamma": tensor(*LONG)}, 561002, "gamma must have 1 to 8 axes"),
    Row({"gamma": tensor(1, 1, 1, 64)}, 561002, "gamma must not have more axes than x"),
    Row({"dy": tensor(6, 64)}, 561002, "dy must have as many axes as x"),
    Row({"dxOut": tensor(6, 64)}, 561002, "dxOut must have as many axes as dy"),
    Row({"dgammaOut": tensor(64, 1)}, 561002, "dgammaOut must have as many axes as gamma"),
    Row({"dy": tensor(2, 3, 65)}, 561002, "dy must have the shape of x"),
    Row({"dxOut": tensor(2, 4, 64)}, 561002, "dxOut must have the shape of dy"),
    Row({"rstd": tensor(2, 4)}, 561002, "rstd must have the axes of x that gamma does not cover"),
    Row({"gamma": tensor(128)}, 561002, "gamma must have the last axes of dy"),
    Row({"dgammaOut": tensor(128)}, 561002, "dgammaOut must have the last axes of dy"),
    Row({"rstd": tensor(2, 3, 2)}, 561002, ""),  # the one failure that the library does not explain
]
EMPTY_COLUMNS = sized(columns=(0,))
NO_ROWS = sized(rows=(0, 3))
NO_64 = {name: tensor for name, tensor in sized(columns=(16,)).items() if name != "rstd"}
SINGLE = [
    fine(),
    fine(**sized((2,), (3, 64))),
    fine(**sized((), (2, 64), (1,))),
    fine(**sized((1,) * 7)),
    fine(**sized((), (64,), (1,))),
    fine(**sized((2, 3), rstd=(2, 3, 1))),
    fine(**sized((2, 1), rstd=(2,))),
    fine(**sized((1, 1), rstd=())),
    fine(dy=tensor(2, 3, 64, strides=(1, 2, 6))),
    fine(dxOut=tensor(2, 3, 64, strides=(1, 2, 6))),
    *(fine(x=tensor(2, 3, 64, format=format)) for format in (NCL, NCDHW, NHWC, NCHW)),
    nothing_to_do(**EMPTY_COLUMNS),
    Row({"x": tensor(2, 3, 64, format=NDHWC)}, 161002, "format"),
    Row(EMPTY_COLUMNS | {"rstd": tensor(2, 3, dtype=F64)}, 161002, "no supported combination"),
    Row(EMPTY_COLUMNS | {"dgammaOut": tensor(64)}, 561002, "last axis of dy must not be 0"),
    Row(
        EMPTY_COLUMNS | {"dgammaOut": tensor(64), "rstd": tensor(2, 4)},
        561002,
        "last axis of dy must not be 0",
    ),
    Row(EMPTY_COLUMNS | {"dxOut": tensor(2, 3, 1)}, 561002, "dxOut must have the shape of dy"),
    Row({"x": tensor()}, 561002, "x must have 1 to 8 axes"),
    Row({"gamma": tensor()}, 561002, "gamma must have 1 to 8 axes"),
    Row({"rstd": tensor(2)}, 561002, "rstd must have the axes"),
    Row({"rstd": tensor(3, 2)}, 561002, "rstd must have the axes"),
    # Two rules broken by one tensor: the earlier one answers.
    Row({"dy": tensor(2, 3, 64, format=HWCN, dtype=I32)}, 161002, "format"),
    Row({"gamma": tensor(128), "rstd": tensor(2, 3, 2)}, 561002, "gamma must have the last axes"),
]
NO_ROWS_REFUSED = Row(NO_ROWS, 561002, "at least one row")


@in_one
@pytest.mark.parametrize("cann", ["8.5.0", "9.0.1", "9.1"])
@pytest.mark.parametrize(
    ("product", "single"),
    [
        ("910b", [*SINGLE, NO_ROWS_REFUSED]),
        ("A3", [*SINGLE, NO_ROWS_REFUSED]),
        ("310p", [*SINGLE, NO_ROWS_REFUSED]),
        ("950", [*SINGLE, fine(**NO_ROWS)]),
        ("910", [*SINGLE, NO_ROWS_REFUSED, Row(NO_64, 561002, "multiple of 64")]),
    ],
)
def test_answers_and_their_order(product, single, cann):
    ordered = [*BEFORE_PRODUCT, *LOOKUP, *TILING]
    if product == "910":
        ordered.append(Row(NO_64, 561002, "multiple of 64"))
        single = [*single, Row(sized(rows=(0, 3), columns=(16,)), 561002, "multiple of 64")]
    assert disagreements(contract("rms_norm"), GOOD, ordered, single, product, cann) == []


@pytest.mark.parametrize(
    ("cann", "answer"),
    [
        ("9.1", Row({}, 161002, "does not support this product")),
        ("9.0.0", Row({}, 161002, "does not support this product")),
        ("8.5.0", Row({}, 561003, "no kernel")),
    ],
)
def test_a_missing_product_is_refused_after_null_pointers_and_before_all_else(cann, answer):
    single = [Row(row.changes, answer.status, answer.says) for row in (*LOOKUP, *TILING)]
    assert (
        disagreements(contract("rms_norm"), GOOD, [*BEFORE_PRODUCT, answer], single, "310b", cann)
        == []
    )


def test_every_step_and_its_place_matter():
    ordered = [*BEFORE_PRODUCT, *LOOKUP, *TILING, Row(NO_64, 561002, "multiple of 64")]
    single = [
        *SINGLE,
        NO_ROWS_REFUSED,
        Row(sized(rows=(0, 3), columns=(16,)), 561002, "multiple of 64"),
    ]
    refused = Row({}, 161002, "does not support this product")
    here = unnoticed_mutants("rms_norm", GOOD, ordered, single, "910")
    there = unnoticed_mutants(
        "rms_norm",
        GOOD,
        [*BEFORE_PRODUCT, refused],
        [Row(LOOKUP[0].changes, 161002, "does not support this product")],
        "310b",
    )
    assert [mutant for mutant in here if mutant in there] == []


COMBINATIONS = {
    (F16, F16, F32, F32, F16, F32): ("910b", "A3", "950"),
    (BF16, BF16, F32, F32, BF16, F32): ("910b", "A3", "950"),
    (F16, F16, F32, F16, F16, F32): ("910b", "A3", "950", "310p", "910"),
    (F32, F32, F32, F32, F32, F32): ("910b", "A3", "950", "310p", "910"),
    (BF16, BF16, F32, BF16, BF16, F32): ("910b", "A3", "950"),
    (F64, F64, F64, F64, F64, F64): (),
    (F64, F64, F32, F64, F64, F32): (),
    (F16, F16, F16, F16, F16, F16): (),
    (F16, F16, F32, F16, F16, F16): (),
    (F16, F32, F32, F32, F16, F32): (),
    (F32, F32, F32, F16, F32, F32): (),
    (F16, F16, F32, BF16, F16, F32): (),
    (F32, F32, F32, F32, F16, F32): (),
    (I32, I32, F32, I32, I32, F32): (),
}


@in_one
@pytest.mark.parametrize("product", ["910", "910b", "A3", "950", "310p"])
@pytest.mark.parametrize("dtypes", COMBINATIONS)
def test_dtype_combinations(product, dtypes):
    tensors = {name: tensor(*GOOD[name].shape, dtype=dtype) for name, dtype in zip(NAMES, dtypes)}
    assert status("rms_norm", GOOD, product, **tensors) == (
        0 if product in COMBINATIONS[dtypes] else 161002
    )


def test_950_is_new_after_8_1():
    assert [status("rms_norm", GOOD, "950", cann) for cann in ("8.1", "8.5.0")] == [561003, 0]


def test_no_rows_on_950_fill_dgamma_with_nan():
    outcome = evaluate("rms_norm", call(GOOD | NO_ROWS, "950"))
    assert (
        outcome.runs and list(outcome.fills) == ["dgammaOut"] and isnan(outcome.fills["dgammaOut"])
    )
    assert evaluate("rms_norm", call(GOOD, "950")).fills == {}


def test_row_counts_wrap_at_32_bits():
    assert status("rms_norm", sized(rows=(2**31,))) == 0
    assert status("rms_norm", sized(rows=(2**32,))) == 561002  # wraps to no row
    assert status("rms_norm", sized(rows=(2**32 + 1,))) == 0
    assert status("rms_norm", sized(rows=(2**31,), rstd=(2**31, 2))) == 561002
    assert status("rms_norm", sized(rows=(2**31,), rstd=(2**31, 3))) == 0  # 3 * 2^31 wraps to 2^31


def test_workspace_is_the_system_part_and_copies_of_strided_inputs():
    assert workspace("rms_norm", GOOD) == MIB_16
    assert workspace("rms_norm", GOOD, dy=tensor(2, 3, 64, strides=(1, 2, 6))) == MIB_16 + 2048
    assert workspace("rms_norm", GOOD, dxOut=tensor(2, 3, 64, strides=(1, 2, 6))) == MIB_16


STRIDED = tensor(2, 3, 64, strides=(1, 2, 6))


@in_one
@pytest.mark.parametrize(
    ("product", "changes", "expected"),
    [
        ("910b", {}, {}),
        ("310p", {}, {}),
        ("310p", sized(columns=(8,)), {}),
        ("310p", sized(columns=(7,)), {"last axis of 32 bytes": "device.run"}),
        ("910b", sized(columns=(7,)), {}),
        ("910", {}, {"undocumented data types": "nobody"}),
        ("910b", {"dxOut": STRIDED}, {"strided output": "device.run"}),
        ("910b", {"dy": STRIDED}, {"strided input": "nobody"}),
        ("910b", NO_ROWS, {"no rows": "library"}),
        ("950", NO_ROWS, {"no rows on 950": "device.run"}),
        ("910b", EMPTY_COLUMNS, {"empty last axis": "nobody"}),
        ("910b", sized(rows=(2**32,)), {"32-bit sizes": "device.run"}),
        ("910b", sized(rows=(), rstd=(1,)), {"one axis": "nobody"}),
    ],
)
def test_constraints_on_the_call(product, changes, expected):
    assert violated("rms_norm", GOOD, product, **changes) == expected


@pytest.mark.parametrize(
    ("product", "name", "value", "expected"),
    [
        ("310p", "x", np.inf, {"finite inputs": "device.run"}),
        ("310p", "dy", np.nan, {"finite inputs": "device.run"}),
        ("310p", "gamma", -np.inf, {"finite inputs": "device.run"}),
        ("310p", "x", 1.0, {}),
        ("910b", "x", np.inf, {}),
    ],
)
def test_constraints_on_values(product, name, value, expected):
    array = np.zeros(GOOD[name].shape, np.float32)
    array.flat[-1] = value
    assert violated("rms_norm", GOOD, product, arrays={name: array}) == expected
