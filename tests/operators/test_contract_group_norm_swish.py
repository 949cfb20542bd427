"""The answers of aclnnGroupNormSwishGradGetWorkspaceSize: its tiling reports errors and throws them away."""

import pytest
from contract_table import (
    BF16,
    F16,
    F32,
    F64,
    HWCN,
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


def sized(n=2, c=4, spatial=(3, 3), groups=2) -> dict:
    data, statistics, channel = tensor(n, c, *spatial), tensor(n, groups), tensor(c)
    return dict(
        dy=data,
        mean=statistics,
        rstd=statistics,
        x=data,
        gamma=channel,
        beta=channel,
        numGroups=groups,
        dxOut=data,
        dgammaOut=channel,
        dbetaOut=channel,
    )


GOOD = sized() | dict(
    dataFormatOptional="NCHW", swishScale=1.0, dgammaIsRequire=True, dbetaIsRequire=True
)
TENSORS = ("dy", "mean", "rstd", "x", "gamma", "beta", "dxOut", "dgammaOut", "dbetaOut")
MIB_16 = 16 * 1024 * 1024


def of_dtype(dtype, names=TENSORS) -> dict:
    return {name: tensor(*GOOD[name].shape, dtype=dtype) for name in names}


def discarded(changes: dict, says: str) -> Row:
    """Success with an error text; the launch fails."""
    return Row(changes, 0, says, runs=True, launch=361001)


def image(n, c, *spatial) -> dict:
    return dict.fromkeys(("dy", "x", "dxOut"), tensor(n, c, *spatial))


BEFORE_PRODUCT = [
    *(Row({name: None}, 161001, f"{name} is a null pointer") for name in TENSORS),
    Row({"executor_pointer": False}, 161001, "executor is a null pointer"),
    Row({"workspace_pointer": False}, 161001, "workspaceSize is a null pointer"),
]
LOOKUP = [
    Row({"dy": tensor(2, 4, 3, 3, format=HWCN)}, 161002, "format"),
    Row({"gamma": tensor(4, dtype=F16)}, 161002, "no supported combination"),
    nothing_to_do(dxOut=tensor(0), dgammaOut=tensor(0), dbetaOut=tensor(0)),
]
TILING = [
    discarded({"dy": tensor(2, 4, 3, 4)}, "dy must have the shape of x"),
    discarded({"mean": tensor(2, 3)}, "axis 1 of mean must be numGroups"),
    discarded({"mean": tensor(3, 2)}, "axis 0 of mean must be as long as axis 0 of x"),
    discarded({"rstd": tensor(2, 3)}, "rstd must have the shape of mean"),
    discarded({"mean": tensor(2, 2, 1), "rstd": tensor(2, 2, 1)}, "mean and rstd must have 2 axes"),
    discarded({"gamma": tensor(5)}, "gamma must be (C,)"),
    discarded({"beta": tensor(5)}, "beta must be (C,)"),
    discarded(
        {"numGroups": 0, "mean": tensor(2, 0), "rstd": tensor(2, 0)}, "N * numGroups must not be 0"
    ),
    discarded(
        {"numGroups": 3, "mean": tensor(2, 3), "rstd": tensor(2, 3)},
        "C must be a multiple of numGroups",
    ),
    discarded(image(2, 4, 0, 3), "the product of the axes after C must not be 0"),
    discarded(sized(c=4001, groups=1), "C / numGroups must not exceed 4000"),
]
SINGLE = [
    fine(),
    fine(**sized(spatial=())),
    fine(**sized(spatial=(7,))),
    fine(**sized(spatial=(1, 2, 3, 4))),
    fine(**sized(c=4000, groups=1)),
    fine(**sized(groups=1)),
    fine(**sized(groups=4)),
    fine(**of_dtype(F16)),
    fine(**of_dtype(BF16)),
    fine(dataFormatOptional=None),
    fine(dataFormatOptional="anything"),
    *(fine(swishScale=scale) for scale in (0.0, -1.0, float("inf"), 2.5)),
    fine(dgammaIsRequire=False, dbetaIsRequire=False),
    fine(dxOut=tensor(7)),
    fine(dgammaOut=tensor(1)),
    fine(dbetaOut=tensor(9, 9)),
    nothing_to_do(**sized(c=0)),
    Row(of_dtype(F64), 161002, "no supported combination"),
    *(Row(of_dtype(F16, [name]), 161002, "no supported combination") for name in TENSORS),
    Row({"dgammaIsRequire": False, "dgammaOut": None}, 161001, "dgammaOut is a null pointer"),
    Row({"dbetaIsRequire": False, "dbetaOut": None}, 161001, "dbetaOut is a null pointer"),
    Row(sized(c=0) | {"x": tensor(2, 0, 3, 3, dtype=F16)}, 161002, "no supported combination"),
    Row({"dy": tensor(2, 4, 3, 3, format=HWCN, dtype=F16)}, 161002, "format"),
    discarded(sized(n=0), "N * numGroups must not be 0"),
    discarded(sized(c=8004, groups=2), "C / numGroups must not exceed 4000"),
    discarded({"numGroups": -2}, "axis 1 of mean must be numGroups"),
    discarded(sized(c=2, groups=4), "C must be a multiple of numGroups"),
    fine(numGroups=2**32 + 2),  # read as int32
    # Two rules broken by one tensor: the earlier one answers.
    discarded({"mean": tensor(3, 3)}, "axis 1 of mean"),
    discarded({"mean": tensor(2, 2, 1)}, "rstd must have the shape of mean"),
    discarded(sized(c=4001, groups=1) | image(2, 4001, 0), "the product of the axes after C"),
]


@pytest.mark.parametrize(
    ("product", "cann"),
    [("910b", "8.1"), ("910b", "9.1"), ("A3", "9.1"), ("950", "8.5.0"), ("950", "9.1")],
)
def test_answers_and_their_order(product, cann):
    ordered = [*BEFORE_PRODUCT, *LOOKUP, *TILING]
    assert disagreements(contract("group_norm_swish"), GOOD, ordered, SINGLE, product, cann) == []


@pytest.mark.parametrize("product", ["910", "310p", "310b"])
@pytest.mark.parametrize(
    ("cann", "answer"),
    [
        ("9.1", Row({}, 161002, "does not support this product")),
        ("8.1", Row({}, 561003, "no kernel")),
    ],
)
def test_other_products_are_refused(product, cann, answer):
    single = [Row(row.changes, answer.status, answer.says) for row in (*LOOKUP, *TILING)]
    assert (
        disagreements(
            contract("group_norm_swish"), GOOD, [*BEFORE_PRODUCT, answer], single, product, cann
        )
        == []
    )


def test_every_step_and_its_place_matter():
    refused = Row({}, 161002, "does not support this product")
    here = unnoticed_mutants("group_norm_swish", GOOD, [*BEFORE_PRODUCT, *LOOKUP, *TILING], SINGLE)
    there = unnoticed_mutants(
        "group_norm_swish",
        GOOD,
        [*BEFORE_PRODUCT, refused],
        [Row(LOOKUP[0].changes, 161002, "does not support this product")],
        "310p",
    )
    assert [mutant for mutant in here if mutant in there] == []


def test_950_is_new_after_8_1():
    assert [status("group_norm_swish", GOOD, "950", cann) for cann in ("8.1", "8.5.0")] == [
        561003,
        0,
    ]


def test_discarded_checks_are_marked_as_inferred():
    steps = [
        step for step in contract("group_norm_swish").steps if getattr(step, "launch_status", 0)
    ]
    assert len(steps) == len(TILING) and all(step.inferred for step in steps)


@pytest.mark.parametrize(
    ("dtype", "flags", "fills", "untouched"),
    [
        (F32, (True, True), {}, ()),
        (F16, (True, True), {}, ()),
        (F32, (False, True), {"dgammaOut": 0.0}, ()),
        (F32, (False, False), {"dgammaOut": 0.0, "dbetaOut": 0.0}, ()),
        (F16, (True, False), {}, ("dbetaOut",)),
        (BF16, (False, False), {}, ("dgammaOut", "dbetaOut")),
    ],
)
def test_outputs_whose_flag_is_off(dtype, flags, fills, untouched):
    flags = dict(zip(("dgammaIsRequire", "dbetaIsRequire"), flags))
    outcome = evaluate("group_norm_swish", call(GOOD | of_dtype(dtype) | flags))
    assert (outcome.fills, outcome.untouched) == (fills, untouched)


def test_workspace():
    assert workspace("group_norm_swish", GOOD) == MIB_16
    assert workspace("group_norm_swish", GOOD, **of_dtype(F16)) == MIB_16 + 2 * 512
    assert (
        workspace("group_norm_swish", GOOD, x=tensor(2, 4, 3, 3, strides=(1, 2, 8, 24)))
        == MIB_16 + 512
    )


@in_one
@pytest.mark.parametrize(
    ("cann", "changes", "expected"),
    [
        ("9.1", {}, {}),
        ("9.1", {"dbetaOut": tensor(4, strides=(2,))}, {"strided output": "device.run"}),
        ("9.1", {"dy": tensor(2, 4, 3, 3, strides=(1, 2, 8, 24))}, {}),
        ("9.1", sized(c=4001, groups=1), {"group width limit": "device.run"}),
        ("9.1", sized(c=4000, groups=1), {}),
        (
            "9.1",
            {"numGroups": 3, "mean": tensor(2, 3), "rstd": tensor(2, 3)},
            {"group width": "device.run"},
        ),
        ("9.1", sized(n=0), {"batch times groups": "device.run"}),
        ("9.1", sized(spatial=(0,)), {"spatial size": "device.run"}),
        ("9.1", {"rstd": tensor(2, 3)}, {"rstd shape as mean": "device.run"}),
        ("9.1", {"beta": tensor(5), "dbetaOut": tensor(5)}, {"beta shape": "device.run"}),
        (
            "9.1",
            dict.fromkeys(("dy", "x", "dxOut"), tensor(2)),
            {
                "dy rank": "device.run",
                "gamma shape": "device.run",
                "beta shape": "device.run",
                "group width": "device.run",
            },
        ),
        ("9.1", {"dxOut": tensor(72)}, {"dxOut shape": "device.run"}),
        ("9.1", {"dgammaOut": tensor(5)}, {"dgammaOut shape": "device.run"}),
        ("9.1", {"dbetaOut": tensor(5)}, {"dbetaOut shape": "device.run"}),
        ("9.1", {"swishScale": 2.0}, {}),
        ("9.1.0-beta.3", {"swishScale": 2.0}, {"swishScale before 9.1": "device.run"}),
        ("9.1.0.pre", {"swishScale": 2.0}, {}),
        ("8.1", {"swishScale": 1.0}, {}),
        ("9.1", {"dataFormatOptional": "NHWC"}, {"data format": "nobody"}),
        ("9.1", {"dataFormatOptional": None}, {}),
    ],
)
def test_constraints(cann, changes, expected):
    assert violated("group_norm_swish", GOOD, "910b", cann, **changes) == expected
