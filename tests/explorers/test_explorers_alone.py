"""Every explorer without a browser: each control answers, panels fit, captions say what is seen, states are exported."""

import re
from contextlib import closing
from random import Random

import pytest
from machine import SOAK
from panelled_explorer import (
    HELD,
    assert_control_answers,
    assert_fits,
    assert_lifted_cell_opens_the_same_state,
    assert_lifted_test_judges,
    computed,
)
from together import in_one

from aclnn_viz import explore
from aclnn_viz.explorers import explorers, subject_of
from aclnn_viz.explorers.state import StateError, controls
from aclnn_viz.pictures.text import unmarked

#: Controls of one machine for tiles and zoom, which change few numbers of one instruction.
OF_TILES = {"soc", "cores", "unified_buffer", "schedule"}


@pytest.mark.parametrize("name", explorers())
@pytest.mark.sampled(8)
def test_every_control_answers(name):
    """One control of each explorer, with the soak all; every worker would have to list them while collecting."""
    found = [
        control["field"]
        for control in controls(subject_of(name).state)
        if name != "zoom" or control["field"] not in OF_TILES
    ]
    with closing(explore(name, **HELD["answering"].get(name, {}))) as explorer:
        for field in found if SOAK else Random(name).sample(found, 1):
            must_draw = field != "device" and field not in HELD["kept"].get(name, ())
            assert_control_answers(explorer, field, must_draw)


@pytest.mark.parametrize("name", explorers())
@pytest.mark.sampled(1)
def test_a_state_fits_and_is_lifted_out(name):
    with closing(explore(name, **HELD["alone"].get(name, {}))) as explorer:
        assert_fits(explorer.subject.show(explorer.data))
        assert_lifted_cell_opens_the_same_state(explorer)
        op, program = explorer.subject.operator(explorer.data.state), explorer.lifted("cpp")
        if "test_kernel_in_this_state" in explorer.lifted("test"):
            assert_lifted_test_judges(explorer, next(iter(op.outputs)))
        first = f"{op.aclnn_name}GetWorkspaceSize("
        assert first in program and f"{op.aclnn_name}(" in program.replace(first, "")
        assert explorer.lifted("png").startswith(b"\x89PNG")
        assert explorer.lifted("svg").startswith(b"<?xml")


@in_one
@pytest.mark.parametrize(
    "name, values", [(name, one) for name in HELD["fit"] for one in HELD["fit"][name]]
)
def test_extremes_fit(name, values):
    subject, data = computed(name, **values)
    assert_fits(subject.show(data))


@in_one
@pytest.mark.parametrize("name, rows", HELD["refused"].items())
def test_what_cannot_be_shown_is_said_beside_its_control(name, rows):
    for values, field, text in rows:
        with pytest.raises(StateError) as caught:
            computed(name, **values)
        assert caught.value.field == field and str(caught.value).startswith(text)


@in_one
@pytest.mark.parametrize(
    "name, values, text", [(name, *row) for name, rows in HELD["said"].items() for row in rows]
)
def test_the_caption_says_what_is_seen(name, values, text):
    subject, data = computed(name, **values)
    said = unmarked(subject.said(data))
    assert re.fullmatch(".*".join(map(re.escape, text.split("…"))), said), said


def test_the_largest_picture_in_float64_passes_its_lifted_test():
    large = {"height": 96, "width": 96, "grid_height": 48, "grid_width": 48}
    with closing(explore("grid_sampler_2d", dtype="float64", **large)) as explorer:
        assert_lifted_test_judges(explorer, "inputGrad")
        # each number of input, grid and gradOutput
        assert explorer.lifted("cpp").count(",") > 96 * 96 + 3 * 48 * 48 - 100
