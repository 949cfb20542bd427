"""Pictures of puzzles and of symptoms show the specification's results and the elements that kernels read."""

from functools import partial

import numpy as np
import pytest
from together import in_one

from aclnn_viz import operator
from aclnn_viz.pictures.marks import Box, Dots, Heat, Line
from aclnn_viz.puzzles import detective, detectives, puzzle, puzzles
from aclnn_viz.puzzles.pictures import READ, picture
from aclnn_viz.puzzles.puzzle import Curve

PNG = b"\x89PNG\r\n"
CURVES = [one.name for one in puzzles() if isinstance(one.picture, Curve)]
READS = [one.name for one in puzzles() if one.name not in CURVES]
named = partial(pytest.mark.parametrize, "name")


def marks(found, kind, panel=None):
    return [
        mark
        for one in found.panels
        if panel in (None, one.name)
        for mark in one.marks
        if isinstance(mark, kind)
    ]


def outlined(found, name):
    """Return the cells of a panel with a box, as (row, column)."""
    return {
        (round((box.y0 + box.y1) / 2), round((box.x0 + box.x1) / 2))
        for box in marks(found, Box, name)
        if box.kind == READ
    }


@named([one.name for one in puzzles()])
@pytest.mark.sampled(5)
def test_every_puzzle_is_drawn_and_reported(name):
    shown = picture(puzzle(name))._repr_mimebundle_()
    assert shown["image/png"].startswith(PNG) and len(shown["text/plain"].splitlines()) >= 2
    assert all(output in shown["text/plain"] for output in puzzle(name).outputs[:1])


@named(CURVES)
def test_the_curve_is_that_of_the_specification(name):
    one = puzzle(name)
    line = marks(picture(one), Line)[0]
    found = one.spec(**{one.picture.over: np.asarray(line.x)} | one.picture.series[0])
    first = np.atleast_2d(found[0] if isinstance(found, tuple) else found)[0]
    shown = ~np.isnan(line.y)
    assert np.array_equal(line.y[shown], first[shown]) and shown.mean() > 0.9


def test_the_value_on_a_kink_is_marked_and_reported():
    found = picture(puzzle("hardswish_slope"))
    dots = marks(found, Dots)[0]
    assert dots.x.tolist() == [-3.0, 3.0] and dots.y.tolist() == [-0.5, 1.5]
    assert [line.split() for line in str(found).splitlines()[-2:]] == [["-3", "-0.5"], ["3", "1.5"]]


@in_one
@named(READS)
def test_what_is_read_is_what_changes_the_output(name):
    """The outlined cells of floating inputs are those whose change moves the chosen element."""
    one = puzzle(name)
    wanted, found = one.picture, picture(one)

    def value(inputs):
        out = one.spec(**inputs)
        out = (
            out[wanted.output]
            if isinstance(out, dict)
            else out[one.outputs.index(wanted.output)]
            if isinstance(out, tuple)
            else out
        )
        return np.asarray(out)[wanted.index]

    for array, values in wanted.inputs.items():
        if not isinstance(values, np.ndarray) or values.dtype.kind != "f" or not values.ndim:
            continue
        moved = set()
        for at in np.ndindex(values.shape):
            for step in (1e-3, 0.7):  # a small one may leave a piece that is constant as it is
                changed = values.copy()
                changed[at] += step
                if value(wanted.inputs | {array: changed}) != value(wanted.inputs):
                    moved.add(divmod(int(np.ravel_multi_index(at, values.shape)), values.shape[-1]))
        assert outlined(found, array) == moved, array


@named([one.name for one in detectives()])
@pytest.mark.sampled(4)
def test_every_symptom_is_drawn_and_reported(name):
    found = picture(detective(name))
    assert found._repr_mimebundle_()["image/png"].startswith(PNG)
    assert str(found) in str(detective(name)) and found.headline == (detective(name).title,)
    assert detective(name).culprit not in str(found)


def test_a_table_shows_the_share_of_wrong_elements():
    (heat,) = marks(picture(detective("long_rows")), Heat)
    assert heat.values[:, 0].tolist() == [0, 1, 1, 0, 1, 0, 0] and not heat.values[:, 1].any()


def test_a_map_shows_the_error():
    one = detective("in_the_mirror")
    (heat,) = marks(picture(one), Heat)
    inputs = one.prepared[0][1].case.inputs
    off = (one.kernel(**inputs)["gridGrad"] - operator(one.operator).truth(**inputs)["gridGrad"])[
        0, ..., 0
    ]
    assert (
        np.allclose(heat.values, np.where(np.abs(off) > 1e-4, off, 0.0))
        and np.abs(heat.values).max() <= heat.high
    )


@named(["rms_dx", None, puzzle])
def test_a_picture_of_anything_else_is_refused(name):
    with pytest.raises(
        TypeError, match="a picture is of a puzzle or of a detective case: got .*; pass such as"
    ):
        picture(name)
