"""The answers of aclnnCrossEntropyLossGradGetWorkspaceSize."""

import numpy as np
import pytest
from contract_table import (
    BF16,
    F16,
    F64,
    HWCN,
    I32,
    I64,
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
    gradLoss=tensor(),
    logProb=tensor(2, 3),
    target=tensor(2, dtype=I64),
    weightOptional=tensor(3),
    gradZlossOptional=None,
    lseForZlossOptional=None,
    reduction="mean",
    ignoreIndex=-100,
    labelSmoothing=0.0,
    lseSquareScaleForZloss=0.0,
    xGradOut=tensor(2, 3),
)
DATA = ("gradLoss", "logProb", "xGradOut")


def of_dtype(dtype, names=DATA) -> dict:
    return {name: tensor(*GOOD[name].shape, dtype=dtype) for name in names}


def sized(n, c) -> dict:
    return dict(
        logProb=tensor(n, c),
        target=tensor(n, dtype=I64),
        weightOptional=tensor(c),
        xGradOut=tensor(n, c),
    )


BEFORE_PRODUCT = [
    *(
        Row({name: None}, 161001, f"{name} is a null pointer")
        for name in ("gradLoss", "logProb", "target", "xGradOut")
    ),
    Row({"executor_pointer": False}, 161001, "executor is a null pointer"),
    Row({"workspace_pointer": False}, 161001, "workspaceSize is a null pointer"),
]
LOOKUP = [
    Row({"logProb": tensor(2, 3, format=HWCN)}, 161002, "format"),
    Row({"target": tensor(2)}, 161002, "no supported combination"),
    nothing_to_do(xGradOut=tensor(0, 3)),
]
TILING_A2 = [
    Row(
        {"target": tensor(9, dtype=I64)},
        561002,
        "axis 0 of target must be as long as axis 0 of logProb",
    ),
    Row(
        {"weightOptional": tensor(9)},
        561002,
        "axis 0 of weightOptional must be as long as axis 1 of logProb",
    ),
]
TILING_950 = [
    Row({"reduction": "max"}, 561002, "reduction must be none, mean or sum"),
    Row({"labelSmoothing": 1.5}, 561002, "labelSmoothing must lie in [0, 1]"),
    Row({"logProb": tensor(2, 3, 1)}, 561002, "logProb must have 2 axes"),
    Row(
        {"gradLoss": tensor(2)},
        561002,
        "gradLoss must be (N,) for reduction none, else a scalar or (1,)",
    ),
    Row({"target": tensor(9, dtype=I64)}, 561002, "target must be (N,)"),
    Row({"weightOptional": tensor(9)}, 561002, "weightOptional must be (C,)"),
    Row({"weightOptional": tensor(3, dtype=F16)}, 561002, "weightOptional must be FLOAT"),
]
SINGLE = [
    fine(),
    fine(reduction="sum"),
    fine(reduction="none", gradLoss=tensor(2)),
    fine(reduction=None),
    fine(weightOptional=None),
    fine(ignoreIndex=0),
    fine(ignoreIndex=2**40),
    fine(**of_dtype(F16)),
    fine(**of_dtype(BF16)),
    fine(lseSquareScaleForZloss=1e-4),
    fine(**sized(200000, 3)),
    fine(gradZlossOptional=tensor(), lseForZlossOptional=tensor(2)),
    fine(gradZlossOptional=tensor(dtype=I32), lseForZlossOptional=tensor(2, dtype=F64)),
    fine(xGradOut=tensor(3, 3)),
    fine(logProb=tensor(2, 3, strides=(1, 2))),
    nothing_to_do(**sized(0, 3)),
    nothing_to_do(**sized(2, 0)),
    Row(of_dtype(F16, ["gradLoss"]), 161002, "no supported combination"),
    Row(of_dtype(F16, ["logProb"]), 161002, "no supported combination"),
    Row(of_dtype(F16, ["xGradOut"]), 161002, "no supported combination"),
    Row(of_dtype(F64), 161002, "no supported combination"),
    Row(of_dtype(I32), 161002, "no supported combination"),
    Row({"target": tensor(2), "xGradOut": tensor(0, 3)}, 161002, "no supported combination"),
    Row({"logProb": tensor(2, 3, format=HWCN, dtype=F16)}, 161002, "format"),
]
# What no check looks at. The documents promise 161002 for the data type of an optional input; the library does not
# compare it.
SINGLE_A2 = [
    *SINGLE,
    fine(reduction="max"),
    fine(labelSmoothing=0.5),
    fine(labelSmoothing=-1.0),
    fine(gradLoss=tensor(2)),
    fine(logProb=tensor(2, 3, 4)),
    fine(weightOptional=tensor(3, dtype=F16)),
    fine(weightOptional=tensor(3, 2)),
    fine(reduction="none"),
    fine(target=tensor(2, 2, dtype=I64)),
    Row({"target": tensor(2, dtype=I32)}, 161002, "no supported combination"),
]
SINGLE_950 = [
    # 1 in float
    *SINGLE,
    fine(labelSmoothing=0.5),
    fine(labelSmoothing=1.0),
    fine(labelSmoothing=1 + 1e-9),
    fine(gradLoss=tensor(1)),
    fine(target=tensor(2, dtype=I32)),
    Row({"labelSmoothing": -0.1}, 561002, "labelSmoothing"),
    Row({"reduction": "none"}, 561002, "gradLoss must be (N,)"),
    Row({"reduction": "none", "gradLoss": tensor(3)}, 561002, "gradLoss must be (N,)"),
    Row({"target": tensor(2, 1, dtype=I64)}, 561002, "target must be (N,)"),
    Row({"weightOptional": tensor(3, 1)}, 561002, "weightOptional must be (C,)"),
    Row({"weightOptional": tensor(9, dtype=F16)}, 561002, "weightOptional must be (C,)"),
]


