"""The stage of matrices: elements read and gradients returned, against plain loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose as assert_close
from numpy.testing import assert_array_equal
from panelled_explorer import mark, marks, panel
from panelled_explorer import stage as opened

from aclnn_viz.explorers import planes
from aclnn_viz.pictures.marks import Bars, Box, Dots, Heat
from aclnn_viz.pictures.roles import GRADIENT, GUIDE, INK, MOVED, READ
from aclnn_viz.pictures.text import unmarked

EVERY = pytest.mark.parametrize(
    "name",
    "avg_pool embedding glu max_pool_with_indices reflection_pad_2d replication_pad_2d "
    "rotary_position_embedding upsample_bicubic_2d upsample_bilinear_2d upsample_nearest_2d".split(),
)


def test_an_upsampled_output_lies_where_its_sizes_place_it():
    subject, data, _ = opened("upsample_bilinear_2d", row=2, column=3)
    # 6 x 5 outputs of 5 x 4 elements, right of 7 columns
    dot = mark(subject.show(data), "planes", Dots)
    assert_close([*dot.y, *dot.x], [2.5 * 5 / 6 - 0.5, 3.5 * 4 / 5 - 0.5 + 7])


def framed(shown, *kinds):
    """Return the boxes of some kinds that are there in this state."""
    return [
        box
        for box in marks(shown, "planes", Box)
        if box.kind in kinds and np.isfinite([box.x0, box.y0]).all()
    ]


@EVERY
def test_what_arrives_is_the_sum_of_what_each_output_sends(name):
    _, data, found = opened(name)
    assert_close(found.arrived, np.tensordot(found.gradient.ravel(), found.weights, 1), atol=1e-12)
    out = data.outputs[found.output]
    assert_close(found.arrived, out.reshape(-1, *out.shape[-2:])[0], atol=1e-5)


def test_the_weights_are_those_of_plain_windows():
    *_, found = opened("avg_pool")  # windows of 2 x 2, steps (2, 1), a row of padding
    wanted = np.zeros((3, 3, 5, 4))
    for i, j in np.ndindex(3, 3):
        wanted[i, j, max(2 * i - 1, 0) : 2 * i + 1, j : j + 2] = 1 / 4
    assert_close(found.weights, wanted.reshape(9, 5, 4))
    *_, padded = opened("reflection_pad_2d")  # (1, 0, 2, 1): the first column mirrors the second
    places = padded.weights.reshape(8, 5, 5, 4).argmax(axis=-1)
    assert_array_equal(places[4].max(axis=1), [1, 0, 1, 2, 3])


@EVERY
def test_half_way_half_of_the_outputs_have_sent(name):
    *_, found = opened(name)
    n = len(found.weights)
    (play,) = found.plays()
    assert [play["frames"][k]["sent"] for k in (0, -1)] == [0.0, 1.0] and play["steps"] == n
    subject, data, found = opened(name, **play["frames"][(n + 1) // 2] | {"sent": 0.5})
    shown = subject.show(data)
    rows, columns = found.arrived.shape
    arrived = mark(shown, "planes", Heat).values[:rows, -columns:]
    gone = np.clip(n / 2 - np.arange(n), 0, 1)
    assert_close(arrived, np.tensordot(gone * found.gradient.ravel(), found.weights, 1), atol=1e-12)
    assert unmarked(subject.said(data)).startswith(f"{n // 2} of {n} outputs have sent")
    box = framed(shown, MOVED)[0]
    assert (box.y0 + 0.5, box.x0 + 0.5) == divmod((n - 1) // 2, found.gradient.shape[1])
    sent, got = marks(shown, "adds", Bars)
    assert got.y == pytest.approx(sent.y.sum())
    assert np.isclose(arrived, got.y).any()


@pytest.mark.parametrize(
    "values, factor", [({}, 1.0), ({"paddingIdx": 3}, 0.0), ({"scaleGradByFreq": True}, 1 / 3)]
)
def test_a_row_goes_to_the_place_that_its_index_names(values, factor):
    subject, data, found = opened("embedding", column=0, **values)
    index = data.inputs["indices"]
    assert (index == index[1]).sum() == 3
    wanted = np.zeros((4, 3))
    wanted[index[1], 0] = factor
    assert_close(found.weights[3], wanted)  # the first number of a row
    shown = subject.show(data)
    assert (
        bool(marks(shown, "adds", Bars)[1].y)
        == bool(framed(shown, INK, GRADIENT, READ))
        == (factor > 0)
    )


@EVERY
@pytest.mark.parametrize("row, column", [(0, 0), (2, 2)])
def test_the_caption_counts_what_the_chosen_output_reads(name, row, column):
    subject, data, found = opened(name, row=row, column=column)
    rows, columns = found.gradient.shape
    k = min(row, rows - 1) * columns + min(column, columns - 1)
    weights, every = found.weights[k], found.weights != 0
    read, counts = every[k], every.sum(axis=0)
    said = unmarked(subject.said(data))
    assert ("one element" if read.sum() == 1 else f"{read.sum()} elements") in said
    best = np.isclose(abs(weights), abs(weights).max())  # of equal ones that which most read
    shared = counts[best].max()
    assert (f". {shared} outputs send" if shared > 1 else "No other output") in said
    low, high = (f"{end:.4g}" for end in np.sort(weights[read])[[0, -1]])
    pooled = found.inputs is not None
    if not pooled:
        one = "the whole gradient." if low == "1" else f" {low} times its gradient."
        if read.sum() > 1:
            one = f"gradient divided by {1 / float(low):.4g}."
        assert (f", {low} to {high}." if low != high else one) in said
    shown, seen = subject.show(data), read.copy()
    if pooled:  # 2 x 2, steps (2, 1), a row of padding
        seen[max(2 * row - 1, 0) : 2 * row + 1, column : column + 2] = True
    heat = mark(shown, "planes", Heat)
    assert_array_equal(heat.bright, seen)
    (down, across), (window, *tagged) = np.nonzero(seen), framed(shown, READ)
    far = planes.GAP + columns
    assert (window.x0 - far, window.y1) == (across.min() - 0.5, down.max() + 0.5)
    if max(rows, len(weights)) <= planes.WEIGHED:
        wanted = {at: f"w={weights[at]:.3g}" for at in zip(down, across)}
        if pooled:
            *least, most = np.sort(data.inputs["self"][0, 0][seen])
            wanted = {tuple(np.argwhere(read)[0]): f"{np.flatnonzero(read)[0]}: max {most:.2g}"}
            assert {box.label for box in framed(shown, GUIDE)} == {
                f"self {one:.2g}" for one in least
            }
        assert {(int(box.y0), int(box.x0 + 0.5) - far): box.label for box in tagged} == wanted
    sent, own = marks(shown, "adds", Bars)[0].y, mark(shown, "adds", Box)
    senders = np.flatnonzero(every[:, best & (counts == shared)][:, 0])
    empty = sent.size - senders.size  # places left of the axis
    assert panel(shown, "adds").x.low == empty - 0.7 and not sent[:empty].any()
    assert own.x0 + 0.35 == empty + [*senders].index(k) and own.y1 == sent[int(own.x1)]
    assert [(box.y0 + 0.5, box.x0 + 0.5) for box in framed(shown, INK)] == [
        divmod(at, columns) for at in senders
    ]
    (added,) = framed(shown, GRADIENT)  # the element that the other panel adds up
    assert heat.values[int(added.y0 + 0.5), int(added.x0 + 0.5)] == pytest.approx(sent.sum())
