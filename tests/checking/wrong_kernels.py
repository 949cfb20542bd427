"""Wrong kernels for the tests of the checker."""

from aclnn_viz import operator
from aclnn_viz.operators.faults.fault import faulty_kernel
from aclnn_viz.operators.faults import faults

RMS, SWISH = operator("rms_norm"), operator("hardswish")


def fault(name, title):
    return faulty_kernel(name, next(one for one in faults(name) if one.name == title))


def swish(change):
    """A hardswish kernel whose right output goes through `change`."""
    return lambda **inputs: change(SWISH.backward(**inputs)["out"])
