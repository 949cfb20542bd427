"""A zoom's numbers against the kit's own: results and truth of a page, parts that add up, and what instructions wrote."""

import re

import numpy as np
import pytest

from aclnn_viz import case, operator
from aclnn_viz.errors import NotSupported
from aclnn_viz.explorers import subject_of, tiles_data
from aclnn_viz.explorers.state import StateError
from aclnn_viz.explorers.zoom import State
from aclnn_viz.explorers.zoom_data import FIRST, TERMS, read, tiles_of

SUBJECT = subject_of("zoom")


def of(program, **values):
    state = State(program=program, **values)
    return state, SUBJECT.compute(state).zoomed


def index(z, label):
    return next(k for k, one in enumerate(z.terms) if one.label == label)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("program", FIRST)
@pytest.mark.sampled(6)
def test_outputs_have_the_bits_of_backward_and_the_parts_of_their_errors_add_up(program, dtype):
    state, z = of(program, dtype=dtype, rows=3, columns=21)
    op, given = SUBJECT.operator(state), SUBJECT.inputs(state)
    results, truth = op.backward(**given), op.truth(**given)
    for name, values in results.items():
        k = index(z, name)
        rows, columns = z.shapes[k]
        assert (z.values[k, :rows, :columns] == values.astype(float).reshape(rows, columns)).all()
        np.testing.assert_allclose(z.truth[k, :rows, :columns], np.float64(truth[name]).reshape(rows, columns), rtol=1e-12, atol=1e-12 * np.abs(truth[name]).max())
        assert z.parts[k].any() and (np.abs(z.parts[k, -1]).max() > 0) == (dtype != "float32" or rows == 1 < len(z.truth[k]))
    unit = np.abs(z.values - z.truth)
    assert ((z.parts.sum(axis=1) == 0) == (unit == 0)).mean() > 0.99 and (np.sign(z.parts.sum(axis=1)) == np.sign(z.values - z.truth)).mean() > 0.99


def test_a_formula_says_what_numpy_computes():
    """Each formula is computed anew, in float64, from its text."""
    for program in FIRST:
        _, z = of(program)
        names = {one.name: z.truth[k] for k, one in enumerate(z.terms) if one.name}
        calls = {"sum": lambda x, axis: np.sum(x, axis=axis, keepdims=True), "mean": lambda x, axis: np.mean(x, axis=axis, keepdims=True),
                 **{name: getattr(np, name) for name in ("less", "less_equal", "where", "zeros_like", "ones_like")}}
        for k, one in enumerate(z.terms):
            if one.takes:
                text = re.sub(r"(\w+)\(", r"calls['\1'](", one.formula.replace("×", "*").replace("−", "-"))
                again = eval(text, {"calls": calls}, names)
                np.testing.assert_allclose(np.broadcast_to(again, z.truth[k].shape), z.truth[k], rtol=1e-9, atol=1e-9, err_msg=one.formula)


def test_an_instruction_holds_the_numbers_of_the_term_that_it_is_said_to_be():
    state, z = of("rms_norm", columns=24)
    said = {z.terms[term].label for tile in z.tiles for *_, term, _ in tile.wrote if term >= 0}
    assert said >= {"dy", "x", "gamma", "xhat", "dy × gamma", "dxOut", "dgammaOut"} and "rstd" not in said  # a scalar
    for tile in z.tiles:
        for job, values, exact, term, _ in tile.wrote:
            assert term < 0 or np.abs(values - exact).max() <= 1e-5 * np.abs(exact).max()
        assert tile.jobs[-1].name.startswith("DataCopy") and tile.wrote[-1][0] is tile.jobs[-1]
        assert z.terms[tile.wrote[-1][3]].label == tile.output
    owner = z.tile[index(z, "dxOut")]
    assert [z.tiles[k].core for k in owner[:, 0]] == [0, 0, 1, 1] and len({*owner.flat}) == 4


def test_an_instruction_that_wrote_other_numbers_is_no_term():
    state, z = of("rms_norm")
    owned = tiles_of(z.work, z.truth * 2)[0]
    assert {z.terms[term].label for tile in owned for *_, term, _ in tile.wrote if term >= 0}.isdisjoint({"dxOut", "xhat", "dgammaOut"})


def test_a_fault_of_the_program_is_seen_at_the_instruction_where_it_begins():
    _, right = of("layer_norm")
    _, wrong = of("layer_norm", fault="layer_norm: mean of a tile")
    labels, others = ([z.terms[term].label if term >= 0 else "" for *_, term, _ in z.tiles[0].wrote] for z in (right, wrong))
    first = next(k for k, (one, other) in enumerate(zip(labels, others)) if one != other)
    assert labels[first] == "along" and others[first] == others[-1] == "" and labels[-1] == "gradInputOut"
    assert (right.values == wrong.values).all()  # the formula stays right


@pytest.mark.parametrize("name", ["grid_sampler_2d", "group_norm_swish"])
def test_a_page_that_is_more_than_terms_is_refused_in_three_parts(name):
    with pytest.raises(NotSupported, match=": got .*; "):
        read(operator(name), case(name).inputs)
    assert not any(tiles_data.PROGRAMS[program].operator == name for program in FIRST)


@pytest.mark.parametrize("level", ["formula", "tensor", "tiles", "pipes"])
@pytest.mark.parametrize("values", [{"rows": 1, "columns": 1, "row": 0, "column": 0}, {"rows": 12, "columns": 128, "cores": 48}, {"program": "hardswish", "row": 3}], ids=str)
def test_the_smallest_and_the_largest_tensor_are_shown(values, level):
    shown = SUBJECT.show(SUBJECT.compute(State(level=level, **values)))
    assert shown.panels[0].name == "path" and all(shown.headline)


def test_each_term_has_a_picture_of_its_own_and_the_default_is_the_first_output():
    pictures = {}
    for term, (program, label) in enumerate(TERMS):
        shown = SUBJECT.show(SUBJECT.compute(State(program=program, term=term, level="tensor")))
        assert shown.headline[0].startswith(f"{label} [")
        pictures[shown.text] = program
    assert len(pictures) == len(TERMS)
    for program in FIRST:
        shown = SUBJECT.show(SUBJECT.compute(State(program=program, level="tensor")))
        assert pictures[shown.text] == program and shown.headline[0].startswith(SUBJECT.operator(State(program=program)).outputs[0])


def test_a_term_of_another_program_is_refused():
    with pytest.raises(StateError, match="term of .* must be one of"):
        State(program="layer_norm", term=FIRST["rms_norm"])
