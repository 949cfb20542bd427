"""The data and the panels of the RMS norm explorer, against loops written from the definition."""

from math import sqrt

import numpy as np
import pytest
from panelled_explorer import marks

from aclnn_viz.explorers.by_operator.rms_norm import subject
from aclnn_viz.explorers.by_operator.rms_norm_data import (
    EPSILONS,
    LENGTHS,
    OP,
    State,
    compute,
    inputs,
    tensors,
)
from aclnn_viz.pictures.marks import Arrows, Bars, Heat, Line, Rule
from aclnn_viz.pictures.panels import described

show = subject().show

SMALL = {"rows": 3, "columns": 7, "row": 1, "column": 2, "seed": 4}
EXACT = {**SMALL, "dtype": "float64"}


STATES = pytest.mark.parametrize(
    "values",
    [
        {},
        {"outlier": 3.0, "dy": "random"},
        {"epsilon": 0.3, "gamma": "signs"},
        {"dy": "column", "gamma": "ramp"},
        {"dy": "ones", "gamma": "ones"},
        {"dy": "along", "scale": -1.0},
    ],
)


@STATES
def test_the_row_is_split_into_its_part_along_x_and_the_rest(values):
    data = compute(State(**{**EXACT, **values}))
    x, dy, gamma = data.inputs["x"][1], data.inputs["dy"][1], data.inputs["gamma"]
    root = sqrt(sum(v * v for v in x) / len(x) + data.epsilon)
    arriving = [d * g for d, g in zip(dy, gamma)]
    share = sum(a * v for a, v in zip(arriving, x)) / len(x) / root**2
    np.testing.assert_allclose(data.arriving, arriving, rtol=1e-14)
    np.testing.assert_allclose(data.part, [share * v for v in x], atol=1e-13)
    np.testing.assert_allclose(data.part + data.kept, arriving, atol=1e-13)
    np.testing.assert_allclose(data.term, dy * x / root, atol=1e-13)


@STATES
def test_inner_products_with_the_projection_and_without(values):
    data = compute(State(**{**EXACT, **values}))
    x, root = data.inputs["x"][1], sqrt(np.mean(data.inputs["x"][1] ** 2) + data.epsilon)
    without = sum(a * v for a, v in zip(data.arriving, x)) / root
    assert data.inner[1] == pytest.approx(without, rel=1e-12)
    assert data.inner[0] == pytest.approx(
        without * data.epsilon / root**2, abs=1e-13 * max(abs(without), 1)
    )
    assert data.inner[0] == pytest.approx(float(data.dxOut[1] @ x), abs=1e-13)


@STATES
def test_epsilon_leaves_its_share_of_the_part_along_x(values):
    data = compute(State(**{**EXACT, **values}))
    measured, exact = data.left
    assert data.epsilons[-1] == data.epsilon and data.epsilons.size == EPSILONS.size + 1
    square = float(np.mean(data.inputs["x"][1] ** 2))
    np.testing.assert_allclose(exact, [e / (square + e) for e in data.epsilons], rtol=1e-12)
    # float64 keeps the part to a few roundings
    np.testing.assert_allclose(measured, exact, rtol=1e-6, atol=1e-13)
    # half at mean(x^2)
    assert np.interp(square, data.epsilons[:-1], exact[:-1]) == pytest.approx(0.5, abs=0.05)


def test_a_coarse_format_leaves_a_floor():
    floors = {
        dtype: compute(State(dtype=dtype)).left[0, 0]
        for dtype in ("bfloat16", "float32", "float64")
    }
    assert floors["float64"] < 1e-11 < floors["float32"] < 1e-5 < floors["bfloat16"]


@STATES
def test_the_plane_keeps_lengths_and_the_right_angle(values):
    data = compute(State(**{**EXACT, **values}))
    (along, across), (kept_along, kept_across) = data.plane
    assert np.hypot(along, across) == pytest.approx(np.linalg.norm(data.arriving), rel=1e-12)
    assert np.hypot(kept_along, kept_across) == pytest.approx(np.linalg.norm(data.kept), abs=1e-12)
    assert kept_across == pytest.approx(across, abs=1e-12)
    # Along x only what epsilon leaves; noise where dy is x itself.
    assert kept_along == pytest.approx(
        along * data.epsilon / (data.mean_square + data.epsilon), abs=1e-12
    )


def test_a_wrong_backward_shows():
    def without_projection(state, given):
        outputs = OP.backward(**given)
        return {**outputs, "dxOut": given["dy"] * given["gamma"] * given["rstd"]}, ()

    wrong, right = compute(State(**SMALL), without_projection), compute(State(**SMALL))
    assert wrong.inner[0] == pytest.approx(right.inner[1], rel=1e-6)
    assert wrong.errors[0] > 0.1 > 1e-5 > right.errors[0]
    assert wrong.plane[1, 0] == pytest.approx(right.plane[0, 0], rel=1e-6)


def test_a_device_measures_every_epsilon_itself():
    def without_projection(state, given):
        return {**OP.backward(**given), "dxOut": given["dy"] * given["gamma"] * given["rstd"]}, ()

    data = compute(State(device="atlas"), without_projection)
    np.testing.assert_allclose(data.left[0], 1.0, rtol=1e-5)


def summed(terms, accumulate):
    """One after another in a format of NumPy's, starting with the first."""
    total = accumulate(terms[0])
    for term in terms[1:]:
        total = accumulate(total + accumulate(term))
    return float(total)