@pytest.mark.parametrize(
    ("product", "cann", "tiling", "single"),
    [
        ("910b", "8.1", TILING_A2, SINGLE_A2),
        ("910b", "9.1", TILING_A2, SINGLE_A2),
        ("A3", "9.1", TILING_A2, SINGLE_A2),
        ("950", "8.5.0", TILING_950, SINGLE_950),
        ("950", "9.1", TILING_950, SINGLE_950),
    ],
)
def test_answers_and_their_order(product, cann, tiling, single):
    ordered = [*BEFORE_PRODUCT, *LOOKUP, *tiling]
    assert disagreements(contract("cross_entropy_loss"), GOOD, ordered, single, product, cann) == []


@pytest.mark.parametrize("product", ["910", "310p", "310b"])
@pytest.mark.parametrize(
    ("cann", "answer"),
    [
        ("9.1", Row({}, 161002, "does not support this product")),
        ("8.1", Row({}, 561003, "no kernel")),
    ],
)
def test_other_products_are_refused(product, cann, answer):
    single = [Row(row.changes, answer.status, answer.says) for row in (*LOOKUP, *TILING_950)]
    assert (
        disagreements(
            contract("cross_entropy_loss"), GOOD, [*BEFORE_PRODUCT, answer], single, product, cann
        )
        == []
    )


@pytest.mark.parametrize(
    ("product", "tiling", "single"),
    [("910b", TILING_A2, SINGLE_A2), ("950", TILING_950, SINGLE_950)],
)
def test_every_step_and_its_place_matter(product, tiling, single):
    refused = Row({}, 161002, "does not support this product")
    here = unnoticed_mutants(
        "cross_entropy_loss", GOOD, [*BEFORE_PRODUCT, *LOOKUP, *tiling], single, product
    )
    there = unnoticed_mutants(
        "cross_entropy_loss",
        GOOD,
        [*BEFORE_PRODUCT, refused],
        [Row(LOOKUP[0].changes, 161002, "does not support this product")],
        "310p",
    )
    assert [mutant for mutant in here if mutant in there] == []


def test_950_is_new_after_8_1():
    assert [status("cross_entropy_loss", GOOD, "950", cann) for cann in ("8.1", "8.5.0")] == [
        561003,
        0,
    ]


@pytest.mark.parametrize(
    ("product", "smoothing", "untouched"),
    [("910b", 0.5, ("xGradOut",)), ("950", 0.5, ()), ("910b", 0.0, ())],
)
def test_label_smoothing_writes_nothing_on_a2(product, smoothing, untouched):
    outcome = evaluate("cross_entropy_loss", call(GOOD | {"labelSmoothing": smoothing}, product))
    assert outcome.untouched == untouched


