"""The documented status codes, written down by hand, against the emulator.

Sources: the documentation of each operator (return values and product support), CANN 8.1 to 9.1.
"""

from collections.abc import Callable


from aclnn_viz.acl import HostAcl
from aclnn_viz.codes import ACL_FLOAT, ACL_FORMAT_ND, ACL_INT64, ACL_INT8
from aclnn_viz.dtypes import BFLOAT16, FLOAT16, FLOAT32, FLOAT64
from aclnn_viz.operators import Operator
from aclnn_viz.products import A2, A3, ASCEND_950, INFERENCE, TRAINING
from aclnn_viz.verification.check import Check

NULL, INVALID, TILING, INNER_NULL = 161001, 161002, 561002, 561103
HALVES_AND_FLOAT = {FLOAT16, BFLOAT16, FLOAT32}

#: Formats that a call in one format may have, by operator and product tag; all else is refused.
SUPPORTED = {
    "hardswish": {A2: HALVES_AND_FLOAT, A3: HALVES_AND_FLOAT, ASCEND_950: HALVES_AND_FLOAT,
                  TRAINING: {FLOAT16, FLOAT32}},
    "rms_norm": {A2: HALVES_AND_FLOAT, A3: HALVES_AND_FLOAT, ASCEND_950: HALVES_AND_FLOAT,
                 INFERENCE: {FLOAT16, FLOAT32},
                 TRAINING: {FLOAT16, FLOAT32}},  # 910: not in the documents, but in the registry of CANN 8.1
    "grid_sampler_2d": {
        A2: HALVES_AND_FLOAT | {FLOAT64}, A3: HALVES_AND_FLOAT | {FLOAT64}, ASCEND_950: HALVES_AND_FLOAT | {FLOAT64},
        TRAINING: {FLOAT16, FLOAT32, FLOAT64},  # DOUBLE is not in the documents; the library's check takes it
        INFERENCE: {FLOAT16, FLOAT32, FLOAT64}},  # 310P is not in the documents; the library's check is the one of 910
    "cross_entropy_loss": {A2: HALVES_AND_FLOAT, A3: HALVES_AND_FLOAT, ASCEND_950: HALVES_AND_FLOAT},
    "group_norm_swish": {A2: HALVES_AND_FLOAT, A3: HALVES_AND_FLOAT, ASCEND_950: HALVES_AND_FLOAT},
}


def plain(op: Operator, fmt) -> dict:
    """What a case must be given so that no rule beside the format refuses it on any product."""
    if op.name == "rms_norm":
        return {"shape": (6, 64)}  # 32 bytes in the last axis for 310P, 64 elements for 910
    if op.name == "cross_entropy_loss":  # negative targets are read unguarded before CANN 9.0, and refused on 950
        return {"ignoreIndex": 9} | ({"weightOptional": None} if fmt is FLOAT64 else {})
    return {}


def expected_status(op: Operator, fmt, product) -> int:
    if fmt in SUPPORTED[op.name].get(product, ()):
        return 0
    if op.name == "hardswish" and product is INFERENCE and fmt in (FLOAT16, FLOAT32):
        return INNER_NULL  # the check passes, and no kernel is found
    return INVALID


class Caller:
    """Phase 1 of an operator with good arguments, of which a row of a table spoils some."""

    GOOD: dict[str, dict[str, Callable]] = {
        "hardswish": dict(gradOutput=((2, 3),), self=((2, 3),), out=((2, 3),)),
        "rms_norm": dict(dy=((2, 64),), x=((2, 64),), rstd=((2,),), gamma=((64,),), dxOut=((2, 64),),
                         dgammaOut=((64,),)),
        "grid_sampler_2d": dict(gradOutput=((1, 2, 3, 3),), input=((1, 2, 4, 5),), grid=((1, 3, 3, 2),),
                                interpolationMode=0, paddingMode=0, alignCorners=False, outputMask=[True, True],
                                inputGrad=((1, 2, 4, 5),), gridGrad=((1, 3, 3, 2),)),
        "cross_entropy_loss": dict(gradLoss=((),), logProb=((4, 3),), target=((4,), ACL_INT64), weightOptional=((3,),),
                                   gradZlossOptional=None, lseForZlossOptional=None, reduction="mean", ignoreIndex=-100,
                                   labelSmoothing=0.0, lseSquareScaleForZloss=0.0, xGradOut=((4, 3),)),
        "group_norm_swish": dict(dy=((2, 4, 3),), mean=((2, 2),), rstd=((2, 2),), x=((2, 4, 3),), gamma=((4,),),
                                 beta=((4,),), numGroups=2, dataFormatOptional="NCHW", swishScale=1.0,
                                 dgammaIsRequire=True, dbetaIsRequire=True, dxOut=((2, 4, 3),), dgammaOut=((4,),),
                                 dbetaOut=((4,),)),
    }

    def __init__(self, op: Operator):
        self.op = op
        self.acl = HostAcl(memory=1 << 20)
        self.acl.aclInit(None)
        self.acl.aclrtSetDevice(0)
        _, self.address = self.acl.aclrtMalloc(1 << 16, 0)

    def status(self, spoiled: dict) -> int:
        arguments = [self._argument(value) for value in (self.GOOD[self.op.name] | spoiled).values()]
        return getattr(self.acl, f"{self.op.aclnn_name}GetWorkspaceSize")(*arguments)[0]

    def _argument(self, value):
        if isinstance(value, list):
            return self.acl.aclCreateBoolArray(value)
        if not isinstance(value, tuple):
            return value
        shape, dtype = (*value, ACL_FLOAT)[:2]
        return self.acl.aclCreateTensor(list(shape), dtype, None, 0, ACL_FORMAT_ND, list(shape), self.address)


