"""Drawn suites: stored recipes are what would be drawn, and cover their claims; a page's ways are its decisions."""

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.cases.atoms import PAGE, PAIRS, ROWS, atoms
from aclnn_viz.cases.drafts import drawn as drafted
from aclnn_viz.cases.drafts import shown, taken
from aclnn_viz.cases.recipe import Recipe
from aclnn_viz.cases.suites import DRAWN, drawn, recipes, stated
from aclnn_viz.operators.products import SOC, product_of

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
EVERY = pytest.mark.parametrize("op", av.operators(), ids=lambda op: op.name)
STORED = (DRAWN / f"{op.name}.json" for op in av.operators())


@EVERY
@pytest.mark.sampled(1)
def test_what_is_stored_is_what_would_be_made(op):
    from suites import written

    assert written(op) == (DRAWN / f"{op.name}.json").read_text("utf-8")


@EVERY
@pytest.mark.sampled(1)
def test_a_suite_takes_every_way_that_drafts_often_take(op):
    cases = [recipe.case(number) for number, recipe in enumerate(recipes(op))]
    with np.errstate(all="ignore"):
        held = [atoms(made) for made in cases if taken(made)]
        drafts = Counter(atom for _, one, _ in drafted(op, 100) for atom in shown(one))
    met = set().union(*map(shown, held))
    assert [atom for atom, n in drafts.items() if n > 9 and atom not in met] == []
    pairs = [text for family, text in met if family == PAIRS]
    a2 = next(names for products, names in op.formats.items() if product_of(SOC) in products)
    narrow = {"float16", "bfloat16"}.intersection(a2.split())  # none: max_pool_with_indices
    assert {f"dtype={dtype}, strided=False" for dtype in narrow} <= {*pairs}
    drafts = cases[len([*stated(op)]) :][: len(drawn(op))]
    assert all(map(taken, drafts))  # the product refuses none


def test_no_operator_lacks_its_suite():
    assert sorted(DRAWN.glob("*.json")) == sorted(STORED)


def ways(op, **options) -> set[str]:
    return {text for (family, text) in shown(atoms(av.case(op, **options))) if family == PAGE}


def test_a_window_that_hangs_over_is_a_way_of_its_own():
    usual = dict(kernelSize=(2, 2), stride=(2, 2), padding=(0, 0), ceilMode=True)
    inside, over = (ways("avg_pool", shape=(1, 1, n, 4), **usual) for n in (4, 5))
    assert {text.partition(" (")[0] for text in over - inside} >= {"at < length: equal"}
    assert {text.partition(" (")[0] for text in inside - over} >= {"room // step: no rest"} or over


def test_each_tensor_that_is_broadcast_has_lengths_of_its_own():
    held = atoms(av.case("tanh", shape=(3, 4), gradOutput_shape=(1, 4)))
    assert held["lengths", "gradOutput[-2] = 1"] and held["lengths", "output[-2] = 3"]
    assert held["geometry", "gradOutput[-2] < output[-2]"]
    assert held["geometry", "all gradOutput < all output"]


def test_rows_are_what_they_are_called():
    made = Recipe("softmax", {"shape": (4, 6), "rows": {"gradOutput": "a constant row"}}).case(0)
    told = {text for family, text in shown(atoms(made)) if family == ROWS}
    assert "gradOutput: a constant row, not every" in told
    assert sum(np.ptp(made.inputs["gradOutput"], axis=-1) == 0) == 1
    for kind, array in {"zeros": np.zeros((3, 2)), "one-hot": np.ones(3)}.items():
        made = Recipe("softmax", {"shape": (3, 2), "rows": {"gradOutput": kind}}).case(1)
        rows = made.inputs["gradOutput"]
        assert np.array_equal(rows if array.ndim == 2 else rows.sum(-1), array)


def test_rows_of_no_tensor_or_kind_are_refused():
    for rows, words in (({"x": "zeros"}, "x: zeros"), ({"output": "wavy"}, "output: wavy")):
        with pytest.raises(ValueError, match=f"rows names tensors of tanh .*: got {words}; choose"):
            Recipe("tanh", {"rows": rows}).case(0)


def test_a_number_that_a_tensor_must_not_hold_is_not_put_there():
    options = {"shape": (4, 3), "paddingIdx": 9, "rows": {"indices": "one attribute"}}
    assert Recipe("embedding", options).case(0).inputs["indices"].max() < 4


def test_a_recipe_says_its_rows():
    recipe = Recipe.of(av.operator("tanh"), {"rows": {"output": "zeros"}, "strided": True})
    assert str(recipe) == "output: zeros, strided tensors"
