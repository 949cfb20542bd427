"""RMS norm: rows of different size, one so small that epsilon matters; rstd as the forward pass saves it."""

from math import prod
from numbers import Integral

import numpy as np

from aclnn_viz.cases.draw import Draw
from aclnn_viz.errors import problem
from aclnn_viz.operators import operator

SHAPE = (8, 64)
OPTIONS = ("gamma_ndim",)


def draw(source: Draw, shape) -> dict:
    gamma_ndim = source.attribute("gamma_ndim", 1)
    if not isinstance(gamma_ndim, Integral) or not 1 <= gamma_ndim <= len(shape):
        raise ValueError(problem(f"gamma_ndim must lie in 1 to {len(shape)}, the rank of x", repr(gamma_ndim),
                                 "gamma spans that many trailing axes"))
    split = len(shape) - gamma_ndim
    epsilon = source.attribute("epsilon", 1e-6)

    def rows(rng):
        scale = 10.0 ** rng.uniform(-1, 1, (prod(shape[:split]), 1))
        scale[-1:] = np.sqrt(epsilon)  # eps inside or outside of the root makes no difference to the others
        return scale * rng.standard_normal((prod(shape[:split]), prod(shape[split:])))

    x = source.tensor("x", shape, rows)
    gamma = source.tensor("gamma", shape[split:], lambda rng: 1 + 0.5 * rng.standard_normal(shape[split:]))
    dy = source.normal("dy", shape)
    saved = operator("rms_norm").forward(x=x, gamma=gamma, epsilon=epsilon)["rstd"]
    return {"dy": dy, "x": x, "rstd": source.saved("rstd", saved), "gamma": gamma}
