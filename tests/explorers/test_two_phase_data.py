"""The data of the two-phase explorer: codes and misuse of every mistake from the documents, views by plain loops."""

from collections import Counter

import numpy as np
import pytest
from machine import sampled
from panelled_explorer import mark, marks, panel
from tables import table
from together import in_one

from aclnn_viz import acl as numbers
from aclnn_viz.explorers.fields import TABLES
from aclnn_viz.explorers.two_phase import DEVICE, HANDLES, HOST, lives, rows, subject
from aclnn_viz.explorers.two_phase_data import State, layout_of
from aclnn_viz.operators import operator
from aclnn_viz.operators.contract import contract
from aclnn_viz.pictures.marks import Arrows, Blocks, Box, Grip, Heat, Note, Spots
from aclnn_viz.pictures.roles import READ, WRONG

parametrize = pytest.mark.parametrize

show = subject().show

HAND_WRITTEN = {op.name for op in sampled(__name__) if not contract(op).generated}
OPERATORS = parametrize("name", [op.name for op in sampled(__name__)])
ON_950 = {"max_pool_with_indices", "upsample_bilinear_2d"}  # bfloat16 there alone, by the documents
LAYOUTS = parametrize("layout", "dense transposed columns window row".split())
MISTAKES = [name for name, _ in TABLES["two_phase"]["mistake"]["options"]]
POISON = np.full(4, 0xA5, np.uint8).view(np.float32)[0]

#: What CANN's documents and sources say of each mistake: the first failing call and its code, for hand-written and for
#: generated operators; whether something goes wrong that no code tells; whether the outputs are right.
TABLE = {
    (mistake, kind): rest
    for mistake, kinds, *rest in table("""
none         | both         | -                             |        | right
no init      | both         | aclrtSetDevice 100001         | misuse |
no device    | both         | aclrtCreateStream 107002      | misuse |
null         | both         | phase_1 161001                |        |
dtype        | both         | phase_1 161002                |        |
shape        | hand-written | phase_1 161002                |        |
shape        | generated    | phase_1 561002                |        |
ignored      | hand-written | phase_1 161002                |        | wrong
ignored      | generated    | phase_1 561002                |        | wrong
skip         | both         | phase_2 161001                |        |
no workspace | both         | phase_2 161001                |        |
small        | hand-written | -                             | misuse | right
small        | generated    | phase_2 161002                |        |
overrun      | both         | -                             | misuse | wrong
destroyed    | both         | -                             | misuse | right
reused       | both         | phase_2 561000                | misuse |
freed        | both         | aclrtSynchronizeStream 507015 | misuse |
early        | both         | -                             | misuse | wrong
leak         | both         | -                             | misuse | right
memory       | both         | -                             | misuse | right
finalize     | both         | aclrtFree 107002              | misuse | right
""")
    for kind in kinds.replace("both", "hand-written generated").split()
}


def ended(**values):
    return subject().compute(State(**values))


def of_calls(data, kind):
    """Return the marks of a kind in the list of calls."""
    return marks(show(data), "calls", kind)


@OPERATORS
@parametrize("mistake", MISTAKES)
@pytest.mark.sampled(60)
def test_every_mistake_ends_as_the_documents_say(name, mistake):
    data = ended(operator=name, mistake=mistake)
    call, misuse, right = TABLE[mistake, "hand-written" if name in HAND_WRITTEN else "generated"]
    if name == "group_norm_swish" and mistake in ("shape", "ignored"):
        call = (
            "phase_2 361001"  # its tiling discards the failure: phase 1 succeeds, the launch fails
        )
    if data.failing is None:
        assert call == "-"
    else:
        failing, phase_2 = data.calls[data.failing], operator(name).aclnn_name
        named = {"phase_1": f"{phase_2}GetWorkspaceSize", "phase_2": phase_2}
        function, code = call.split()
        assert (failing.function, failing.status) == (named.get(function, function), int(code))
    assert bool(data.misuse) == bool(misuse)
    assert (all(data.right.values()) if data.right else None) == {
        "right": True,
        "wrong": False,
    }.get(right)


def test_all_mistakes_are_in_the_table():
    assert {mistake for mistake, _ in TABLE} == {*MISTAKES}


@OPERATORS
@LAYOUTS
@parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.sampled(30)
def test_inputs_of_every_layout_give_the_right_result(name, layout, dtype):
    soc = "Ascend950PR_9579" if name in ON_950 else "Ascend910B2"
    data = ended(operator=name, mistake="none", layout=layout, dtype=dtype, soc=soc)
    assert data.misuse == [] and data.failing is None and all(data.right.values())


@in_one
@OPERATORS
@parametrize("layout", ["transposed", "columns", "window"])
def test_only_hand_written_operators_heed_the_strides_of_an_output(name, layout):
    data = ended(operator=name, mistake="none", layout=layout, tensor="output")
    assert data.right[operator(name).main] == (name in HAND_WRITTEN) == (data.misuse == [])
    assert data.failing is None  # no code tells of it


