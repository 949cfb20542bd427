"""The explorer that any operator has: every control answers, the numbers are right, every state can be exported."""

import numpy as np
import pytest
from machine import sampled
from panelled_explorer import computed, mark, panel

from aclnn_viz import explore, operator
from aclnn_viz.explorers import default, subject_of
from aclnn_viz.explorers.state import StateError, controls
from aclnn_viz.operators import registry
from aclnn_viz.pictures.marks import Heat
from aclnn_viz.pictures.panels import described
from aclnn_viz.words.messages import in_language

OPERATORS = [op.name for op in sampled(__name__)]


@pytest.fixture(params=OPERATORS)
def bare(request, monkeypatch):
    """Yield the explorer of an operator without its own file."""
    found = registry.module
    monkeypatch.setattr(
        registry, "module", lambda kind, name: None if kind == "explorer" else found(kind, name)
    )
    made = explore(request.param)
    yield made
    made.close()


def test_an_operator_without_an_explorer_gets_this_one(bare):
    assert bare.problem == {} and bare.subject.inputs.__module__ == "aclnn_viz.explorers.default"
    names = [name for name, value in bare.data.inputs.items() if isinstance(value, np.ndarray)]
    op = bare.subject.operator(bare.data.state)
    # an output of an optional input is left out with it
    panels, tensors = [panel.name for panel in shown(bare).panels], [*names, *bare.data.outputs]
    assert panels[-len(tensors) :] == tensors and len(panels) > len(tensors)
    fields = {c["field"] for c in controls(bare.subject.state)}
    moved = {p.name for p in op.parameters if p.kind in ("bool", "float")}
    if op.name == "flash_attention_score":  # its own controls of sizes, and no dropout
        moved = {"scaleValue", "shape", "block"}
    else:
        moved |= {"axis_0", "axis_1"}
    assert {"dtype", "seed"} | moved <= fields


def shown(explorer):
    return explorer.subject.show(explorer.data)


def test_the_words_tell_the_numbers_which_are_finite(bare):
    picture = shown(bare)
    assert all(f"\n{name} [" in picture.text for name in bare.data.outputs)
    # marks of a stage have gaps, which are nan; attention's table of gradients is folded, too
    arrays, _ = described([p for p in picture.panels if p.more and p.name != "gradients"])
    assert arrays and all(np.isfinite(array).all() for array in arrays.values())


def test_what_is_too_large_or_does_not_fit_is_said_beside_its_control():
    made = default.of(operator("group_norm_swish"))
    with pytest.raises(StateError, match="numGroups") as refused:
        made.compute(made.state(numGroups=5))
    assert refused.value.field == "numGroups"
    with pytest.raises(StateError, match="a picture has at most 16,384 elements: got shape"):
        made.compute(made.state(axis_0=64, axis_1=64, axis_2=64))


def test_a_matrix_of_a_larger_tensor_is_chosen():
    made = default.of(operator("group_norm_swish"))
    data = made.compute(made.state(plane=3, axis_3=4))
    np.testing.assert_array_equal(
        mark(made.show(data), "dxOut", Heat).values, np.float64(data.outputs["dxOut"][0, 3])
    )


def test_a_mask_is_chosen_by_its_signs():
    _, data = computed("grid_sampler_3d", outputMask="+ −")
    assert [*data.outputs] == ["inputGrad"]


def test_a_map_has_no_more_cells_than_pixels():
    """A gradient with a frame of padding lacks a row and a column, and its title says so."""
    subject, data = computed("reflection_pad_2d", axis_2=64, axis_3=64)
    made = panel(subject.show(data), "gradOutput")
    assert made.title == "gradOutput [0, 0], first 64 rows and 64 columns"
    np.testing.assert_array_equal(
        made.marks[0].values, np.float64(data.inputs["gradOutput"])[0, 0, :64, :64]
    )


def test_the_vendors_names_are_the_same_in_every_language():
    with in_language("zh"):
        labels = {
            each["field"]: each["label"] for each in subject_of("reflection_pad_2d").controls()
        }
    assert labels["padding"] == "padding" and labels["seed"] != "seed"
