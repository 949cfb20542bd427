"""The proof of attention: maxima are held constant if no output depends on them, and wrong backward pages are refused."""

import pytest

import aclnn_viz as av
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving.proofs import proved
from aclnn_viz.proving.subjects import of_operator

OP = av.operator("flash_attention_score")
WRONG = {
    "D left out": ("(da - xp.sum(g * y, axis=4, keepdims=True))", "da"),
    "D over the queries": (
        "xp.sum(g * y, axis=4, keepdims=True)",
        "xp.sum(xp.sum(g * y, axis=4, keepdims=True), axis=3, keepdims=True)",
    ),
    "D added": ("da - xp.sum(g", "da + xp.sum(g"),
    "no scale": ("ds = scaleValue * (", "ds = ("),
    "dS of dropped A": ("scaleValue * (a *", "scaleValue * (p *"),
    "dA not dropped": ("axis=5),\n        dropMaskOptional,", "axis=5),\n        None,"),
    "dV without dropout": ("xp.sum(xp.sum(p[", "xp.sum(xp.sum(a["),
    "not divided by keepProb": ("x / keepProb", "x"),
    "not divided by the sum": (" / softmaxSum[:, :, :, :, :1]", ""),
    "the maximum left out": ("s - softmaxMax[:, :, :, :, :1]", "s"),
    "no position shift": ("found + pse", "found"),
    "hidden scores count": ("if hidden is None else xp.where(hidden, xp.zeros_like(x), x)", ""),
    "dK of one head alone": (
        "* q[:, :, :, :, None, :], axis=3), axis=2)",
        "* q[:, :, :1, :, None, :], axis=3), axis=2)",
    ),
}


@pytest.mark.soak  # this proof and a refusal take the time of a hundred others
def test_attention_is_proved():
    subjects = {str(one): one for one in of_operator(OP)}
    assert "inputLayout=BNSD, sparseMode=0" in subjects  # with all that is optional
    result = proved(
        "attention", [subjects["inputLayout=BNSD, sparseMode=0, dropMaskOptional=None"]]
    )
    assert result.holds and {theorem.output for theorem in result.theorems} == set(OP.outputs)
    assert "one entry alone is the maximum" not in result.assumptions


@pytest.mark.soak
@pytest.mark.parametrize("name", WRONG)
def test_wrong_pages_are_refused(name):
    # omitted inputs make proofs short
    mask = "dropMaskOptional=None" if name == "hidden scores count" else "attenMaskOptional=None"
    subject = next(
        one for one in of_operator(OP, changed(OP.page, (WRONG[name],))) if mask in str(one)
    )
    assert not proved(name, [subject]).holds


def softmax(xp, x):
    exp = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return {"y": exp / xp.sum(exp, axis=1, keepdims=True)}


def of_softmax(xp, dy, x):
    y = softmax(xp, x)["y"]
    return {"dx": y * (dy - xp.sum(dy * y, axis=1, keepdims=True))}


def unnormed(xp, x):
    return {"y": xp.exp(x - xp.max(x, axis=1, keepdims=True))}


def of_unnormed(xp, dy, x):
    """Return the gradient with the maximum as a constant."""
    return {"dx": dy * xp.exp(x - xp.max(x, axis=1, keepdims=True))}


def marked(xp, x):
    """Return the place of the maximum as a comparison, whose derivative by the maximum is 0 although it depends on it."""
    return {"y": xp.where(x == xp.max(x, axis=1, keepdims=True), x, xp.zeros_like(x))}


def of_marked(xp, dy, x):
    return {
        "dx": xp.where(x < xp.max(x, axis=1, keepdims=True), xp.zeros_like(x), xp.zeros_like(x))
    }


@pytest.mark.parametrize(
    "forward, backward, holds, assumed",
    [
        (softmax, of_softmax, True, False),
        (unnormed, of_unnormed, False, False),
        (marked, of_marked, False, False),
    ],
)
def test_a_maximum_is_held_only_where_nothing_depends_on_it(forward, backward, holds, assumed):
    result = av.prove((forward, backward), shapes={"x": ("r", "n")})
    assert (
        result.holds == holds
        and ("one entry alone is the maximum" in result.assumptions) == assumed
    )