@pytest.mark.parametrize(("dtype", "accumulate"), [("float32", "float32"), ("float32", "float16")])
def test_sequential_sums_are_those_of_a_loop(dtype, accumulate):
    state = State(dtype=dtype, accumulate=accumulate)
    data = compute(state)
    for at, length in list(enumerate(LENGTHS))[:5]:
        given = tensors(State(dtype=dtype), length, 4)
        rstd = OP.forward(x=given["x"], gamma=given["gamma"], epsilon=1e-6)["rstd"]
        terms = given["dy"] * (given["x"] * rstd)  # float32, as the device rounds them
        wide = given["dy"].astype(float) * (given["x"].astype(float) * rstd.astype(float))
        exact = wide.sum(axis=0)
        got = [summed(column, np.dtype(accumulate).type) for column in terms.T]
        assert data.order_errors[0, at] == pytest.approx(
            np.abs(got - exact).max() / np.abs(exact).max(), rel=1e-6
        )


@pytest.mark.parametrize(
    ("output", "dy"), [("dgammaOut", "mixed"), ("dgammaOut", "along"), ("dxOut", "along")]
)
def test_long_sums_one_after_another_cost_most(output, dy):
    sequential, tiled, pairwise = compute(
        State(output=output, dy=dy, accumulate="bfloat16")
    ).order_errors
    # A running sum of bfloat16 stops growing near 256 equal terms; a tree does not.
    assert sequential[-1] > 0.3 > 0.1 > max(tiled[-1], pairwise[-1])


def test_a_tile_as_long_as_the_sum_is_a_tree_and_a_tile_of_one_is_none():
    sequential, tiled, pairwise = compute(State(tile=4096)).order_errors
    np.testing.assert_array_equal(tiled, pairwise)
    sequential, tiled, pairwise = compute(State(tile=1)).order_errors
    np.testing.assert_array_equal(tiled, sequential)


def test_most_movements_leave_the_sums():
    assert (
        compute(State(epsilon=-5.0)).order_errors
        is compute(State(outlier=2.0, row=0, scale=1.0)).order_errors
    )


@pytest.mark.parametrize("dy", "mixed along random ones column".split())
def test_an_outlier_scales_one_element_and_rstd_follows(dy):
    plain, scaled = inputs(State(**SMALL, dy=dy)), inputs(State(**SMALL, dy=dy, outlier=6.0))
    ratio = scaled["x"] / plain["x"]
    assert ratio[1, 2] == 64.0 and np.delete(ratio.ravel(), 1 * 7 + 2).tolist() == [1.0] * 20
    assert (scaled["rstd"] == plain["rstd"]).ravel().tolist() == [True, False, True]
    assert scaled["rstd"][1, 0] == pytest.approx(
        1 / sqrt(np.mean(scaled["x"][1].astype(float) ** 2) + 1e-6), rel=1e-6
    )


def test_the_panels_hold_the_data():
    data = compute(State(outlier=3.0))
    np.testing.assert_array_equal(marks(show(data), "row", Bars)[0].y, data.arriving)
    np.testing.assert_array_equal(
        [line.y for line in marks(show(data), "row", Line)], [data.part, data.kept]
    )
    np.testing.assert_array_equal(marks(show(data), "dx", Heat)[0].values, data.dxOut)
    np.testing.assert_array_equal(marks(show(data), "dgamma", Bars)[0].y, data.dgammaOut)
    tips = [
        (float(arrow.dx[0]), float(arrow.dy[0])) for arrow in marks(show(data), "plane", Arrows)
    ]
    assert tips == [tuple(data.plane[0]), (data.plane[0, 0], 0.0), tuple(data.plane[1])]
    assert [rule.at for rule in marks(show(data), "epsilon", Rule)] == [
        data.epsilon,
        data.mean_square,
    ]


def test_the_plane_is_drawn_in_equal_units():
    from aclnn_viz.explorers.by_operator.rms_norm import ASPECT

    panel = next(p for p in show(compute(State())).panels if p.name == "plane")
    assert (panel.x.high - panel.x.low) / (panel.y.high - panel.y.low) == pytest.approx(ASPECT)


@pytest.mark.parametrize(("epsilon", "word"), [(-6.0, "far below"), (-1.0, "near"), (1.0, "above")])
def test_the_words_tell_the_numbers(epsilon, word):
    data = compute(State(epsilon=epsilon))
    shown = show(data)
    assert (
        f"{data.inner[0]:.4g}" in shown.headline[0] and f"{data.inner[1]:.4g}" in shown.headline[0]
    )
    assert (
        word in shown.headline[1]
        and "4,096" in shown.headline[2]
        and "Ascend910B2" in shown.headline[3]
    )
    assert all(sentence in shown.text for sentence in shown.headline) and len(shown.headline) <= 4
    assert f"{data.kept[7]:.4g}" in shown.text


def test_a_row_that_overflows_float16_is_left_out_of_the_plane():
    data = compute(State(dtype="float16", scale=-5.0, epsilon=-12.0))
    shown = show(data)
    assert np.isinf(data.dxOut).any() and "inf" in shown.text
    plane = described(shown.panels)[1][1]
    assert plane["name"] == "plane" and all(
        np.isfinite(plane[axis][end]) for axis in "xy" for end in ("low", "high")
    )
