"""Right kernels in other words: by hand, precision plans, the order of device kernels."""

import numpy as np
from checking.wrong import SLIPS
from checking.wrong import kernel as by_hand

from aclnn_viz import operator
from aclnn_viz.arrays.plan import BLOCKED, PAIRWISE, SEQUENTIAL, SHUFFLED, Plan
from aclnn_viz.operators import plans


def differentiated(gradOutput, self):
    """Return the automatic derivative of x * clip(x + 3, 0, 6) / 6."""
    x, dy = (part.astype(np.result_type(part, np.float32)) for part in (self, gradOutput))
    inside = np.where((x + 3 >= 0) & (x + 3 <= 6), x, 0)
    return (dy / 6 * np.clip(x + 3, 0, 6) + dy / 6 * inside).astype(self.dtype)


def in_float32(name):
    """Return the kernel by hand, without float64."""

    def kernel(**inputs):
        if any(getattr(value, "dtype", None) == np.float64 for value in inputs.values()):
            raise NotImplementedError("float64")
        return by_hand(name)(**inputs)

    return kernel


def planned(name, plan):
    def kernel(**inputs):
        if any(isinstance(value, np.ndarray) and value.size == 0 for value in inputs.values()):
            return operator(name).backward(**inputs)  # plans need tensors with elements
        return plans.run(operator(name), plan, **inputs)

    return kernel


PLANS = {
    "one after another": Plan(coordinates="float32", order=SEQUENTIAL, division_ulps=1.0),
    "binary tree": Plan(coordinates="float64", order=PAIRWISE),
    "tiles of 16 on four cores": Plan(coordinates="float32", order=BLOCKED, tile=16, cores=4),
    "atomic additions": Plan(
        order=SHUFFLED, scatter=SHUFFLED, tile=8, cores=3, seed=1, coordinates="float32"
    ),
}


def rewritings(name):
    """Yield right kernels of an operator, by their difference."""
    yield "the kit's own", operator(name).backward
    if name in SLIPS:
        yield "by hand", in_float32(name)
    if name == "hardswish":
        yield "automatic differentiation", differentiated
    for label, plan in PLANS.items():
        yield label, planned(name, plan)
    yield "as on Atlas A2", planned(name, plans.preset(name, "Ascend910B2", "9.1"))
    if name != "grid_sampler_2d":  # there Ascend 950 rounds coordinates to 16 bits
        yield "as on Ascend 950", planned(name, plans.preset(name, "Ascend950PR_9589", "9.1"))