def test_workspace_is_the_system_part_and_copies_of_strided_inputs():
    assert workspace("cross_entropy_loss", GOOD) == 16 * 1024 * 1024
    assert (
        workspace("cross_entropy_loss", GOOD, logProb=tensor(2, 3, strides=(1, 2)))
        == 16 * 1024 * 1024 + 512
    )


@in_one
@pytest.mark.parametrize(
    ("product", "changes", "expected"),
    [
        ("910b", {}, {}),
        ("950", {}, {}),
        ("910b", {"xGradOut": tensor(2, 3, strides=(1, 2))}, {"strided output": "device.run"}),
        ("910b", {"weightOptional": tensor(3, dtype=F16)}, {"weightOptional dtype": "device.run"}),
        ("910b", {"reduction": "max", "gradLoss": tensor()}, {"reduction": "device.run"}),
        ("950", {"reduction": "max"}, {}),
        (
            "910b",
            {"logProb": tensor(2, 3, 1), "xGradOut": tensor(2, 3, 1)},
            {"logProb rank": "device.run"},
        ),
        ("910b", {"gradLoss": tensor(2)}, {"gradLoss shape": "device.run"}),
        ("910b", {"gradLoss": tensor(1)}, {}),
        ("910b", {"reduction": "none"}, {"gradLoss shape": "device.run"}),
        ("910b", {"reduction": "none", "gradLoss": tensor(2)}, {}),
        ("910b", {"target": tensor(2, 1, dtype=I64)}, {"target shape": "device.run"}),
        ("910b", {"weightOptional": tensor(3, 1)}, {"weightOptional shape": "device.run"}),
        ("910b", {"weightOptional": None}, {}),
        ("950", {"xGradOut": tensor(3, 3)}, {"xGradOut shape": "device.run"}),
        ("910b", {"labelSmoothing": 0.1}, {"label smoothing": "device.run"}),
        ("950", {"labelSmoothing": 0.1}, {}),
        ("910b", {"lseSquareScaleForZloss": 0.1}, {"z-loss": "device.run"}),
        ("910b", {"gradZlossOptional": tensor()}, {"z-loss inputs": "nobody"}),
        (
            "910b",
            {"lseForZlossOptional": tensor(2, dtype=F16)},
            {"z-loss inputs": "nobody", "z-loss data types": "nobody"},
        ),
        ("910b", {"ignoreIndex": 3}, {"ignoreIndex": "nobody"}),
        ("910b", {"ignoreIndex": 2}, {}),
        ("910b", sized(2, 2**24 + 1) | {"ignoreIndex": 2**24}, {"ignoreIndex in float": "nobody"}),
        ("910b", sized(200000, 3), {"batch size": "nobody"}),
        ("910b", sized(199999, 3), {}),
        ("910b", sized(2, 0) | {"ignoreIndex": -1}, {"class count": "nobody"}),
        ("950", {"target": tensor(2, dtype=I32)}, {"undocumented data types": "nobody"}),
    ],
)
def test_constraints_on_the_call(product, changes, expected):
    assert violated("cross_entropy_loss", GOOD, product, **changes) == expected


@pytest.mark.parametrize(
    ("product", "cann", "targets", "changes", "expected"),
    [
        ("910b", "9.1", [0, 2], {}, {}),
        ("910b", "9.1", [0, 3], {}, {"target range": "device.run"}),
        ("910b", "9.1", [-1, 0], {}, {"target range": "device.run"}),
        ("910b", "9.1", [-100, 0], {}, {}),
        ("950", "9.1", [-100, 0], {}, {"negative ignoreIndex on 950": "device.run"}),
        ("910b", "8.5.0", [-100, 0], {}, {"negative ignoreIndex with weight": "device.run"}),
        ("910b", "9.0.0", [-100, 0], {}, {}),
        ("910b", "8.5.0", [-100, 0], {"weightOptional": None}, {}),
        ("910b", "9.1", [3, 0], {"ignoreIndex": 3}, {"ignoreIndex": "nobody"}),
    ],
)
def test_constraints_on_values(product, cann, targets, changes, expected):
    arrays = {"target": np.array(targets)}
    assert violated("cross_entropy_loss", GOOD, product, cann, arrays, **changes) == expected
