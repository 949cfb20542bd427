"""Documented status codes, called through the C API on the emulator, and the formats that each product takes.

Sources: the documentation of each operator (return values and product support), CANN 8.1 to 9.1.
"""

import pytest
from contract_table import F16, I64

from aclnn_viz import case, operator
from aclnn_viz.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, FORMATS
from aclnn_viz.operators.contract import Call
from aclnn_viz.operators.contract.model import Scope
from aclnn_viz.operators.products import A2, A3, ASCEND_950, INFERENCE, PRODUCTS, TRAINING, Version
from aclnn_viz.verification.contract import expected_status, status

I8 = 2


def nulls(names):
    return [({name: None}, 161001) for name in names.split()]


GOOD = {
    "hardswish": dict.fromkeys(("gradOutput", "self", "out"), ((2, 3),)),
    "rms_norm": dict.fromkeys(("dy", "x", "dxOut"), ((2, 64),))
    | dict.fromkeys(("gamma", "dgammaOut"), ((64,),))
    | {"rstd": ((2,),)},
    "grid_sampler_2d": dict.fromkeys(("input", "inputGrad"), ((1, 2, 4, 5),))
    | dict.fromkeys(("grid", "gridGrad"), ((1, 3, 3, 2),))
    | {"gradOutput": ((1, 2, 3, 3),)},
    "cross_entropy_loss": {
        "gradLoss": ((),),
        "logProb": ((4, 3),),
        "target": ((4,), I64),
        "weightOptional": ((3,),),
        "xGradOut": ((4, 3),),
    },
    "group_norm_swish": {},
}
#: What is spoiled, and the status of phase 1 on an Atlas A2 with CANN 9.1.
CLAUSES = {
    "hardswish": [
        ({}, 0),
        *nulls("gradOutput self out"),
        ({"self": ((2, 3), I8)}, 161002),
        ({"out": ((2, 3), F16)}, 161002),
        ({"gradOutput": ((3, 2),)}, 161002),
        ({"out": ((3, 2),)}, 161002),
    ],
    "rms_norm": [
        ({}, 0),
        *nulls("dy x rstd gamma dxOut dgammaOut"),
        ({"x": ((2, 64), I8)}, 161002),
        ({"rstd": ((2,), F16)}, 161002),
        ({"dy": ((2, 63),)}, 561002),
        ({"gamma": ((63,),)}, 561002),
        ({"rstd": ((3,),)}, 561002),
        ({"rstd": ((2, 1),)}, 0),
    ],
    "grid_sampler_2d": [
        ({}, 0),
        *nulls("gradOutput input grid inputGrad gridGrad"),
        ({"outputMask": None, "input": None}, 0),
        ({"interpolationMode": 3}, 161002),
        ({"interpolationMode": 2}, 0),
        ({"paddingMode": 3}, 161002),
        ({"paddingMode": -1}, 161002),
        ({"input": ((2, 4, 5),)}, 161002),
        ({"grid": ((2, 3, 3, 2),)}, 161002),
        ({"gradOutput": ((1, 1, 3, 3),)}, 161002),
        ({"grid": ((1, 4, 3, 2),)}, 161002),
        ({"grid": ((1, 3, 4, 2),)}, 161002),
        ({"grid": ((1, 3, 3, 3),)}, 161002),
        ({"input": ((1, 2, 0, 5),), "inputGrad": ((1, 2, 0, 5),)}, 161002),
        ({"inputGrad": ((1, 2, 4, 4),)}, 161002),
        ({"gridGrad": ((1, 3, 3, 1),)}, 161002),
        ({"grid": ((1, 3, 3, 2), F16)}, 161002),
    ],
    "cross_entropy_loss": [
        ({}, 0),
        *nulls("gradLoss logProb target xGradOut"),
        ({"weightOptional": None}, 0),
        ({"logProb": ((4, 3), I8)}, 161002),
        ({"target": ((4,), I8)}, 161002),
        ({"target": ((5,), I64)}, 561002),
        ({"weightOptional": ((4,),)}, 561002),
        ({"reduction": None}, 0),
    ],
    "group_norm_swish": [
        ({}, 0),
        *nulls("dy mean rstd x gamma beta dxOut dgammaOut dbetaOut"),
        ({"dy": ((2, 4, 3), I8)}, 161002),
        ({"gamma": ((5,),)}, 0),
        ({"numGroups": 3}, 0),
    ],
}


@pytest.mark.parametrize("name", CLAUSES)
def test_a_call_through_the_c_api_has_the_documented_status(name):
    assert [
        (spoiled, found)
        for spoiled, code in CLAUSES[name]
        if (found := status(name, **GOOD[name] | spoiled)) != code
    ] == []


NARROW, OLD = {FLOAT16, BFLOAT16, FLOAT32}, {FLOAT16, FLOAT32}
NEW = (A2, A3, ASCEND_950)
#: Formats that a call in one format may have, by product; all else is refused.
SUPPORTED = {
    "hardswish": dict.fromkeys(NEW, NARROW) | {TRAINING: OLD},
    # 910: only in the registry of CANN 8.1
    "rms_norm": dict.fromkeys(NEW, NARROW) | {INFERENCE: OLD, TRAINING: OLD},
    # Neither DOUBLE on 910 nor 310P is in the documents; the library's check takes both.
    "grid_sampler_2d": dict.fromkeys(NEW, NARROW | {FLOAT64})
    | dict.fromkeys((TRAINING, INFERENCE), OLD | {FLOAT64}),
    "cross_entropy_loss": dict.fromkeys(NEW, NARROW),
    "group_norm_swish": dict.fromkeys(NEW, NARROW),
}
# refused for nothing but the format
PLAIN = {"rms_norm": {"shape": (6, 64)}, "cross_entropy_loss": {"ignoreIndex": 9}}


@pytest.mark.parametrize("name", SUPPORTED)
def test_a_product_takes_the_formats_that_are_documented(name):
    """A refusal is 161002; on 310P hardswish passes the check, and no kernel is found."""
    wrong = []
    for product in (*NEW, INFERENCE, TRAINING):
        for fmt in FORMATS:
            weightless = (
                {"weightOptional": None} if (name, fmt) == ("cross_entropy_loss", FLOAT64) else {}
            )
            found = expected_status(
                operator(name),
                product,
                "9.1",
                case(name, dtype=fmt.name, **PLAIN.get(name, {}) | weightless).inputs,
            )
            refused = (
                561103 if name == "hardswish" and product is INFERENCE and fmt in OLD else 161002
            )
            if found != (0 if fmt in SUPPORTED[name].get(product, ()) else refused):
                wrong.append((product.tag, fmt.name, found))
    assert wrong == []


@pytest.mark.parametrize(
    ("cann", "holds"),
    [("8.5", False), ("9.0", True), ("9.0.1", True), ("9.1.0-beta.1", True), ("9.1", False)],
)
def test_a_rule_holds_from_its_first_version_on_and_before_its_last(cann, holds):
    scope = Scope(since=Version.parse("9.0"), until=Version.parse("9.1"), products=(A2,))
    assert scope.applies(Call(A2, Version.parse(cann))) is holds and not scope.applies(
        Call(PRODUCTS[-1], Version.parse(cann))
    )
