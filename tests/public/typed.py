"""The public surface as a type checker sees it: `mypy --strict` on this file, by `make release-check`; it is not run."""

from typing import assert_type

import numpy as np

import aclnn_viz as av
from aclnn_viz.accuracy.report import Report
from aclnn_viz.cases.case import Case
from aclnn_viz.checking.result import CheckResult
from aclnn_viz.explorers.widget import Explorer
from aclnn_viz.operators import Operator, Truth
from aclnn_viz.proving.proofs import Result

op = av.operator("rms_norm")
assert_type(op, Operator)
assert_type(av.operators(), tuple[Operator, ...])
case = av.case(op, dtype="bfloat16", seed=0, shape=(4, 16))
assert_type(case, Case)
out = op.backward(**case.inputs)
out["dxOut"].astype(np.float64)
truth = op.truth(**case.inputs)
assert_type(truth, Truth)
report = av.compare(out["dxOut"], truth["dxOut"])
assert_type(report, Report)
assert_type(report.max_ulp, float)
result = av.check(op, op.backward, seed=0)
assert_type(result, CheckResult)
assert_type(result.passed, bool)
with av.open_device("host") as device:
    device.run(op, **case.inputs)["dxOut"].astype(np.float64)
assert_type(av.explore("grid_sampler_2d"), Explorer)
assert_type(av.cpp_sample(op, case), str)
assert_type(av.prove(op), Result)
av.operator(3)  # type: ignore[arg-type]
