"""Every sentence of the vendor's pages that names a status code, one row each, and the answer of the library.

The pages are those of CANN 8.x for aclnnHardswishBackward, aclnnRmsNormGrad, aclnnGridSampler2DBackward and
aclnnCrossEntropyLossGrad. Where the library answers otherwise, the row gives both codes.
"""

from importlib import import_module

import pytest
from contract_table import BF16, F16, F64, I32, status, tensor

GOOD = {name: import_module(f"test_contract_{name}").GOOD
        for name in ("hardswish", "rms_norm", "grid_sampler_2d", "cross_entropy_loss")}
ALL_DOUBLE = {operator: {name: tensor(*value.shape, dtype=F64) for name, value in good.items()
                         if hasattr(value, "shape")} for operator, good in GOOD.items()}

CLAUSES = [
    # 161001: gradOutput or self is a null pointer
    ("hardswish", {"gradOutput": None}, 161001), ("hardswish", {"self": None}, 161001),
    # 161002: 1. data types that are not supported 2. data types that differ 3. gradOutput and self differ in shape
    # 4. out and self differ in shape
    ("hardswish", ALL_DOUBLE["hardswish"], 161002),
    ("hardswish", {"gradOutput": tensor(4, 2, dtype=F16)}, 161002),
    ("hardswish", {"out": tensor(4, 2, dtype=BF16)}, 161002),
    ("hardswish", {"gradOutput": tensor(2, 4)}, 161002),
    ("hardswish", {"out": tensor(4)}, 161002),
    # 161001: a required input or output is a null pointer
    *(("rms_norm", {name: None}, 161001) for name in ("dy", "x", "rstd", "gamma", "dxOut", "dgammaOut")),
    # 161002: data types of inputs or outputs that are not supported
    ("rms_norm", ALL_DOUBLE["rms_norm"], 161002), ("rms_norm", {"rstd": tensor(2, 3, dtype=F16)}, 161002),
    ("rms_norm", {"dgammaOut": tensor(64, dtype=F16)}, 161002),
    # 561002: parameters against their description: one to eight axes, x and dxOut as dy, rstd as the first axes of x,
    # gamma and dgammaOut as its last
    *(("rms_norm", dict.fromkeys(("dy", "x", "dxOut"), tensor(*(1,) * n, 64)), 561002) for n in (8, 9)),
    ("rms_norm", {"x": tensor(3, 2, 64)}, 561002), ("rms_norm", {"dxOut": tensor(3, 2, 64)}, 561002),
    ("rms_norm", {"rstd": tensor(3, 2)}, 561002), ("rms_norm", {"gamma": tensor(32)}, 561002),
    ("rms_norm", {"gamma": tensor()}, 561002), ("rms_norm", {"dgammaOut": tensor(32)}, 561002),
    # 161001: one of the five tensors is a null pointer
    *(("grid_sampler_2d", {name: None}, 161001) for name in ("gradOutput", "input", "grid", "inputGrad", "gridGrad")),
    # 161002: 1. data types that are not supported
    ("grid_sampler_2d", {"grid": tensor(2, 4, 5, 2, dtype=I32)}, 161002),
    # 2. other than four axes
    ("grid_sampler_2d", {"gradOutput": tensor(2, 3, 20)}, 161002),
    ("grid_sampler_2d", {"input": tensor(2, 3, 42)}, 161002), ("grid_sampler_2d", {"grid": tensor(2, 20, 2)}, 161002),
    # 3. interpolationMode or paddingMode out of range
    ("grid_sampler_2d", {"interpolationMode": 2}, 161002), ("grid_sampler_2d", {"interpolationMode": -1}, 161002),
    ("grid_sampler_2d", {"paddingMode": 3}, 161002), ("grid_sampler_2d", {"paddingMode": -1}, 161002),
    # 4. and 5. first axes, second axes
    ("grid_sampler_2d", {"grid": tensor(1, 4, 5, 2), "gridGrad": tensor(1, 4, 5, 2)}, 161002),
    ("grid_sampler_2d", {"gradOutput": tensor(1, 3, 4, 5)}, 161002),
    ("grid_sampler_2d", {"gradOutput": tensor(2, 1, 4, 5)}, 161002),
    # 6. and 7. the axes of grid against those of gradOutput
    ("grid_sampler_2d", {"gradOutput": tensor(2, 3, 1, 5)}, 161002),
    ("grid_sampler_2d", {"gradOutput": tensor(2, 3, 4, 1)}, 161002),
    # 8. the last axes of input are 0 9. the last axis of grid is not 2
    *(("grid_sampler_2d", dict.fromkeys(("input", "inputGrad"), tensor(2, 3, *size)), 161002)
      for size in ((0, 7), (6, 0), (0, 0))),
    *(("grid_sampler_2d", dict.fromkeys(("grid", "gridGrad"), tensor(2, 4, 5, n)), 161002) for n in (0, 1, 3)),
    # 10. shapes of the outputs
    ("grid_sampler_2d", {"inputGrad": tensor(2, 3, 7, 6)}, 161002),
    ("grid_sampler_2d", {"gridGrad": tensor(2, 5, 4, 2)}, 161002),
    # 161001: gradLoss, logProb, target or xGradOut is a null pointer
    *(("cross_entropy_loss", {name: None}, 161001) for name in ("gradLoss", "logProb", "target", "xGradOut")),
    # 161002: data types that are not supported
    ("cross_entropy_loss", {"gradLoss": tensor(dtype=F64)}, 161002),
    ("cross_entropy_loss", {"logProb": tensor(2, 3, dtype=F64)}, 161002),
    ("cross_entropy_loss", {"target": tensor(2, dtype=I32)}, 161002),
]
OTHERWISE = [  # documented 161002; the lookup of a kernel does not compare optional inputs
    ("cross_entropy_loss", {"weightOptional": tensor(3, dtype=F64)}, 161002, 0),
    ("cross_entropy_loss", {"gradZlossOptional": tensor(dtype=F64)}, 161002, 0),
    ("cross_entropy_loss", {"lseForZlossOptional": tensor(2, dtype=F64)}, 161002, 0),
]


@pytest.mark.parametrize(("operator", "changes", "documented"), CLAUSES)
def test_the_library_keeps_what_the_page_says(operator, changes, documented):
    assert status(operator, GOOD[operator], "910b", "8.1") == 0
    assert status(operator, GOOD[operator], "910b", "8.1", **changes) == documented


@pytest.mark.parametrize(("operator", "changes", "documented", "answered"), OTHERWISE)
def test_where_the_library_answers_otherwise(operator, changes, documented, answered):
    assert documented != answered == status(operator, GOOD[operator], "910b", "8.1", **changes)
