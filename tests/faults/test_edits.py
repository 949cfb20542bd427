"""Mechanical edits of a page: each is one change, found by its line, makes a separate page, and is undone."""

import ast

import numpy as np
import pytest
from machine import ROOT, sampled

from aclnn_viz import operator
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.operators.faults.edits import anywhere, distance, edited_head, edits, slips, units
from aclnn_viz.operators.hardswish import page as hardswish
from aclnn_viz.operators.rms_norm import page as rms_norm

ALL = pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)


def texts(page):
    return {(edit.before, edit.after) for edit in edits(page)}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("inside = x / 3.0 + 0.5", "inside = x / 3.0 - 0.5"),
        ("inside = x / 3.0 + 0.5", "inside = 3.0 / x + 0.5"),
        ("inside = x / 3.0 + 0.5", "inside = x / 3.0 + 0.0"),
        ("inside = x / 3.0 + 0.5", "inside = x / 6.0 + 0.5"),
        ("'out': gradOutput * slope(xp, self)", "'out': self * slope(xp, self)"),
        (
            "return xp.where(x < -3.0, xp.zeros_like(x), xp.where(x <= 3.0, inside, xp.ones_like(x)))",
            "return xp.where(x <= -3.0, xp.zeros_like(x), xp.where(x <= 3.0, inside, xp.ones_like(x)))",
        ),
    ],
)
def test_every_kind_of_slip_is_among_them(before, after):
    assert (before, after) in texts(hardswish)


def test_a_choice_between_two_that_are_the_same_is_read_as_one():
    (wrong,) = ast.parse(
        "return xp.where(x < -3.0, xp.where(x <= 3.0, inside, xp.where(x < 0, inside, inside)), xp.where(x <= 3.0, inside, one))"
    ).body
    assert (
        edited_head(wrong) == "return xp.where(x < -3.0, inside, xp.where(x <= 3.0, inside, one))"
        and "inside, inside" in ast.unparse(wrong)
    )
    assert not [edit for edit in edits(hardswish) if edit.after == edit.before]


def test_a_quotient_rounded_up_is_also_rounded_down():
    page = operator(ROOT / "tests/elsewhere/my_adaptive_avg_pool").page
    assert "first, last = (place * length // places, (place + 1) * length // places)" in {
        edit.after for edit in anywhere(page)
    }


def test_axes_names_functions_and_statements_are_edited():
    found = texts(rms_norm)
    assert (
        "'dgammaOut': xp.sum(dy * xhat, axis=0)",
        "'dgammaOut': xp.sum(dy * xhat, axis=None)",
    ) in found
    assert (
        "'dgammaOut': xp.sum(dy * xhat, axis=0)",
        "'dgammaOut': xp.sum(dy * x, axis=0)",
    ) in found
    assert any(
        edit.after == "(left out)"
        for op in sampled(__name__)
        for edit in edits(op.page)
        if edit.change.drops
    )


@ALL
@pytest.mark.sampled(1)
def test_every_edit_changes_the_text_and_is_taken_back(op):
    before = [ast.unparse(unit.tree) for unit in units(op.page)]
    found = edits(op.page)
    same = [str(edit) for edit in found if edit.before == edit.after]
    trees = dict.fromkeys(edit.unit for edit in found)
    after = {unit.name: ast.unparse(unit.tree) for unit in trees}
    assert (
        same == []
        and len(found) > (20 if op.chapter else 10)
        and set(after.values()) <= set(before)
    )
    assert {edit.unit.name for edit in found} >= {"backward"} and "forward" not in {
        edit.unit.name for edit in found
    }


@ALL
@pytest.mark.sampled(4)
def test_the_line_is_that_of_the_change(op):
    for edit in edits(op.page)[::5]:
        # it may lie in another page
        lines = (
            (ROOT / "aclnn_viz" / "operators" / str(edit).partition(",")[0])
            .read_text()
            .splitlines()
        )
        names = {node.id for node in ast.walk(edit.change.node) if isinstance(node, ast.Name)} - {
            "xp"
        }
        text = "".join(lines[number - 1] for number in {edit.line, *edit.lines})
        assert not names or any(name in text for name in names), str(edit)


def test_the_edited_page_computes_what_it_says():
    edit = next(one for one in edits(hardswish) if one.after == "inside = x / 3.0 + 0.0")
    x = np.array([1.5])
    assert edit.page.slope(NumPyArrays(), x) == 0.5 and hardswish.slope(NumPyArrays(), x) == 1.0


def test_slips_are_edits_of_the_usual_kinds():
    assert set(slips(rms_norm)) < set(edits(rms_norm)) and not {"name", "constant"} & {
        e.kind for e in slips(rms_norm)
    }


def test_a_page_that_takes_functions_from_another_is_edited_there_too():
    taken = [edit for edit in edits(operator("grid_sampler_3d").page) if edit.unit.name == "fold"]
    assert taken and all(edit.file == "families/sampling.py" for edit in taken)
    page = next(edit for edit in taken if edit.after == "return x + 4.0 * xp.round(x / 4.0)").page
    assert (
        page.fold(NumPyArrays(), np.array([8.0])) == 16.0
        and "scatter_add" in page.backward.__code__.co_names
    )


def test_what_backward_does_not_use_is_not_edited():
    """The places of the largest elements are found earlier, with windows that pages share."""
    assert {unit.name for unit in units(operator("max_pool_with_indices").page)} == {
        "across",
        "backward",
    }


def test_how_much_text_an_edit_changes():
    assert distance("x < 3", "x <= 3") == 1 and distance("a", "a") == 0


def test_an_edited_function_is_edited_under_all_of_its_names():
    from aclnn_viz.operators.cross_entropy_loss import page

    edit = next(one for one in edits(page) if one.unit.name == "divisors")
    assert edit.page.PRELUDE is edit.page.divisors and page.PRELUDE is page.divisors
