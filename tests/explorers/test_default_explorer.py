"""The explorer that any operator has: every control answers, the numbers are right, every state can be exported."""

import numpy as np
import pytest
from machine import SOAK, sampled
from panelled_explorer import (
    assert_control_answers,
    assert_lifted_cell_opens_the_same_state,
    assert_lifted_pictures,
    assert_lifted_program_makes_both_calls,
    assert_lifted_test_judges,
)

from aclnn_viz import explore, operator
from aclnn_viz import language as av_language
from aclnn_viz.explorers import default, subject_of
from aclnn_viz.explorers.state import StateError, controls
from aclnn_viz.operators import registry
from aclnn_viz.pictures.marks import Heat
from aclnn_viz.pictures.panels import described

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
    outputs = list(subject_operator(bare).outputs)
    panels, tensors = (
        [panel.name for panel in shown(bare).panels],
        [*names, *outputs],
    )
    assert panels[-len(tensors) :] == tensors and len(panels) > len(tensors)


def subject_operator(explorer):
    return explorer.subject.operator(explorer.data.state)


def shown(explorer):
    return explorer.subject.show(explorer.data)


@pytest.mark.sampled(1)
def test_every_control_answers(bare):
    fields = [c["field"] for c in controls(bare.subject.state)]
    assert {"dtype", "seed", "axis_0", "axis_1"} <= set(fields)
    assert {
        p.name for p in subject_operator(bare).parameters if p.kind in ("bool", "float")
    } <= set(fields)
    for name in fields:
        if name != "ignoreIndex":  # no target has its value until it is drawn
            assert_control_answers(bare, bare.subject.show, name)


@pytest.mark.sampled(2)
def test_everything_is_lifted_out(bare):
    bare.values = {**bare.values, "axis_0": 2, "seed": 3, "dtype": "float16"}
    assert bare.problem == {}
    assert_lifted_cell_opens_the_same_state(bare)
    assert_lifted_test_judges(bare, subject_operator(bare).outputs[0])
    assert_lifted_program_makes_both_calls(bare)
    # every panel of the others is drawn by the same marks
    if SOAK or bare.subject.name == OPERATORS[0]:
        assert_lifted_pictures(bare)


def test_the_words_tell_the_numbers_and_the_panels_fit(bare):
    picture, data = shown(bare), bare.data
    assert picture.headline[0] in picture.text and len(picture.headline) == 1
    assert all(f"\n{name} [" in picture.text for name in data.outputs)
    used = 0
    for panel in picture.panels:
        used += panel.span * panel.rows * (not panel.more)
    assert used % 20 == 0
    gaps = "forward slope norm weights row map scores volume back planes".split()
    arrays, _ = described([panel for panel in picture.panels if panel.name not in gaps])
    assert all(np.isfinite(array).all() for array in arrays.values())


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
    heat = next(
        mark for panel in made.show(data).panels if panel.name == "dxOut" for mark in panel.marks
    )
    assert isinstance(heat, Heat)
    np.testing.assert_array_equal(heat.values, np.float64(data.outputs["dxOut"][0, 3]))


def test_nothing_is_a_picture_too():
    made = default.of(operator("rms_norm"))
    data = made.compute(made.state(axis_0=1, axis_1=1))
    assert made.show(data).figure().axes and "dxOut" in made.show(data).text


def test_own_explorers_are_found_before_it():
    own = {name: registry.file("explorer", name) is not None for name in OPERATORS}
    assert {
        name: subject_of(name).inputs.__module__ != "aclnn_viz.explorers.default"
        for name in OPERATORS
    } == own
    assert any(own.values())


def test_a_mask_is_chosen_by_its_signs():
    explorer = explore("grid_sampler_3d")
    try:
        explorer.values = {**explorer.values, "outputMask": "+ −"}
        assert not explorer.problem and list(explorer.data.outputs) == ["inputGrad"]
    finally:
        explorer.close()


def test_a_map_has_no_more_cells_than_pixels():
    """A gradient with a frame of padding lacks a row and a column, and its title says so."""
    made = default.of(operator("reflection_pad_2d"))
    data = made.compute(made.state(axis_2=64, axis_3=64))
    panel = next(panel for panel in made.show(data).panels if panel.name == "gradOutput")
    assert panel.title == "gradOutput [0, 0], first 64 rows and 64 columns"
    np.testing.assert_array_equal(
        panel.marks[0].values, np.float64(data.inputs["gradOutput"])[0, 0, :64, :64]
    )


def test_the_vendors_names_are_the_same_in_every_language():
    before = av_language()
    try:
        av_language("zh")
        labels = {
            control["field"]: control["label"]
            for control in subject_of("reflection_pad_2d").controls()
        }
    finally:
        av_language(before)
    assert labels["padding"] == "padding" and labels["seed"] != "seed"
