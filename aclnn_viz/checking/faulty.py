"""Named faults as kernels that can be called."""

from dataclasses import fields, replace

import numpy as np

from aclnn_viz.dtypes import FLOAT32
from aclnn_viz.operators import Operator, operator, plans
from aclnn_viz.operators.faults import Fault


def faulty_kernel(op, fault: Fault):
    """Return the wrong kernel `kernel(**inputs)` of a named fault.

    >>> from aclnn_viz.operators.faults import faults
    >>> kernel = faulty_kernel("hardswish", faults("hardswish")[0])
    >>> kernel(gradOutput=np.ones(1, np.float32), self=np.float32([3]))["out"]
    array([1.], dtype=float32)
    """
    op = operator(op)
    wrong = replace(op, page=fault.page(op.page))
    if fault.cast:
        wrong = _WideOutputs(**{part.name: getattr(wrong, part.name) for part in fields(wrong)})

    def kernel(**inputs):
        taken = fault.alters(inputs) if fault.alters else inputs
        if fault.plan:
            return plans.run(wrong, replace(fault.plan, page=wrong.page.backward), **taken)
        outputs = wrong.backward(**taken)
        if not fault.cast:
            return outputs
        documented = op.arrange_backward(**op.bind(inputs)).results
        return {name: fault.cast(value, documented[name].format) if documented[name].format.bits == 16 else value
                for name, value in outputs.items()}
    return kernel


class _WideOutputs(Operator):
    """An operator whose 16-bit outputs are still float32; whoever calls it casts them."""

    def arrange_backward(self, /, **bound):
        arranged = super().arrange_backward(**bound)
        results = {name: result._replace(format=FLOAT32) if result.format.bits == 16 else result
                   for name, result in arranged.results.items()}
        return arranged._replace(results=results)
