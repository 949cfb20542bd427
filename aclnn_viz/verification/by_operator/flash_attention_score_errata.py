"""Recompute errors in the vendor's document of attention: functions that the expressions of errata.toml call by name."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.errata.model import gradient

OP, SCALE = operator("flash_attention_score"), 1.0
RNG = np.random.default_rng(18)
Q, K, V, DY = (RNG.normal(size=(1, 1, 3, 4)) for _ in range(4))


def forward(query, scale=SCALE):
    return OP.forward(query=query, keyIn=K, value=V, scaleValue=scale, headNum=1)


def dq(scale):
    """Return dqOut with `scale` as the factor of the gradient, and SCALE as that of the scores."""
    saved = forward(Q)
    found = OP.backward(
        query=Q,
        keyIn=K,
        value=V,
        dy=DY,
        scaleValue=SCALE,
        headNum=1,
        attentionInOptional=saved["attentionOut"],
        softmaxMaxOptional=saved["softmaxMax"],
        softmaxSumOptional=saved["softmaxSum"],
    )["dqOut"]
    return found * (scale / SCALE)


def dq_without_sums():
    """Return dqOut with dS = A dA, without the row sums of dy y."""
    scores = SCALE * Q @ np.swapaxes(K, -1, -2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return SCALE * (weights / weights.sum(-1, keepdims=True) * (DY @ np.swapaxes(V, -1, -2))) @ K


def difference():
    """Return dqOut from differences of the forward pass."""
    return gradient(lambda q: float(np.sum(DY * forward(q)["attentionOut"])), Q)


def of_sample():
    """Return softmaxMax and softmaxSum for the sample's inputs: all 1, 256 keys of 128 elements, no mask."""
    ones = np.ones((256, 1, 128))
    saved = OP.forward(
        query=ones[:1], keyIn=ones, value=ones, scaleValue=0.088388, headNum=1, inputLayout="SBH"
    )
    return [round(float(saved[name].flat[0]), 2) for name in ("softmaxMax", "softmaxSum")]
