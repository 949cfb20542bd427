"""The data and the panels of the cross-entropy explorer, against scalar loops."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from panelled_explorer import assert_lifted_test_judges, mark

from aclnn_viz.explorers import explore
from aclnn_viz.explorers.by_operator.cross_entropy_loss import subject
from aclnn_viz.explorers.by_operator.cross_entropy_loss_data import OP, State, compute, inputs
from aclnn_viz.explorers.device import DeviceOfState
from aclnn_viz.explorers.state import StateError
from aclnn_viz.pictures.marks import Bars, Box, Dots, Heat, Note

show = subject().show

SMALL = {"rows": 6, "classes": 4, "row": 1, "column": 1, "seed": 4, "dtype": "float64"}
CASES = pytest.mark.parametrize(
    "state",
    [
        State(**SMALL),
        State(**SMALL, weight="none", labelSmoothing=0.0, gradLoss=-2.5),
        State(**SMALL, reduction="none", weight="random"),
        State(**SMALL, reduction="sum", labelSmoothing=1.0, weight="half"),
        State(**SMALL, lseSquareScaleForZloss=0.1),
        State(**SMALL, lseSquareScaleForZloss=0.05, reduction="none"),
        State(**SMALL, weight="balanced", ignored=0.5, ignoreIndex=-3, spread=6.0),
    ],
    ids=["default", "plain", "none", "sum", "zloss", "zloss none", "balanced"],
)


@CASES
def test_each_row_is_a_number_times_softmax_minus_target(state):
    data = compute(state)
    for row in range(state.rows):
        total = sum(data.target[row])
        for c in range(state.classes):
            expected = data.factor[row] * (
                exp(data.inputs["logProb"][row, c]) * total - data.target[row, c]
            )
            assert data.xGradOut[row, c] == pytest.approx(expected, abs=1e-13)
        assert data.xGradOut[row].sum() == pytest.approx(0.0, abs=1e-13)


@CASES
def test_targets_are_smoothed_and_weighted(state):
    data = compute(state)
    for row, given in enumerate(data.inputs["target"]):
        weight = (
            np.ones(state.classes)
            if state.weight == "none"
            else data.inputs["weightOptional"].astype(float)
        )
        expected = (
            [
                (state.labelSmoothing / state.classes + (1 - state.labelSmoothing) * (c == given))
                * weight[c]
                for c in range(state.classes)
            ]
            if given != state.ignoreIndex
            else [0.0] * state.classes
        )
        np.testing.assert_allclose(data.target[row], expected, atol=1e-15)


def test_the_divisor_is_the_weights_of_the_targets_that_count():
    data = compute(State(weight="random", ignored=0.4))
    weight = data.inputs["weightOptional"]
    expected = sum(float(weight[t]) for t in data.inputs["target"] if t != 0)
    assert data.divisor == pytest.approx(expected, rel=1e-12)
    products = mark(show(data), "divisor", Bars, "their product")
    assert products.y.sum() == pytest.approx(expected, rel=1e-12)
    assert f"W = {expected:.4g}" in show(data).headline[1]
    assert data.factor[data.counted] == pytest.approx(1 / expected)


def test_balanced_weights_make_every_class_equally_heavy():
    data = compute(State(weight="balanced", rows=40, classes=5, ignored=0.0, ignoreIndex=-1))
    products = mark(show(data), "divisor", Bars, "their product")
    np.testing.assert_allclose(products.y, 40 / 5, rtol=1e-6)


def test_more_ignored_rows_keep_those_that_were():
    lost = [
        ~compute(State(ignored=share, ignoreIndex=-100)).counted for share in (0.0, 0.25, 0.5, 1.0)
    ]
    assert [int(rows.sum()) for rows in lost] == [0, 4, 8, 16]
    assert all((few <= many).all() for few, many in zip(lost, lost[1:]))


def test_ignored_rows_are_nought_and_framed():
    data = compute(State(ignored=0.3))
    lost = np.flatnonzero(~data.counted)
    assert (
        lost.size >= 5
        and not data.xGradOut[lost].any()
        and data.xGradOut[data.counted].all(1).any()
    )
    framed = [
        row
        for box in show(data).panels[0].marks
        if isinstance(box, Box) and box.kind == 4
        for row in range(round(box.y0 + 0.5), round(box.y1 + 0.5))
    ]
    assert framed == lost.tolist()
    assert [text for _, text in show(data).panels[0].y.ticks if "ignored" in text] == [
        f"ignored {row}" for row in lost
    ]
    assert f"{lost.size} of 16 rows are ignored" in show(data).headline[1]


def test_thin_ignored_rows_are_marked_at_the_edge():
    data = compute(State(rows=64, ignored=0.3))
    assert (
        mark(show(data), "map", Dots, "ignored").y.tolist()
        == np.flatnonzero(~data.counted).tolist()
    )


@pytest.mark.parametrize(
    "values",
    [
        {"ignored": 1.0},
        {
            "weight": "half",
            "rows": 1,
            "row": 0,
            "classes": 2,
            "column": 0,
            "seed": 0,
            "ignoreIndex": -100,
            "ignored": 0.0,
        },
    ],
)
def test_a_mean_over_nothing_is_nan_and_said(values):
    data = compute(State(**values))
    assert data.divisor == 0 and np.isnan(data.xGradOut).all()
    shown = show(data)
    assert "W = 0" in shown.headline[1] and "NaN in every element" in shown.headline[1]
    assert (
        mark(shown, "map", Note).text == "NaN everywhere: 0/0"
        and "NaN" in mark(shown, "gradient", Note).text
    )


@pytest.mark.parametrize("reduction", ["sum", "none"])
def test_ignoring_all_is_nought_without_a_mean(reduction):
    data = compute(State(ignored=1.0, reduction=reduction))
    assert (
        not data.xGradOut.any() and "16 of 16 rows are ignored: exactly 0" in show(data).headline[1]
    )
    assert mark(show(data), "gradient", Note).text == "0 everywhere"


def test_a_coarse_format_breaks_the_sum_of_a_row():
    fine, coarse = compute(State(dtype="float64")), compute(State(dtype="bfloat16"))
    assert (
        np.abs(fine.xGradOut.sum(1)).max() < 1e-15 and np.abs(coarse.xGradOut.sum(1)).max() > 1e-4
    )
    # logProb up to 8 is rounded to a unit of 2^-8: exp moves by up to 3 % where it is smallest, a few per mille in sum.
    assert 1e-4 < np.abs(coarse.softmax.sum(1) - 1).max() < 0.03
    assert coarse.errors.max() > 1e-5 > 1e-13 > fine.errors.max()


def test_errors_are_distances_from_the_truth():
    state = State(dtype="float16")

    def off(state, given):
        return {"xGradOut": OP.truth(**given)["xGradOut"] + np.arange(16.0)[:, None] / 8}, ()

    np.testing.assert_allclose(compute(state, off).errors, np.arange(16) / 8, atol=1e-12)


def test_the_zloss_is_beside_the_gradient_and_said():
    data = compute(State(lseSquareScaleForZloss=0.02, reduction="sum"))
    without = compute(State(reduction="sum"))
    np.testing.assert_array_equal(data.xGradOut, without.xGradOut)
    assert not data.zloss[~data.counted].any() and not without.zloss.any()
    lse = data.inputs["lseForZlossOptional"].astype(float)
    # softmax sums to 1, so the row's sum is 2 scale lse; float32 inputs
    np.testing.assert_allclose(data.zloss.sum(1)[data.counted], 0.04 * lse[data.counted], rtol=1e-5)
    assert "No product computes the z-loss" in show(data).notices[-1]
    dots = mark(show(data), "gradient", Dots)
    np.testing.assert_array_equal(dots.y, (data.xGradOut + data.zloss)[data.state.row])


def test_panels_show_the_data():
    data = compute(State(weight="none"))
    shown, row = show(data), data.state.row
    np.testing.assert_array_equal(mark(shown, "map", Heat).values, data.xGradOut)
    np.testing.assert_array_equal(mark(shown, "row", Bars, "softmax").y, data.softmax[row])
    np.testing.assert_array_equal(mark(shown, "row", Bars, "smoothed target").y, data.target[row])
    np.testing.assert_array_equal(mark(shown, "gradient", Bars).y, data.xGradOut[row])
    targets = mark(shown, "map", Dots, "target")
    assert [(r, c) for r, c in zip(targets.y, targets.x)] == [
        (r, c) for r, c in enumerate(data.inputs["target"]) if c != data.state.ignoreIndex
    ]
    largest = mark(shown, "sums", Dots, "largest |xGradOut|").y
    np.testing.assert_array_equal(largest[data.counted], np.abs(data.xGradOut).max(1)[data.counted])
    assert np.isnan(largest[~data.counted]).all()  # 0 has no place on a logarithmic axis


@pytest.mark.parametrize(
    ("label", "values"),
    [
        ("|sum of the row|", lambda data: np.abs(data.xGradOut.sum(1))),
        ("error", lambda data: data.errors),
        ("|sum with the z-loss|", lambda data: np.abs(data.xGradOut.sum(1) + data.zloss.sum(1))),
    ],
)
def test_the_sums_and_errors_of_rows_are_drawn(label, values):
    data = compute(State(lseSquareScaleForZloss=0.1, dtype="bfloat16", ignored=0.0, ignoreIndex=-1))
    # sums in two orders
    np.testing.assert_allclose(mark(show(data), "sums", Dots, label).y, values(data), rtol=1e-14)


def test_without_a_reduction_each_row_has_its_own_gradient():
    upstream = inputs(State(reduction="none", gradLoss=2.0, dtype="float64"))["gradLoss"]
    assert np.unique(upstream).size == 16 and (1.0 <= upstream).all() and (upstream <= 3.0).all()
    assert inputs(State(reduction="sum", gradLoss=2.0))["gradLoss"] == 2.0


@pytest.mark.parametrize(("lead", "word"), [(-3.0, "short of"), (12.0, "beyond")])
def test_smoothing_has_its_rest_below_certainty(lead, word):
    data = compute(State(weight="none", labelSmoothing=0.2, lead=lead))
    assert (
        f"at softmax {0.8 + 0.2 / 10:.4g} of class 2" in show(data).headline[2]
        and word in show(data).headline[2]
    )
    assert (data.xGradOut[3, 2] > 0) == (word == "beyond")


def test_the_words_tell_every_class_and_row():
    data = compute(State())
    text = show(data).text
    assert (
        f"{data.softmax[3, 9] * data.target[3].sum():.4g}" in text
        and f"{data.xGradOut[3, 0]:.4g}" in text
    )
    assert text.count("ignored ") == (~data.counted).sum() and f"{data.errors[-1]:.4g}" in text


@pytest.fixture(scope="module")
def explorer():
    made = explore("cross_entropy_loss")
    yield made
    made.close()


def test_a_product_that_does_not_smooth_says_so_and_computes_the_rest(explorer):
    start = dict(explorer.values)
    explorer.values = {**start, "soc": "Ascend910B2"}
    assert "labelSmoothing must be 0" in explorer.problem["device"]
    explorer.values = {**start, "soc": "Ascend910B2", "labelSmoothing": 0.0, "ignoreIndex": -100}
    assert not explorer.problem and "Ascend910B2" in explorer.data.computed_by
    explorer.values = start


def test_every_target_is_judged_anew():
    device = DeviceOfState(lambda state: OP)
    negative = State(ignoreIndex=-100, ignored=0.0)
    compute(negative, device.backward)
    with pytest.raises(StateError, match="ignores no target below 0"):
        compute(replace(negative, ignored=0.5), device.backward)
    device.close()


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_a_lifted_test_judges_small_gradients_of_every_format(explorer, dtype):
    explorer.values = {**explorer.values, "dtype": dtype}
    assert_lifted_test_judges(explorer, "xGradOut")
    explorer.values = {**explorer.values, "dtype": "float32"}


def test_inputs_are_reachable_and_of_the_format():
    given = inputs(State(dtype="float16", lseSquareScaleForZloss=0.1, reduction="none"))
    assert (
        given["logProb"].dtype
        == given["gradLoss"].dtype
        == given["lseForZlossOptional"].dtype
        == np.float16
    )
    assert given["gradLoss"].shape == (16,) and given["weightOptional"].dtype == np.float32
    # 11 bits of logProb up to 10 in size: each term moves by at most 2^-8 of itself.
    np.testing.assert_allclose(np.exp(given["logProb"].astype(float)).sum(1), 1.0, atol=2.0**-8)
