"""`check`: run a kernel on the suite, judge it, make its first failure small, and say which mistake it looks like."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path

from aclnn_viz.checking.examining import conclude, examine
from aclnn_viz.checking.exchange import read_and_check, read_prepared
from aclnn_viz.checking.result import CheckResult
from aclnn_viz.checking.shrinking import shrink
from aclnn_viz.devices import AclError, ConstraintWarning, FunctionUnavailable, RefusedError, open_device
from aclnn_viz.errors import problem
from aclnn_viz.operators import Operator, operator, operators

SHRINKING = 1.5  # seconds
REFUSALS = (AclError, FunctionUnavailable, RefusedError)


def check(op, kernel=None, seed: int = 0, *, time_limit: float = 60.0, call_limit: float = 10.0,
          progress: Callable | None = None) -> CheckResult:
    """Tell whether a kernel is right, where it first goes wrong, and what the mistake looks like.

    `kernel(**inputs)` takes the vendor's parameters and returns a dict by the vendor's output names, or an array or
    tuple in the vendor's order; arrays of NumPy, torch or any library that speaks DLPack. The name of a device, such as
    "host" or "atlas:1", checks the operator of that device; what it refuses is not judged. In place of an operator, the
    path of a dump (`counterexample.write(path)`, or `aclnn-viz check OP --write path`) checks a kernel on its cases
    alone; without a kernel, the outputs that lie there.

    No new case starts after `time_limit` seconds, and a call that takes longer than `call_limit` is given up.
    `progress(iterable, total)` may show a bar. Raises ValueError for an unknown operator or device and for a dump that
    is not whole, TypeError for a kernel that cannot be called.

    >>> import aclnn_viz as av
    >>> result = check("rms_norm", lambda **inputs: av.operator("rms_norm").backward(**inputs))
    >>> result.passed
    True
    """
    dumped = None
    if _names_a_dump(op):
        if kernel is None:
            return read_and_check(None, op)
        op, dumped = read_prepared(op)
    op = operator(op)
    if isinstance(kernel, str):
        with open_device(kernel) as device, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstraintWarning)
            return _check(op, lambda **inputs: device.run(op, **inputs), seed, time_limit, None, progress, REFUSALS,
                          dumped)
    if not callable(kernel):
        raise TypeError(problem("a kernel is a function or the name of a device", type(kernel).__name__,
                                "pass such as my_kernel, which takes the vendor's parameters as keywords"))
    return _check(op, kernel, seed, time_limit, call_limit, progress, (), dumped)


def _names_a_dump(op) -> bool:
    """A path object, or a text that is a folder and no operator's name."""
    if isinstance(op, Operator) or not isinstance(op, (str, Path)):
        return False
    known = {name for one in operators() for name in (one.name, one.aclnn_name)}
    return isinstance(op, Path) or op not in known and ("/" in op or "\\" in op or Path(op).exists())


def _check(op, kernel, seed, time_limit, call_limit, progress, refusals, dumped) -> CheckResult:
    start = time.monotonic()
    evidence = examine(op, kernel, seed, time_limit, call_limit, progress, refusals, dumped)
    wrong = min((one for one in evidence.seen if one.misses), key=lambda one: one.elements, default=None)
    small = shrink(wrong, kernel, call_limit, SHRINKING) if wrong and dumped is None else None
    return conclude(op, evidence, seed, kernel=kernel, small=small, seconds=time.monotonic() - start)
