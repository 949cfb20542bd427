"""Recompute errors in the vendor's document of RMS norm: functions that the expressions of errata.toml call by name."""

from functools import partial

import numpy as np

from aclnn_viz.operators.codes import ACL_FLOAT, ACL_FORMAT_ND
from aclnn_viz.verification import contract
from aclnn_viz.verification.contract import Bench

X, DY, RSTD = np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]]), np.array([[1.0], [0.5]])


def shapes(x, rstd, gamma) -> dict:
    return {
        "dy": (x,),
        "x": (x,),
        "rstd": (rstd,),
        "gamma": (gamma,),
        "dxOut": (x,),
        "dgammaOut": (gamma,),
    }


USUAL = shapes((2, 64), (2,), (64,))
status = partial(contract.status, "rms_norm", **USUAL)


def documented_ranks(first: int, last: int):
    """Return the ranks of x that the printed rules allow: rstd = x[0:n] and gamma = x[n:] with 1 to 8 axes each."""
    return [
        rank
        for rank in range(first, last + 1)
        if any(1 <= n <= 8 and 1 <= rank - n <= 8 for n in range(rank))
    ]


def through_strides():
    """Run rms norm with x and dy of shape (1, 2) and strides of 2, rstd and gamma of ones; it returns dgammaOut."""

    def every_second(*values):
        return np.repeat(np.float32([values]), 2, axis=1)[:, ::2]

    ones = np.ones(2, np.float32)
    return contract.run(
        "rms_norm",
        dy=every_second(3, 5),
        x=every_second(1, 2),
        rstd=ones[:1],
        gamma=ones,
        dxOut=np.zeros((1, 2), np.float32),
        dgammaOut=0 * ones,
    ).outputs["dgammaOut"]


def on_the_host():
    """Return the statuses of both phases and of synchronise when x is in host memory."""
    bench, x = Bench("rms_norm"), np.ones((2, 64), np.float32)
    there = bench.acl.aclCreateTensor(
        [2, 64], ACL_FLOAT, None, 0, ACL_FORMAT_ND, [2, 64], x.ctypes.data
    )
    return list(bench.run(USUAL | {"x": there}).statuses)
