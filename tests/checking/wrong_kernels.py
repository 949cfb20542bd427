"""Wrong kernels for the tests of the checker."""

import numpy as np

from aclnn_viz import operator
from aclnn_viz.checking.judge import case_at, prepared_at, suite_recipes
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.faults.fault import faulty_kernel

RMS, SWISH = operator("rms_norm"), operator("hardswish")


def fault(name, title):
    return faulty_kernel(name, next(one for one in faults(name) if one.name == title))


def suite_where(op, wanted):
    """Return the judged cases of a suite that are wanted, without computing others."""
    numbers = range(len(suite_recipes(op.name)))
    return (
        prepared_at(op.name, number, 0) for number in numbers if wanted(case_at(op.name, number, 0))
    )


def swish(change):
    """Return a hardswish kernel whose right output goes through `change`."""
    return lambda **inputs: change(SWISH.backward(**inputs)["out"])


def single(kernel):
    """Return the kernel in float32, even for float64 inputs."""

    def cast(values, old, new):
        return {
            name: value.astype(new) if getattr(value, "dtype", None) == old else value
            for name, value in values.items()
        }

    def run(**inputs):
        narrow = cast(inputs, np.float64, np.float32)
        wide = any(narrow[name] is not value for name, value in inputs.items())
        outputs = kernel(**narrow)
        return cast(outputs, np.float32, np.float64) if wide else outputs

    return run


def scaled(op, factor):
    """Return the right kernel, each output times a factor."""
    return lambda **inputs: {
        name: np.asarray(value * value.dtype.type(factor))
        for name, value in op.backward(**inputs).items()
    }


def watched(op):
    """Return a list that collects the inputs of each call, and the right kernel that fills it."""
    seen = []
    return seen, lambda **inputs: seen.append(inputs) or op.backward(**inputs)
