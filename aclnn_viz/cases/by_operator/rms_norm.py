"""Generate test cases of RMS norm: rows of different size, one so small that epsilon
matters; rstd from the forward pass.
"""

from math import prod

import numpy as np

from aclnn_viz.cases.default import Draw, trailing
from aclnn_viz.dtypes import STRETCH
from aclnn_viz.operators import operator

SHAPE = (8, 64)
OPTIONS = ("gamma_ndim",)


def draw(source: Draw, shape) -> dict:
    split = len(shape) - trailing("gamma", source.attribute("gamma_ndim", 1), len(shape), "x")
    epsilon = source.attribute("epsilon", 1e-6)

    def rows(rng):
        scale = 10.0 ** rng.uniform(-1, 1, (prod(shape[:split]), 1))
        # the last row is as small as sqrt(eps): only it shows whether eps is inside the root
        scale[-1:] = np.sqrt(max(epsilon, 0.0))
        length = prod(shape[split:])
        for part in np.array_split(scale, max(1, scale.size * length // STRETCH)):
            yield part * rng.standard_normal((part.size, length))

    x = source.tensor("x", shape, rows)
    gamma = source.tensor(
        "gamma", shape[split:], lambda rng: 1 + 0.5 * rng.standard_normal(shape[split:])
    )
    dy = source.normal("dy", shape)
    saved = operator("rms_norm").forward(x=x, gamma=gamma, epsilon=epsilon)["rstd"]
    return {"dy": dy, "x": x, "rstd": source.saved("rstd", saved), "gamma": gamma}