def _nulls(names: str) -> list:
    return [({name: None}, NULL) for name in names.split()]


#: (what is spoiled, the status) of phase 1 on an Atlas A2 with CANN 9.1; shapes are tuples in a tuple.
CLAUSES = {
    "hardswish": [({}, 0), *_nulls("gradOutput self out"), ({"self": ((2, 3), ACL_INT8)}, INVALID),
                  ({"out": ((2, 3), FLOAT16.acl_code)}, INVALID), ({"gradOutput": ((3, 2),)}, INVALID),
                  ({"out": ((3, 2),)}, INVALID)],
    "rms_norm": [({}, 0), *_nulls("dy x rstd gamma dxOut dgammaOut"), ({"x": ((2, 64), ACL_INT8)}, INVALID),
                 ({"rstd": ((2,), FLOAT16.acl_code)}, INVALID), ({"dy": ((2, 63),)}, TILING),
                 ({"gamma": ((63,),)}, TILING), ({"rstd": ((3,),)}, TILING), ({"rstd": ((2, 1),)}, 0)],
    "grid_sampler_2d": [
        ({}, 0), *_nulls("gradOutput input grid inputGrad gridGrad"), ({"outputMask": None, "input": None}, 0),
        ({"interpolationMode": 3}, INVALID), ({"interpolationMode": 2}, 0), ({"paddingMode": 3}, INVALID),
        ({"paddingMode": -1}, INVALID), ({"input": ((2, 4, 5),)}, INVALID), ({"grid": ((2, 3, 3, 2),)}, INVALID),
        ({"gradOutput": ((1, 1, 3, 3),)}, INVALID), ({"grid": ((1, 4, 3, 2),)}, INVALID),
        ({"grid": ((1, 3, 4, 2),)}, INVALID), ({"input": ((1, 2, 0, 5),), "inputGrad": ((1, 2, 0, 5),)}, INVALID),
        ({"grid": ((1, 3, 3, 3),)}, INVALID), ({"inputGrad": ((1, 2, 4, 4),)}, INVALID),
        ({"gridGrad": ((1, 3, 3, 1),)}, INVALID), ({"grid": ((1, 3, 3, 2), FLOAT16.acl_code)}, INVALID)],
    "cross_entropy_loss": [
        ({}, 0), *_nulls("gradLoss logProb target xGradOut"), ({"weightOptional": None}, 0),
        ({"logProb": ((4, 3), ACL_INT8)}, INVALID), ({"target": ((4,), ACL_INT8)}, INVALID),
        ({"target": ((5,), ACL_INT64)}, TILING), ({"weightOptional": ((4,),)}, TILING), ({"reduction": None}, 0)],
    "group_norm_swish": [
        ({}, 0), *_nulls("dy mean rstd x gamma beta dxOut dgammaOut dbetaOut"),
        ({"dy": ((2, 4, 3), ACL_INT8)}, INVALID),
        ({"gamma": ((5,),)}, 0), ({"numGroups": 3}, 0)],  # the tiling's complaints are discarded
}


def check(op: Operator) -> Check:
    def run():
        caller = Caller(op)
        for spoiled, expected in CLAUSES[op.name]:
            found = caller.status(spoiled)
            yield 0.0, None if found == expected else f"status {found} instead of {expected} for {spoiled}"
    return Check(op.name, "status codes", "910b 9.1", "", run)
