"""Requirements of every explorer made of panels: its controls move the picture, and its state can be exported."""

import tomllib
from pathlib import Path

import numpy as np
import pytest

from aclnn_viz.explorers import subject_of
from aclnn_viz.explorers.state import build, controls
from aclnn_viz.pictures.figure import laid_out
from aclnn_viz.pictures.panels import described
from aclnn_viz.pictures.picture import Picture

HELD = tomllib.loads(Path(__file__).with_name("states.toml").read_text("utf-8"))


def drawn(shown: Picture):
    """Return everything that a reader sees, comparable by ==."""
    arrays, text = described(shown.panels)
    return (
        {name: np.asarray(array, "<f4").tobytes() for name, array in arrays.items()},
        text,
        shown.headline,
        shown.text,
    )


def computed(name: str, **values):
    """Return the subject of a name, and its data in a state."""
    subject = subject_of(name)
    return subject, subject.compute(build(subject.state, values))


def stage(name: str, **values):
    """Return the subject of a name, its data in a state, and what the stage draws of them."""
    subject, data = computed(name, **values)
    return subject, data, data.answer


def panel(shown: Picture, name: str):
    return next(each for each in shown.panels if each.name == name)


def marks(shown: Picture, name: str, kind: type) -> list:
    """Return the marks of a kind in a named panel."""
    return [each for each in panel(shown, name).marks if isinstance(each, kind)]


def mark(shown: Picture, name: str, kind: type, label: str | None = None):
    """Return the single mark of a kind, and of a label if given, in a named panel."""
    (only,) = (each for each in marks(shown, name, kind) if label is None or each.label == label)
    return only


def assert_fits(shown: Picture):
    """Assert that rows of panels are 20 columns wide, together at most 560 pixels high, with all marks inside the axes."""
    placed, heights, taken = laid_out([each for each in shown.panels if not each.more]), {}, set()
    for panel, row, column in placed:
        taken |= {(row + down, column + k) for down in range(panel.rows) for k in range(panel.span)}
        if panel.rows == 1:
            heights[row] = max(heights.get(row, 0), panel.height)
    rows = range(max(taken)[0] + 1)  # of some, all panels go on below
    assert taken == {(row, column) for row in rows for column in range(20)}, "rows are not filled"
    for column in range(20):  # as well where a row has tall panels alone
        assert sum(p.height for p, _, k in placed if k <= column < k + p.span) <= 560, column
    # responses, one sentence per output, and the origin
    assert sum(heights.values()) <= 560 and 1 <= len(shown.headline) <= 6
    assert all(sentence in shown.text for sentence in shown.headline)


def other_values(control: dict, start) -> list:
    """Return values of a control, from its ends to its middle, without the one at the start."""
    if control["kind"] == "choice":
        values = [value for value, _ in control["options"]]
    elif control["kind"] == "flag":
        values = [False, True]
    else:
        low, high, first = control["low"], control["high"], control["initial"]
        # A single step of a share may ignore no further row; ten steps do.
        near = first + 1 if control["kind"] == "whole" else first + 10 * control["step"]
        values = [
            low,
            high,
            near,
            (low + high) // 2 if control["kind"] == "whole" else (low + high) / 2,
        ]
    return [value for value in values if value != start]


def assert_control_answers(explorer, field: str, must_draw: bool):
    """Assert that each value of a control gives another picture, or a problem in three parts, and one a picture."""
    control = next(c for c in controls(explorer.subject.state) if c["field"] == field)
    show, start = explorer.subject.show, dict(explorer.values)
    before = drawn(show(explorer.data))
    pictures = 0
    try:
        for value in other_values(control, start[field]):
            explorer.values = {**start, field: value}
            if explorer.problem:
                assert all(
                    field and ": got " in text for field, text in explorer.problem.items()
                ), explorer.problem
            else:
                assert drawn(show(explorer.data)) != before, f"{field}={value!r} changes nothing"
                pictures += 1
    finally:
        explorer.values = start
    assert pictures or not must_draw, f"no value of {field} has a picture"


def assert_lifted_cell_opens_the_same_state(explorer):
    import aclnn_viz.explorers as av

    again = eval(explorer.lifted("cell").split("\n\n")[1], {"av": av})
    try:
        assert again.data.state == explorer.data.state
    finally:
        again.close()


def assert_lifted_test_judges(explorer, output: str):
    """Assert that the lifted test passes for the kit's kernel and fails for one of the wrong sign."""
    namespace = {}
    exec(explorer.lifted("test"), namespace)
    namespace["test_kernel_in_this_state"]()
    right = namespace["kernel"]
    namespace["kernel"] = lambda **given: {name: -value for name, value in right(**given).items()}
    with pytest.raises(AssertionError, match=output):
        namespace["test_kernel_in_this_state"]()
