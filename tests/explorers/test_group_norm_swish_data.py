"""The data and the panels of the group-norm explorer, against scalar loops."""

from math import exp, sqrt

import numpy as np
import pytest
from panelled_explorer import mark

from aclnn_viz.explorers.by_operator.group_norm_swish import subject
from aclnn_viz.explorers.by_operator.group_norm_swish_data import OP, State, compute, inputs
from aclnn_viz.explorers.device import DeviceOfState
from aclnn_viz.explorers.state import StateError
from aclnn_viz.pictures.marks import Bars, Box, Dots, Heat, Line, Note, Rule

show = subject().show

SMALL = {
    "samples": 2,
    "channels": 4,
    "positions": 3,
    "numGroups": 2,
    "sample": 1,
    "channel": 2,
    "position": 1,
    "seed": 3,
    "dtype": "float64",
}
CASES = pytest.mark.parametrize(
    "state",
    [
        State(**SMALL),
        State(**SMALL | {"numGroups": 1}, swishScale=-1.5),
        State(**SMALL | {"numGroups": 4}, x_mean=40.0),
        State(**SMALL, swishScale=0.0, beta_mean=2.0),
    ],
    ids=["default", "one group", "a channel each", "no swish"],
)
EPS = 1e-5  # of the forward pass


def members(state, channel):
    depth = state.channels // state.numGroups
    return range(channel // depth * depth, (channel // depth + 1) * depth)


@CASES
def test_the_three_terms_make_up_dx(state):
    data = compute(state)
    sample, channel, n = state.sample, state.channel, data.depth * state.positions
    group = [(sample, c, p) for c in members(state, channel) for p in range(state.positions)]
    mean = sum(data.dxhat[at] for at in group) / n
    along = sum(data.dxhat[at] * data.xhat[at] for at in group) / n
    assert data.means[sample, data.group] == pytest.approx([mean, along], abs=1e-13)
    bars = [
        mark_y for each in show(data).panels[3].marks if isinstance(each, Bars) for mark_y in each.y
    ]
    here, rstd = (sample, channel, state.position), data.rstd[sample, data.group]
    assert bars == pytest.approx(
        [rstd * data.dxhat[here], -rstd * mean, -rstd * along * data.xhat[here], data.dx[here]],
        abs=1e-11,
    )


@CASES
def test_the_values_on_the_way(state):
    data = compute(state)
    for at in np.ndindex(data.z.shape):
        z, s = data.z[at], state.swishScale
        sigmoid = 1 / (1 + exp(-s * z))
        assert z == pytest.approx(
            data.xhat[at] * data.inputs["gamma"][at[1]] + data.inputs["beta"][at[1]], abs=1e-13
        )
        assert data.slope[at] == pytest.approx(sigmoid * (1 + s * z * (1 - sigmoid)), abs=1e-14)
        assert data.early_slope[at] == pytest.approx(sigmoid * (1 + z * (1 - sigmoid)), abs=1e-14)
    groups = data.xhat.reshape(2, state.numGroups, -1)
    np.testing.assert_allclose(groups.mean(-1), 0.0, atol=1e-13)
    np.testing.assert_allclose((groups**2).mean(-1), 1.0, atol=1e-3)  # eps takes 1e-5 / variance


def test_dx_is_orthogonal_to_ones_and_nearly_to_xhat():
    data = compute(State(dtype="float64"))
    dx, xhat = (values.reshape(2, 3, -1) for values in (data.dx, data.xhat))
    assert (
        abs(dx.sum(-1)).max() < 1e-13
        and abs((dx * xhat).sum(-1)).max() < 1e-3 < abs(dx).sum(-1).min()
    )


def test_the_size_of_dx_with_and_without_the_division():
    state = State(
        samples=1,
        channels=4,
        positions=5,
        channel=0,
        position=0,
        numGroups=1,
        dtype="float64",
        seed=2,
    )
    data = compute(state)
    assert data.sizes.tolist() == [5, 10, 20]
    for groups, n, norms in zip((4, 2, 1), data.sizes, data.norms.T):
        one = compute(State(**{**vars(state), "numGroups": groups}))
        wrong = np.empty_like(one.dx)
        for at in np.ndindex(wrong.shape):
            group = at[1] * groups // 4
            mean, along = one.means[0, group] * n
            wrong[at] = (one.dxhat[at] - mean - along * one.xhat[at]) * one.rstd[0, group]
        assert norms == pytest.approx(
            [sqrt((one.dx**2).mean()), sqrt((wrong**2).mean())], rel=1e-10
        )


def test_without_the_division_dx_grows_with_the_group():
    right, wrong = compute(State()).norms
    assert (
        (np.diff(wrong) > 0).all() and wrong[-1] > 50 * right[-1] and right.max() < 2 * right.min()
    )


def early(state):
    device = DeviceOfState(lambda state: OP)
    try:
        return compute(state, device.backward)
    finally:
        device.close()


def test_cann_before_9_1_misses_a_scale_where_predicted():
    state = State(swishScale=3.0, cann="9.0", plan="device")
    data = early(state)
    assert data.early and data.errors["dxOut"] > 0.1
    # What its slope gives, element by element; float32 inside, two dozen roundings of values up to 10.
    dz = np.float64(data.inputs["dy"]) * data.early_slope
    np.testing.assert_allclose(data.dbeta, dz.sum((0, 2)), atol=1e-4)
    np.testing.assert_allclose(data.dgamma, (dz * data.xhat).sum((0, 2)), atol=1e-4)
    shown = show(data)
    assert (
        mark(shown, "swish", Line, "slope in CANN 9.0")
        and "leaves out one factor swishScale = 3" in shown.headline[2]
    )
    assert mark(shown, "swish", Dots, "chosen").y[0] == data.early_slope[0, 9, 9]
    assert "needs CANN 9.1" in data.notices[0]


def test_the_missing_scale_is_nothing_for_scale_1():
    data = early(State(swishScale=1.0, cann="9.0", plan="device"))
    assert data.errors["dxOut"] < 1e-5 and "which is 1 here" in show(data).headline[2]
    np.testing.assert_array_equal(data.early_slope, data.slope)


def test_cann_before_9_1_is_refused_where_not_predicted():
    with pytest.raises(StateError, match="swishScale other than 1 needs CANN 9.1") as caught:
        early(State(cann="9.0"))
    assert caught.value.field == "device"


def test_the_newest_cann_shows_no_early_slope():
    labels = [each.label for each in show(early(State(plan="device"))).panels[1].marks]
    assert "its slope" in labels and not any("CANN" in label for label in labels)


def test_errors_are_distances_from_the_truth():
    def off(state, given):
        return {name: values + 0.25 for name, values in OP.truth(**given).items()}, ()

    assert compute(State(dtype="float16"), off).errors == pytest.approx(
        {"dxOut": 0.25, "dgammaOut": 0.25, "dbetaOut": 0.25}, abs=1e-12
    )
    assert (
        compute(State()).errors["dxOut"] < 1e-5 < compute(State(dtype="bfloat16")).errors["dxOut"]
    )


@pytest.mark.parametrize(
    ("flags", "names"),
    [
        ({"dgammaIsRequire": False}, ["dbetaOut"]),
        ({"dbetaIsRequire": False}, ["dgammaOut"]),
        ({"dgammaIsRequire": False, "dbetaIsRequire": False}, []),
    ],
)
def test_what_is_not_asked_for_is_absent(flags, names):
    data = compute(State(**flags))
    shown = show(data)
    panel = shown.panels[-1]
    assert [each.label for each in panel.marks if isinstance(each, Bars)] == names
    assert (
        ("not asked: " in panel.title)
        and "not asked" in shown.text
        and len(data.errors) == 1 + len(names)
    )
    assert any(isinstance(each, Note) for each in panel.marks) == (not names)


def test_panels_show_the_data():
    data = compute(State())
    shown, state = show(data), data.state
    np.testing.assert_array_equal(mark(shown, "map", Heat).values, data.dx[0])
    np.testing.assert_array_equal(mark(shown, "parameters", Bars, "dgammaOut").y, data.dgamma)
    np.testing.assert_array_equal(mark(shown, "parameters", Bars, "dbetaOut").y, data.dbeta)
    assert (
        mark(shown, "growth", Rule).at == 96
        and mark(shown, "terms", Dots, "dxOut").y == data.dx[0, 9, 9]
    )
    line = mark(shown, "line", Line, "mean + x̂ · mean(dx̂ x̂), taken away")
    group = data.dxhat[0, 8:].ravel(), data.xhat[0, 8:].ravel()
    # The line is the least-squares fit, but for eps in rstd.
    fit = np.polyfit(group[1], group[0], 1)
    np.testing.assert_allclose(line.y, np.polyval(fit, line.x), rtol=1e-4)
    wrong = mark(shown, "line", Line, "without 1/n: 96 times that")
    np.testing.assert_allclose(wrong.y, 96 * line.y, rtol=1e-12)
    left = mark(shown, "line", Line, "what is left: dx / rstd")
    assert np.diff(left.y)[0] * data.rstd[0, 2] == pytest.approx(data.dx[0, 9, 9], rel=1e-5)
    assert (state.channel, state.position) == (9, 9)


@pytest.mark.parametrize("scale", [-1.5, 2.5])
def test_curves_reach_over_the_chosen_group(scale):
    data = compute(
        State(swishScale=scale, channel=1, numGroups=12, sample=1, beta_mean=4.0, dtype="float64")
    )
    own = data.z[1, 1]
    curves = {label: mark(show(data), "swish", Line, label) for label in ("swish", "its slope")}
    assert curves["swish"].x[-1] == -curves["swish"].x[0] == pytest.approx(1.05 * np.abs(own).max())
    at = curves["swish"].x
    np.testing.assert_allclose(curves["swish"].y, at / (1 + np.exp(-scale * at)), atol=1e-13)
    slope = (
        lambda z: (
            1 / (1 + np.exp(-scale * z))
            + scale * z * np.exp(-scale * z) / (1 + np.exp(-scale * z)) ** 2
        )
    )(at)
    np.testing.assert_allclose(curves["its slope"].y, slope, atol=1e-12)
    np.testing.assert_array_equal(mark(show(data), "swish", Dots, "group 1").x, own)


def test_both_sizes_are_drawn_over_the_size_of_the_groups():
    data = compute(State())
    for label, norms in (("dx", data.norms[0]), ("without 1/n", data.norms[1])):
        for kind in (Line, Dots):
            drawn = mark(show(data), "growth", kind, label)
            np.testing.assert_array_equal(drawn.x, data.sizes)
            np.testing.assert_array_equal(drawn.y, norms)


def test_groups_are_drawn_on_their_channels():
    boxes = [
        each for each in show(compute(State(numGroups=4))).panels[0].marks if isinstance(each, Box)
    ]
    groups = {box.label: (box.y0, box.y1) for box in boxes if box.label}
    assert groups == {f"group {g}": (3 * g - 0.5, 3 * g + 2.5) for g in range(4)}
    # channel 9; the chosen one lies on top
    assert boxes[3].label == "group 3" and boxes[3].kind == 2
    thin = [
        each
        for each in show(compute(State(channels=48, numGroups=48))).panels[0].marks
        if isinstance(each, Box)
    ]
    assert len(thin) == 2  # the chosen group and the chosen element


def test_the_words_tell_the_terms_and_the_wrong_result():
    data = compute(State())
    sample = data.means[0, 2]
    wrong = (data.dxhat[0, 9, 9] - 96 * (sample[0] + sample[1] * data.xhat[0, 9, 9])) * data.rstd[
        0, 2
    ]
    shown, times = show(data), data.norms[1, 3] / data.norms[0, 3]
    assert data.sizes[3] == 96 and f"{times:.4g} times as large" in shown.headline[1]
    assert (
        f"dx would be {wrong:+.4g} here" in shown.headline[1]
        and f"= {data.dx[0, 9, 9]:+.4g}" in shown.headline[0]
    )
    assert all(
        f"{values[0, 9, 9]:.4g}" in shown.text
        for values in (data.xhat, data.z, data.slope, data.dxhat, data.dx)
    )


def test_what_moves_without_the_tensors_leaves_the_growth():
    assert compute(State(channel=3)).norms is compute(State(position=2, numGroups=2)).norms


def test_inputs_are_reachable_and_of_the_format():
    given = inputs(State(dtype="float16"))
    assert {given[name].dtype for name in "dy x gamma beta mean rstd".split()} == {
        np.dtype(np.float16)
    }
    # mean and rstd of 96 values rounded to float16: half a unit of 2^-11 of themselves.
    parts = given["x"].astype(float).reshape(2, 3, -1)
    np.testing.assert_allclose(given["mean"], parts.mean(-1), rtol=2.0**-11)
    np.testing.assert_allclose(given["rstd"], 1 / np.sqrt(parts.var(-1) + EPS), rtol=2.0**-11)
