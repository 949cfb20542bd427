"""Errata of aclnnFlashAttentionScoreGrad."""

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification.errata.model import Computation, Contradiction, Counterexample, Lemma, erratum, gradient
from aclnn_viz.verification.errata.printed import Printed

FILE = "ops-transformer attention/flash_attention_score_grad/docs/aclnnFlashAttentionScoreGrad.md, commit 04c0c0d"
OP, SCALE = operator("flash_attention_score"), 1.0
RNG = np.random.default_rng(18)
Q, K, V, DY = (RNG.normal(size=(1, 1, 3, 4)) for _ in range(4))


def forward(query, scale=SCALE):
    return OP.forward(query=query, keyIn=K, value=V, scaleValue=scale, headNum=1)


def dq(scale):
    """dqOut with the scale of the gradient apart from that of the scores."""
    saved = forward(Q)
    found = OP.backward(query=Q, keyIn=K, value=V, dy=DY, scaleValue=SCALE, headNum=1, attentionInOptional=saved["attentionOut"],
                        softmaxMaxOptional=saved["softmaxMax"], softmaxSumOptional=saved["softmaxSum"])["dqOut"]
    return found * (scale / SCALE)


def dq_without_sums():
    """dqOut where dS is A dA, without the row sums of dy y."""
    scores = SCALE * Q @ np.swapaxes(K, -1, -2)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return SCALE * (weights / weights.sum(-1, keepdims=True) * (DY @ np.swapaxes(V, -1, -2))) @ K


def difference():
    """dqOut by differences of the forward pass."""
    return gradient(lambda q: float(np.sum(DY * forward(q)["attentionOut"])), Q)


def of_sample():
    """softmaxMax and softmaxSum of the sample's own inputs: all of them 1, 256 keys of 128 elements, no mask."""
    ones = np.ones((256, 1, 128))
    saved = OP.forward(query=ones[:1], keyIn=ones, value=ones, scaleValue=0.088388, headNum=1, inputLayout="SBH")
    return [round(float(saved[name].flat[0]), 2) for name in ("softmaxMax", "softmaxSum")]


ERRATA = (
    erratum(
        "flash-attention-scale", "mathematics", "1/sqrt(d) stands where scaleValue multiplies",
        "dQ = dS K / sqrt(d), dK = dS^T Q / sqrt(d)", FILE,
        "The scores are scaled by the parameter scaleValue, and so are their gradients: the two agree where scaleValue is 1/sqrt(d).",
        "the derivative of the forward pass",
        Printed("3 queries and keys of 4 elements, scaleValue = 1", lambda: dq(0.5), lambda: dq(SCALE), difference,
                "difference of the forward pass", 1e-5)),
    erratum(
        "flash-attention-ds", "mathematics", "dS is used and never defined",
        "dQ and dK are given by dS, for which there is no formula.", FILE,
        "dS = A (dA - D) with dA = dY V^T and D the row sums of dY Y.", "the derivative of the forward pass",
        Lemma("flash_attention_score", "gradient_of_a_score", "D left out"),
        Counterexample("3 queries and keys of 4 elements, scaleValue = 1", dq_without_sums, lambda: dq(SCALE), difference,
                       "difference of the forward pass", 1e-5, ("D left out", "right"))),
    erratum(
        "flash-attention-shape", "contract", "attentionIn is said to have the shape of query",
        "attentionInOptional: data type and shape are those of query.", FILE,
        "It is the output of forward, whose last axis has the length of value's: the document lets D of value be less than that of query.",
        "the formula Y = P V",
        Contradiction(("attentionInOptional has the shape of query", f"{FILE}, parameters"), ("qD == kD >= vD", f"{FILE}, constraints"))),
    erratum(
        "flash-attention-sample", "numerics", "The sample passes a maximum and a sum that no forward pass saves",
        "softmaxMaxHostData and softmaxSumHostData are filled with 3.0.", f"{FILE}, sample",
        "For the sample's own inputs the forward pass saves 11.31 and 256: what the sample prints is no gradient.", "the forward formula",
        Computation("softmaxMax and softmaxSum of the sample's inputs", of_sample, [3.0, 3.0], [11.31, 256.0])),
)