def test_a_result_is_compared_with_a_formula_written_here():
    data = ended(mistake="none", layout="columns")
    g, x = (data.inputs[name].astype(float) for name in ("gradOutput", "self"))
    slope = np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))
    np.testing.assert_allclose(data.fetched, g * slope, rtol=1e-6, atol=1e-6)


def test_what_is_copied_too_early_is_poison():
    data = ended()
    assert (data.fetched == POISON).all() and data.right == {"out": False}
    assert "24 were never written" in show(data).headline[0]
    assert any("still queued; synchronise before" in text for text in data.misuse)


@parametrize(
    "layout, tall, wide, picked",
    [
        ("dense", 3, 4, lambda rows: rows),
        ("transposed", 4, 3, lambda rows: [list(column) for column in zip(*rows)]),
        ("columns", 3, 8, lambda rows: [row[::2] for row in rows]),
        ("window", 5, 6, lambda rows: [row[1:-1] for row in rows[1:-1]]),
        ("row", 1, 4, lambda rows: rows * 3),
    ],
)
def test_the_places_of_a_view_are_offset_plus_indices_times_strides(layout, tall, wide, picked):
    """Counted out: the storage is numbered, and the same elements are picked with Python's own slices."""
    view = ended(layout=layout, rows=3, columns=4).chosen.layout.view
    numbered = [list(range(k * wide, (k + 1) * wide)) for k in range(tall)]
    assert view(np.arange(wide * tall, dtype=np.float32)).tolist() == picked(numbered)


def test_leading_axes_are_whole_storages_apart():
    layout = layout_of((2, 3, 4), "columns")
    assert (layout.strides, layout.storage) == ((24, 8, 2), (2, 3, 8))
    assert layout.view(np.arange(48.0))[1, 2, 3] == 24 + 2 * 8 + 3 * 2


@LAYOUTS
def test_the_storage_is_drawn_with_the_number_of_each_element(layout):
    data = ended(layout=layout, rows=3, columns=4)
    heat = mark(show(data), "storage", Heat)
    view = data.chosen.layout.view(np.ascontiguousarray(heat.values).reshape(-1))
    numbers = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(view, numbers if layout != "row" else numbers[[2, 2, 2]])
    assert np.isfinite(heat.values).sum() == len({*view.flat})


def test_the_panel_lists_every_call_and_marks_the_first_that_fails():
    data = ended(operator="rms_norm", mistake="shape")
    listed = rows(data.calls)
    assert [call for row in listed for call in row.calls] == data.calls
    words = [note.text for note in of_calls(data, Note)]
    assert [text for text in words if text.startswith("✗")] == [
        "✗ aclnnRmsNormGradGetWorkspaceSize"
    ]
    assert "561002" in words and "561002 ACLNN_ERR_INNER_TILING_ERROR" in show(data).text


def life(mistake, name, mended=False):
    """Return the calls between which an object lives; None is the end of the process."""
    data = ended(mistake=mistake, mended=mended)
    one, listed = lives(data).get(name), rows(data.calls)
    if one is None:
        return None
    ends = (one.born, one.died, one.filled)
    return tuple(listed[int(at)].call.function if 0 <= at < len(listed) else None for at in ends)


def test_what_lives_ends_where_the_program_ends_it():
    assert life("none", "out_address") == ("aclrtMalloc", "aclrtFree", "aclrtSynchronizeStream")
    assert life("none", "self") == ("aclCreateTensor", "aclDestroyTensor", "aclCreateTensor")
    assert life("none", 'host["out"]') == (None, None, "aclrtMemcpy")
    plan, run = "aclnnHardswishBackwardGetWorkspaceSize", "aclnnHardswishBackward"
    assert life("none", "executor") == (plan, run, plan)
    assert life("none", "queue") == (run, "aclrtSynchronizeStream", run)
    assert (
        life("leak", "self")[1] is None and life("memory", "self_address")[1] == "aclrtResetDevice"
    )
    assert life("freed", "out_address")[2] is None  # the kernel failed
    assert lives(ended(mistake="overrun"))["out_address"].share == 0.5
    assert lives(ended(mistake="small"))["workspace"].share == 0.5


def existing(data):
    """Return the frames of changes, the boxes that exist and the filled ones, each as (column, row) of the picture."""
    made = marks(show(data), "memory", Blocks)
    return [
        {(int(np.rint(x)), int(y)) for x, y in zip(one.x0, one.y0) if np.isfinite(x)}
        for one in made
    ]


@parametrize("call", [0, 5, 9, 11, 13])
def test_the_memory_shows_what_is_alive_when_a_call_has_returned(call):
    """Counted from the calls themselves: allocated and not freed, created and not destroyed."""
    data = ended(mistake="none", call=call)
    done = [one for row in rows(data.calls)[: call + 1] for one in row.calls]
    names = Counter(one.function for one in done)
    _, there, _ = existing(data)
    for at, count in (
        (HOST, 3),
        (DEVICE, names["aclrtMalloc"] - names["aclrtFree"]),
        (HANDLES, names["aclCreateTensor"] - names["aclDestroyTensor"]),
    ):
        assert sum(column == at and row <= 3 for column, row in there) == count


