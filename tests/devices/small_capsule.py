"""Small cases of every operator, as in a capsule, and a bitwise comparison of outputs."""

from machine import taught

import aclnn_viz as av


def pairs(cases):
    return [(case.operator, case.inputs) for case in cases]


SMALL = pairs(
    av.case(op, dtype=dtype, seed=seed)
    for op in taught()
    for seed, dtype in enumerate(("float32", "bfloat16"))
)


def same(actual, expected):
    assert actual.keys() == expected.keys()
    assert all(
        actual[k].dtype == v.dtype
        and actual[k].shape == v.shape
        and actual[k].tobytes() == v.tobytes()
        for k, v in expected.items()
    )
