"""Pages are proved under all options, mutants are not, and what is wrong gets numbers that show it."""

import random

import pytest

import aclnn_viz as av
from aclnn_viz.operators.faults.edits import edits
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving.counterexample import search
from aclnn_viz.proving.proofs import _theorems
from aclnn_viz.proving.subjects import of_operator

SMALL = ("hardswish", "rms_norm", "layer_norm", "group_norm_swish")
WRONG = {  # text of a page, and what a wrong one says
    "factor": ("rms_norm", "(dy * gamma - xhat", "(dy * gamma - 2.0 * xhat"),
    "axis": ("rms_norm", "xp.sum(dy * xhat, axis=0)", "xp.sum(dy * xhat, axis=1)"),
    "kink": ("hardswish", "x <= 3.0", "x <= 4.0"),
    "sum for mean": ("layer_norm", "xhat * row_mean(xp, grad * xhat)", "xhat * xp.sum(grad * xhat, axis=-1, keepdims=True)"),
    "sign of a slope": ("grid_sampler_2d", "(first, 1.0 - t, -slope)", "(first, 1.0 - t, slope)"),
    "a tap outside": ("grid_sampler_2d", "xp.where(inside, index, xp.full_like(index, pixels))", "index"),
}


def proved(name, page=None, only="", n=None):
    subjects = [s for s in of_operator(av.operator(name), page) if only in str(s)][:n]
    return subjects, [theorem for subject in subjects for theorem in _theorems(subject)]


@pytest.mark.parametrize("name", SMALL)
def test_pages_are_proved_under_all_options(name):
    result = av.prove(name)
    assert result.holds, result
    assert {t.output for t in result.theorems} == set(av.operator(name).gradient_of)


@pytest.mark.soak
@pytest.mark.parametrize("name, only", [("cross_entropy_loss", "reduction=mean, weightOptional=None"), ("cross_entropy_loss", "reduction=sum"), *(
    ("grid_sampler_2d", f"interpolationMode={i}, paddingMode={p}, alignCorners={a}") for i, p, a in (
        (0, 0, False), (0, 1, True), (0, 2, False), (1, 2, False), (2, 2, False))), ("grid_sampler_3d", "interpolationMode=0, paddingMode=1, alignCorners=True")])
def test_a_sample_of_larger_pages_is_proved(name, only):
    subjects, theorems = proved(name, only=only, n=1)
    assert subjects and theorems and all(t.holds and t.cases for t in theorems), [t for t in theorems if not t.holds]


@pytest.mark.parametrize("name, old, new", WRONG.values(), ids=WRONG)
def test_a_wrong_page_is_not_proved(name, old, new):
    subjects, theorems = proved(name, changed(av.operator(name).page, ((old, new),)), n=1)
    assert not all(t.holds for t in theorems)
    assert search(subjects) or name == "grid_sampler_2d"


@pytest.mark.parametrize("name", SMALL)
def test_mechanical_edits_are_proved_only_where_no_number_differs(name):
    right = {t.output: t.kinks for t in proved(name, n=1)[1]}
    for edit in random.Random(5).sample(edits(av.operator(name).page), 12):
        subjects, theorems = proved(name, edit.page, n=1)
        if all(t.holds and t.kinks == right[t.output] for t in theorems):
            assert search(subjects) is None, edit


def test_a_kink_says_which_side_it_takes():
    page = changed(av.operator("hardswish").page, (("x <= 3.0", "x < 3.0"),))
    (right,), (other,) = (proved("hardswish", p)[1] for p in (None, page))
    assert right.holds and other.holds and dict(right.kinks)["3 - self[i0]"] == "above" != dict(other.kinks)["3 - self[i0]"]


def soft(xp, x, s):
    z = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return {"y": s * z / xp.sum(z, axis=-1, keepdims=True)}


def soft_back(xp, dy, y):
    return {"dx": y * dy}


def test_two_functions_get_a_counterexample_of_the_smallest_size():
    result = av.prove((soft, soft_back), shapes={"x": ("r", "n")})
    assert not result.holds and result.counterexample.sizes == {"n": 1, "r": 1} and result.counterexample.output == "dx"


def test_two_functions_are_proved():
    def back(xp, dy, y, s):
        return {"dx": y * (dy - xp.sum(dy * y, axis=-1, keepdims=True) / s)}
    assert av.prove((soft, back), shapes={"x": ("r", "n")}).holds


def test_what_is_not_known_is_refused_with_its_line():
    def sorted_rows(xp, x):
        return {"y": xp.sort(x)}

    def back(xp, dy):
        return {"dx": xp.sort(dy)}
    with pytest.raises(Exception, match="xp.sort is not known"):
        av.prove((sorted_rows, back), shapes={"x": ("r", "n")})
    refused = av.prove((soft, lambda xp, dy: {"dx": xp.sort(dy)}), shapes={"x": ("r", "n")})
    assert not refused.holds and "xp.sort is not known (line" in refused.reason
