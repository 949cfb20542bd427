"""Recompute errors in the vendor's document of cross entropy: functions that the expressions of errata.toml call by name."""

from functools import partial

import numpy as np

from aclnn_viz.operators.codes import ACL_INT64
from aclnn_viz.operators.products import A2
from aclnn_viz.verification import contract
from aclnn_viz.verification.contract import Run

# log-probabilities of two rows with two equally probable classes
EVEN = np.log(np.full((2, 2), 0.5))
status = partial(
    contract.status,
    "cross_entropy_loss",
    logProb=((4, 3),),
    target=((4,), ACL_INT64),
    weightOptional=((3,),),
    xGradOut=((4, 3),),
)


def ce_run(target, soc: str = A2, gradLoss=1.0, logProb=EVEN, **attributes) -> Run:
    """Run both phases in float32, by default with gradLoss 1; the output holds 7 before the call."""
    log_prob = np.float32(logProb)
    given = {
        "gradLoss": np.asarray(gradLoss, np.float32),
        "logProb": log_prob,
        "target": np.asarray(target, np.int64),
        "weightOptional": None,
        "reduction": "sum",
        "ignoreIndex": -100,
        "xGradOut": np.full(log_prob.shape, 7, np.float32),
    }
    return contract.run("cross_entropy_loss", soc, **given | attributes)


def out(target, *arguments, **attributes):
    return ce_run(target, *arguments, **attributes).outputs["xGradOut"]


def printed_mean(mask, gradLoss=1.0, weight=1.0):
    """Return exp(logProb) nll - onehot nll with nll = grad / W m w, W = sum of w m, for two rows with target 0."""
    m = np.asarray(mask, float)
    with np.errstate(all="ignore"):
        nll = gradLoss / np.sum(weight * m) * m * weight
        return np.exp(EVEN) * nll[:, None] - np.array([1, 0]) * nll[:, None]


def unnormalised() -> dict:
    """Return the inputs of the vendor's sample: logProb -0.2 everywhere, gradLoss 0.1, targets 0, mean."""
    return {
        "gradLoss": np.float64(0.1),
        "logProb": np.full((2, 3), -0.2),
        "target": np.zeros(2, np.int64),
    }
