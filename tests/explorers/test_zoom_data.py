"""A zoom's numbers against the kit's own: results and truth of a page, parts that add up, and what instructions wrote."""

import re

import numpy as np
import pytest
from machine import SOAK
from panelled_explorer import mark, marks

from aclnn_viz import case, operator
from aclnn_viz.errors import NotSupported
from aclnn_viz.explorers import subject_of, tiles_data
from aclnn_viz.explorers.terms import Link, Term, same_element, spoken, typeset
from aclnn_viz.explorers.zoom import State, counted
from aclnn_viz.explorers.zoom_data import programs, read
from aclnn_viz.pictures.marks import Box, Note, Spots

assert_close = np.testing.assert_allclose

SUBJECT = subject_of("zoom")
PROGRAMS = programs()
THREE = pytest.mark.sampled(3)
EACH_PROGRAM = pytest.mark.parametrize("program", PROGRAMS)


def of(program, **values):
    state = State(program=program, **values)
    return state, SUBJECT.compute(state).zoomed


def index(z, label):
    return next(k for k, one in enumerate(z.terms) if one.label == label)


def own(z, k):
    """Return the truth of a term in its own shape; nan for elements without one of the first output."""
    values = np.full(z.shown[k].shape, np.nan)
    values[tuple(z.shown[k].index)] = z.truth[k] if values.ndim else z.truth[k, 0, 0]
    return values


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@EACH_PROGRAM
@pytest.mark.sampled(5)
def test_outputs_have_the_bits_of_backward_and_errors_their_sign(program, dtype):
    state, z = of(program, dtype=dtype, rows=3, columns=21)
    op, given = SUBJECT.operator(state), SUBJECT.inputs(state)
    results, truth = op.backward(**given), op.truth(**given)
    for name, values in (given | results).items():
        if name in {one.label for one in z.terms}:
            k = index(z, name)
            assert (z.values[k] == values.astype(float)[tuple(z.shown[k].index)]).all()
    for name, exact in truth.items():
        assert_close(own(z, index(z, name)), exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    assert (np.sign(z.errors) == np.sign(z.values - z.truth)).all()
    spacing = np.spacing(np.abs(z.truth[0]).astype(results[op.main].dtype)).astype(float)
    # at the truth itself it may be half as long
    assert np.isclose(z.errors[0] * spacing, z.values[0] - z.truth[0], atol=0).mean() > 0.95


@EACH_PROGRAM
@THREE
def test_a_formula_says_what_numpy_computes(program):
    """Each formula is computed again, in float64, from its text; sums and looked up or joined truths separately."""
    state, z = of(program)
    given = SUBJECT.inputs(state)
    names = {one.name: z.truth[k] for k, one in enumerate(z.terms) if one.name}
    names["calls"] = {name: getattr(np, name) for name in "where exp abs clip arange".split()} | {
        "guard": np.clip
    }
    alone = {
        f"term{k}": one
        for k, one in enumerate(z.terms)
        if one.op in "sum mean take bitwise_and bitwise_or".split()
    }
    names |= {name: z.truth[int(name[4:])] for name in alone}

    def value(text):
        for name, one in sorted(alone.items(), key=lambda each: -len(each[1].label)):
            text = text if one.name else text.replace(one.label, name)
        text = text.replace("×", "*").replace("−", "-")
        return eval(
            re.sub(
                r"\b([a-z]+)\(",
                r"calls['\1'](",
                re.sub(r"(\d+)…(\d+)", r"arange(\1, \2 + 1)", text),
            ),
            {},
            names,
        )

    with np.errstate(all="ignore"):
        for k, one in enumerate(z.terms):
            got = z.truth[k]
            if one.op in ("sum", "mean"):
                part = own(z, index(z, one.parts[0].label))
                part = np.float64(given[one.parts[0].name]) if np.isnan(part).any() else part
                again, got = getattr(np, one.op)(part, axis=one.axis).ravel(), own(z, k).ravel()
                assert f" {part.size // got.size} " in counted(z, one, "")
            elif one.op == "take":
                again = given[one.parts[0].name][z.truth[index(z, one.parts[1].label)].astype(int)]
            elif one.op in ("bitwise_and", "bitwise_or"):
                again = getattr(np, one.op)(*map(value, re.split(" and | or ", one.formula)))
            elif one.takes:
                again = np.broadcast_to(value(one.formula), got.shape)
            else:
                continue
            assert_close(again, got, rtol=1e-9, atol=1e-9, err_msg=one.formula)


HELD = {
    "rms_norm": "dy, x, gamma, xhat, projection, dy × gamma, dxOut, dgammaOut",
    "cross_entropy_loss": "logProb, exp(logProb), exp(logProb) × softmax_grad, xGradOut",
    "group_norm_swish": "dy, x, xhat, z, tail, sigmoid, complement, swish_slope, dz, dxhat, dxOut",
    # none is a number that a whole row shares
    "softmax": "gradOutput, output, gradOutput × output, out",
}


@pytest.mark.parametrize("program", HELD)
def test_an_instruction_holds_the_numbers_of_the_term_that_it_is_said_to_be(program):
    _, z = of(program, columns=24)
    said = {z.terms[term].label for tile in z.tiles for *_, term, _ in tile.wrote if term >= 0}
    assert said.issuperset(HELD[program].split(", "))
    assert said.isdisjoint("rstd mean along nll weightSum".split())
    for tile in z.tiles:
        for *_, values, exact, _, term, _ in tile.wrote:
            assert term < 0 or np.abs(values - exact).max() <= 1e-5 * np.abs(exact).max()
        assert tile.jobs[-1].name.startswith("DataCopy") and tile.wrote[-1][0] is tile.jobs[-1]
        # zeros are those of any term
        assert tile.wrote[-1][5:] == (index(z, tile.output), 0) or not tile.wrote[-1][2].any()


@EACH_PROGRAM
@THREE
def test_a_tile_is_who_stored_the_element_in_the_trace_and_its_instructions_are_those_of_the_trace(
    program,
):
    _, z = of(program, rows=4, columns=30, cores=3)
    run = z.work.run
    for name, values in run.outputs.items():
        stored = np.full(values.size, -1)
        for n, one in enumerate(run.trace):
            for memory, span in one.writes:
                if getattr(memory, "name", "") == name:
                    span.view(stored, memory.unit)[...] = n
        k = index(z, name)
        flat = np.ravel_multi_index(tuple(z.shown[k].index), values.shape)
        for n, number in {
            (stored[at], z.tile[k].flat[place]) for place, at in enumerate(flat.flat)
        }:
            one, tile = run.trace[n], z.tiles[number]
            assert tile.core == one.core.index and (tile.jobs[-1].name, tile.jobs[-1].line) == (
                one.name,
                one.where[1],
            )
        for core in {tile.core for tile in z.tiles if tile.output == name}:
            shown = [
                (job.name, job.line)
                for tile in z.tiles
                if (tile.output, tile.core) == (name, core)
                for job in tile.jobs
            ]
            traced = [(one.name, one.where[1]) for one in run.trace if one.core.index == core]
            assert shown == traced[: len(shown)] or not all(one.atomic == 0 for one in run.trace)


def test_a_term_has_an_element_for_each_of_the_first_output():
    """In group norm x is (samples, channels, positions), mean (samples, groups), gamma (channels,)."""
    _, z = of("group_norm_swish", rows=4, columns=6)
    at = z.shown[index(z, "dxOut")].index
    assert (at[0] == [[0], [0], [1], [1]]).all() and (at[2] == [0, 1, 2] * 2).all()
    assert (z.shown[index(z, "mean")].index == [at[0], at[1] // 2]).all() and (
        z.shown[index(z, "gamma")].index == at[1:2]
    ).all()
    for name, size in {"x": (4, 6), "mean": (4, 1), "gamma": (2, 2)}.items():
        assert z.shown[index(z, name)].size == size


def test_a_step_that_takes_two_elements_of_a_term_is_refused():
    part, step = Term("x"), Term("y")

    def taken(*second):
        step.links = [Link(part, np.array(elements)) for elements in ((0, 1), second)]
        return same_element([step], step, 2)[part]

    assert (taken(0, 1) == [0, 1]).all()
    with pytest.raises(ValueError, match="several elements of x"):
        taken(1, 0)


def test_a_fault_of_the_program_is_seen_at_the_instruction_where_it_begins():
    _, right = of("layer_norm")
    _, wrong = of("layer_norm", fault="layer_norm: mean of a tile")
    labels, others = (
        [z.terms[term].label if term >= 0 else "" for *_, term, _ in z.tiles[0].wrote]
        for z in (right, wrong)
    )
    first = [*map(str.__eq__, labels, others)].index(False)
    assert (
        labels[first] == "along"
        and others[first] == others[-1] == ""
        and labels[-1] == "gradInputOut"
    )
    assert (right.values == wrong.values).all()  # the formula stays right


@pytest.mark.parametrize("name", ["grid_sampler_2d", "flash_attention_score"])
def test_a_page_that_is_more_than_terms_is_refused_in_three_parts(name):
    with pytest.raises(NotSupported, match=": got .*; "):
        read(operator(name), case(name).inputs)
    assert not any(tiles_data.PROGRAMS[program].operator == name for program in PROGRAMS)


@EACH_PROGRAM
@THREE
def test_a_click_on_each_number_marks_it_in_its_tensor(program):
    _, z = of(program)
    for term, one in enumerate(z.shown):
        state = State(program=program, term=term, level="tensor")
        heat, *_, spots = SUBJECT.panels(SUBJECT.compute(state))[0].marks
        own = z.values[term][np.ix_(*one.firsts)]
        assert_close([*map(float, heat.words)], own.flat, rtol=6e-4)
        # each row has its own colours; a column has one scale
        assert_close(
            heat.values * np.abs(own).max(axis=1 if own.shape[1] > 1 else None, keepdims=True), own
        )
        places = list(zip(spots.texts, spots.sets, spots.x0, spots.y0))
        for text, sets, x, y in places[:: 7 if SOAK else 40]:
            clicked = dict(sets)
            assert clicked.pop("level") == "pipes"
            data = SUBJECT.compute(State(program=program, term=term, level="tensor", **clicked))
            assert "\n".join(SUBJECT.headline(data)) == text
            box = marks(SUBJECT.show(data), "zoom", Box)[-1]
            assert (box.x0, box.y0) == (x, y)


def test_a_number_below_a_reduction_is_one_of_those_that_it_takes():
    shown = SUBJECT.show(SUBJECT.compute(State()))
    texts = [note.text for note in marks(shown, "zoom", Note)]
    assert [text for text in texts if "one of" in text] == [
        "-0.7957, one of 16",
        "-0.593, one of 4",
    ]


def test_a_tensor_has_a_frame_around_each_tile_that_its_numbers_go_to():
    """In rms norm on two cores a row is a tile; core 0 stores the sum over all rows; gamma goes to every tile."""
    _, z = of("rms_norm")
    for label, tiles in {"dxOut": 4, "x": 4, "rstd": 4, "gamma": 0, "dgammaOut": 1}.items():
        term = index(z, label)
        shown = SUBJECT.show(SUBJECT.compute(State(term=term, level="tensor")))
        boxes = marks(shown, "zoom", Box)[:-1]
        assert len(boxes) == tiles and {(box.x0, box.x1) for box in boxes} <= {
            (-0.5, z.shown[term].size[1] - 0.5)
        }
    assert dict(shown.panels[0].y.ticks) == {0.0: "core 0, all its tiles"}


def test_instructions_say_what_they_wrote_and_lead_to_its_term():
    data = SUBJECT.compute(State(level="pipes"))
    z, shown = data.zoomed, SUBJECT.show(data)
    tile = z.tiles[z.tile[0, 1, 3]]
    wrote = {
        tile.jobs.index(job): (values[3], right[3], term)
        for job, _, values, right, _, term, _ in tile.wrote
    }
    rows = {}
    for note in marks(shown, "zoom", Note):
        if note.y >= 0:
            rows.setdefault(note.y, []).append(note.text)
    spots = mark(shown, "zoom", Spots)
    assert len(rows) == len(spots.sets) == len(tile.jobs) == 15
    for row, goes, text in zip(rows.values(), spots.sets, spots.texts):
        step, said, label, _, name = row
        value, right, term = wrote.get(int(step) - 1, (None, None, -1))
        assert dict(goes).get("term", -1) == term
        if term >= 0:
            assert label == {"ReduceSum": "16 × {}", "Add": "part of {}"}.get(name, "{}").format(
                spoken(z.terms[term])
            ) and text.startswith(f"step {step}: ")
            off = (value - right) / np.spacing(np.float32(abs(right)))
            assert f"off by {off + 0:.2g} ulp" in text
            assert float(said) == pytest.approx(value, rel=1e-3)


def test_formulas_are_set_as_they_are_written():
    x, gamma = Term("x"), Term("gamma")
    both = Term("", "add", (x, gamma))
    fraction = Term("", "divide", (both, 2.0))
    assert typeset(Term("", "multiply", (both, x))) == "(x + γ) × x"
    assert typeset(fraction) == r"\frac{x + γ}{2}" and typeset(fraction, flat=True) == "(x + γ) / 2"
    power = Term("row_grad", "exp", (fraction,))
    assert typeset(power, True) == r"row_{grad} = e^{\frac{x + γ}{2}}"
    assert typeset(power) == "row_{grad}"
