"""What the documents of activations and gated units say that phase 1 answers; each contract follows from a declaration alone."""

import pytest

import aclnn_viz as av
from aclnn_viz.operators.products import A2, ASCEND_950, INFERENCE, INFERENCE_A2, TRAINING
from aclnn_viz.verification.contract import status
from together import in_one

F32, F16, BF16, F64, I8 = (
    av.acl.ACL_FLOAT,
    av.acl.ACL_FLOAT16,
    av.acl.ACL_BF16,
    av.acl.ACL_DOUBLE,
    av.acl.ACL_INT8,
)
NULL, INVALID = 161001, 161002


def all_of(name, shape, dtype=F32):
    """Every tensor of one shape and type."""
    return dict.fromkeys(
        (p.name for p in av.operator(name).c_parameters if p.kind == "tensor"), (shape, dtype)
    )


@in_one
@pytest.mark.parametrize(
    "name,given,product,code",
    [
        ("silu", {}, A2, 0),
        ("silu", {"gradInput": None}, A2, NULL),
        ("silu", all_of("silu", ()), A2, INVALID),
        ("silu", all_of("silu", (1,) * 8), A2, 0),
        ("silu", all_of("silu", (1,) * 9), A2, INVALID),
        ("silu", {"self": ((4, 6), F16)}, A2, INVALID),
        ("silu", {"gradOutput": ((4, 1),)}, A2, INVALID),
        ("silu", {}, INFERENCE, INVALID),
        ("silu", all_of("silu", (4, 6), BF16), TRAINING, INVALID),
        ("silu", all_of("silu", (0, 6)), A2, 0),
        ("swish", all_of("swish", ()), A2, 0),
        ("gelu", {"gradOutput": ((4, 1),)}, A2, 0),
        ("gelu", {"gradOutput": ((3, 1),)}, A2, INVALID),
        ("gelu", {"gradInput": ((4, 1),)}, A2, INVALID),
        ("gelu_v2", {"approximate": "tanh"}, A2, 0),
        ("gelu_v2", {"approximate": "Tanh"}, A2, INVALID),
        ("gelu_v2", {"approximate": None}, A2, NULL),
        ("softplus", all_of("softplus", (4, 6), F64), TRAINING, 0),
        ("softplus", {"beta": None}, A2, NULL),
        ("hardtanh", {}, INFERENCE_A2, 0),
        ("hardtanh", all_of("hardtanh", (0, 6)), A2, INVALID),
        ("hardtanh", {"min": None}, A2, NULL),
        ("threshold", {"threshold": 0.5}, A2, 0),
        ("threshold", {"threshold": 0.5}, ASCEND_950, INVALID),
        ("threshold", {}, ASCEND_950, 0),
        ("leaky_relu", {"negativeSlope": -0.5}, A2, 0),
        ("leaky_relu", {"negativeSlope": -0.5, "selfIsResult": True}, A2, INVALID),
        ("elu", {"alpha": -1.0}, A2, 0),
        ("elu", {"alpha": -1.0, "isResult": True}, A2, INVALID),
        ("elu", {"scale": None}, A2, NULL),
        ("log_sigmoid", {"buffer": None}, A2, NULL),
        ("log_sigmoid", {"buffer": ((4, 5),)}, A2, INVALID),
        ("sigmoid", all_of("sigmoid", (4, 6), F64), A2, 0),
        ("sigmoid", all_of("sigmoid", (4, 6), I8), A2, INVALID),
        ("hardswish_v2", all_of("hardswish_v2", ()), A2, INVALID),
        ("prelu", {"weight": ((4,),)}, A2, INVALID),
        # gradOut is half as long along the last axis
        ("glu", {"dim": 2}, A2, INVALID),
        ("glu", {"dim": -2}, A2, INVALID),
        ("glu", {"self": ((4, 5),), "out": ((4, 5),)}, A2, INVALID),
        ("swi_glu", {"yGrad": ((0, 3),), "x": ((0, 6),), "out": ((0, 6),)}, A2, INVALID),
        ("ge_glu", {"approximate": 2}, A2, INVALID),
        ("ge_glu", {"approximate": 0}, INFERENCE, INVALID),
        ("ge_glu", {"approximate": 1}, INFERENCE, 0),
        ("ge_glu", {"gelu": None}, A2, NULL),
        ("glu", {"out": None}, A2, NULL),
    ],
)
def test_phase_1_answers_what_the_document_says(name, given, product, code):
    assert status(name, product, **given) == code