def test_a_step_changes_what_exists_and_frames_the_change():
    """Rows of hardswish: gradOutput, self, out, workspace, plan, queue."""
    out, workspace, plan, queue = (DEVICE, 2), (DEVICE, 3), (0, 4), (0, 5)
    shown = [existing(ended(mistake="none", call=call)) for call in range(16)]
    for one, two in zip(shown, shown[1:]):
        assert (one[1] ^ two[1]) | (one[2] ^ two[2]) == two[0]
    phase_1, malloc, phase_2, synchronise, back = shown[6:11]
    assert phase_1[0] == {plan} and malloc[0] == {workspace} and phase_2[0] == {plan, queue}
    assert queue in phase_2[1] and out in phase_2[1] - phase_2[2]  # queued, not computed
    assert synchronise[0] == {queue, out} and out in synchronise[2] and back[0] == {(HOST, 2)}


def test_wrong_outputs_have_stripes_where_they_were_copied_to():
    for mended in (False, True):
        held = marks(show(ended(mended=mended, call=15)), "memory", Blocks)[2]
        striped = np.flatnonzero(held.wrong)
        assert len(striped) == (not mended)
        assert all(held.x0[k] == HOST and held.words[k] == "✗" for k in striped)


@in_one
@parametrize("mistake", MISTAKES)
def test_a_chosen_mistake_opens_at_its_call(mistake):
    data = ended(mistake=mistake)
    (chosen,) = (box for box in of_calls(data, Box) if box.kind == READ)
    row = rows(data.calls)[int(chosen.y0 + 0.5)]
    assert row.call.status or row.misuse or not (data.misuse or data.failing is not None), mistake
    assert mistake != "none" or row.call.function == "aclrtSynchronizeStream"


def test_the_mistake_lies_over_the_work_that_is_still_queued():
    data = ended()
    queue = lives(data)["queue"]
    at = next(k for k, row in enumerate(rows(data.calls)) if row.misuse)
    assert queue.born < at < queue.died and (0, 5) in existing(data)[1]
    assert [(box.y0 + box.y1) / 2 for box in of_calls(data, Box) if box.kind == WRONG] == [at]
    (arrow,) = of_calls(data, Arrows)
    assert arrow.y + arrow.dy == pytest.approx(queue.died)  # after synchronise
    assert not of_calls(ended(mended=True), Arrows)


@parametrize("mistake", ["early", "freed", "destroyed", "finalize", "no init", "skip"])
def test_the_line_of_the_mistake_is_dragged_to_where_it_belongs(mistake):
    lines = {}
    for mended in (False, True):
        data = ended(mistake=mistake, mended=mended)
        (grip,) = of_calls(data, Grip)
        ((low, high, axis),) = grip.units
        assert grip.sets == ("mended",) and axis == 1
        assert low + high * grip.y == pytest.approx(float(mended))
        lines[mended] = rows(data.calls), grip.y
        assert bool(data.misuse or data.failing is not None) == (not mended)
    (wrong, astray), (right, home) = lines[False], lines[True]
    line = right[home].call.function
    assert line in grip.label
    assert astray == len(wrong) or wrong[astray].call.function == line
    assert READ in [box.kind for box in of_calls(data, Box) if box.y0 + 0.5 == home]


@in_one
@parametrize("mistake", MISTAKES)
def test_the_list_of_calls_is_as_high_with_a_mistake_as_without(mistake):
    high = [
        panel(show(ended(mistake=mistake, mended=mended)), "calls").height
        for mended in (False, True)
    ]
    assert high[0] == high[1] > 300


def test_pointing_at_a_call_says_it_and_its_status():
    data = ended(mistake="freed")
    (spots,) = of_calls(data, Spots)
    listed = rows(data.calls)
    for k, (row, text) in enumerate(zip(listed, spots.texts, strict=True)):
        assert text.startswith(row.call.code) and spots.sets[k] == (("call", k),)
        assert not row.call.status or f"→ {row.call.status} " in text
        assert all(misuse in text for misuse in row.misuse)
    pointed = marks(show(data), "memory", Spots)[0].texts
    assert "self_address: from aclrtMalloc to aclrtFree" in pointed


def test_what_only_the_emulator_notices_is_said():
    for mistake in MISTAKES:
        data = ended(mistake=mistake)
        assert all(text in show(data).text for text in data.misuse)
    assert show(data).notices == (
        "emulated: Ascend910B2, CANN 9.1; nothing here was measured on hardware",
    )


def test_constants_are_written_by_their_c_names():
    from aclnn_viz.explorers.two_phase_program import FLOATS

    assert (
        repr(FLOATS["bfloat16"]) == "av.acl.ACL_BF16"
        and FLOATS["bfloat16"] == numbers.ACL_BF16 == 27
    )
