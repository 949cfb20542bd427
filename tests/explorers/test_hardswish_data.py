"""The data and the panels of the hardswish explorer, against exact fractions written from the definition."""

import re
import struct
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from panelled_explorer import marks
from together import in_one

from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.explorers.by_operator.hardswish import subject
from aclnn_viz.explorers.by_operator.hardswish_data import OP, State, compute, inputs
from aclnn_viz.pictures.marks import Dots, Line
from aclnn_viz.pictures.panels import described
from aclnn_viz.pictures.picture import Picture

show = subject().show

HALF = "float16"


def gradient(x, g):
    """Exactly, with the closed interval; nan and the infinities take the branch that their comparisons choose."""
    if x < -3:
        return Fraction(0)
    return Fraction(g) * (Fraction(2 * Fraction(x) + 3) / 6 if x <= 3 else 1)


def to_half(value: Fraction) -> float:
    """Rounded to float16 by Python; a float64 between would only matter within 2^-53 of a tie."""
    return struct.unpack("e", struct.pack("e", float(value)))[0]


def picture(state):
    return shown_arrays(show(compute(state)))


def shown_arrays(shown: Picture):
    arrays, text = described(shown.panels)
    return (
        {name: array.tobytes() for name, array in arrays.items()},
        text,
        shown.headline,
        shown.text,
    )


@in_one
@pytest.mark.parametrize("x", [-6.0, -3.01, -3.0, -1.5, 0.0, 1.23, 3.0, 3.01, 6.0])
@pytest.mark.parametrize("g", [1.0, -2.35, 0.0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_chosen_input_has_its_output_and_gradient(x, g, dtype):
    data = compute(State(x=x, gradOutput=g, dtype=dtype))
    kind = np.dtype(dtype).type
    exact = float(gradient(float(kind(x)), float(kind(g))))
    assert (data.x, data.gradOutput) == (float(kind(x)), float(kind(g)))
    # A few roundings of terms up to 6 gradOutput; the truth has those of a wider format at most.
    assert data.out == pytest.approx(exact, abs=40 * float(np.finfo(dtype).eps))
    assert data.truth == pytest.approx(exact, abs=1e-14)
    assert data.value == pytest.approx(
        data.x * min(max(data.x + 3, 0), 6) / 6, abs=8 * float(np.finfo(dtype).eps)
    )


@pytest.mark.parametrize("g", [1.0, -2.0])
def test_the_kinks_belong_to_the_closed_interval(g):
    data = compute(State(gradOutput=g))
    assert data.kinks.tolist() == [-0.5 * g, 1.5 * g]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("centre", [-3.0, -1.5, 3.0])
def test_the_window_counts_in_single_steps_of_the_format(dtype, centre):
    data = compute(State(dtype=dtype, centre=centre, steps=5))
    kind = np.dtype(dtype).type
    up = down = kind(centre)
    for k in range(1, 6):
        up, down = np.nextafter(up, kind(np.inf)), np.nextafter(down, kind(-np.inf))
        assert data.window[5 + k] == up and data.window[5 - k] == down
    assert data.window[5] == centre and data.window.size == 11


def test_a_window_in_bfloat16_has_steps_of_a_64th():
    assert np.unique(
        np.diff(compute(State(dtype="bfloat16", centre=3.0, steps=9)).window)
    ).tolist() == [2.0**-6]


@pytest.mark.parametrize(("centre", "side", "jump"), [(-3.0, -1, 0.5), (3.0, 1, -0.5)])
def test_one_step_outside_of_a_kink_the_gradient_jumps(centre, side, jump):
    data = compute(State(centre=centre, steps=3))
    assert data.window_out[3 + side] - data.window_out[3] == jump
    assert abs(data.window_out[3 - side] - data.window_out[3]) < 0.001  # a step is 0.002


@pytest.mark.parametrize("g", [0.7, 1.0, -3.15])
@pytest.mark.sampled(1)
def test_all_float16_numbers_are_swept_and_their_misses_counted(g):
    data = compute(State(dtype=HALF, gradOutput=g, arriving="chosen"))
    everything = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    expected = np.unique(everything[np.isfinite(everything)])
    np.testing.assert_array_equal(data.sweep.x, expected)
    upstream = float(np.float16(g))
    nearest = np.array([to_half(gradient(x, upstream)) for x in expected.tolist()])
    np.testing.assert_array_equal(data.sweep.distances != 0, data.sweep.out != nearest)
    assert (data.sweep.out != nearest).sum() == sum(panel_counts(data)[1:])


def panel_counts(data):
    notes = [mark.text for mark in show(data).panels[-1].marks if type(mark).__name__ == "Note"]
    return [int(text.replace(",", "")) for text in notes]


def test_errors_are_in_ulp_of_the_truth():
    sweep = compute(State(dtype=HALF, gradOutput=0.7, arriving="chosen")).sweep
    upstream = Fraction(float(np.float16(0.7)))
    for at in range(0, sweep.x.size, 997):
        exact = gradient(float(sweep.x[at]), upstream)
        spacing = Fraction(float(np.spacing(np.float16(abs(float(exact)) if exact else 0.0))))
        below = np.float16(float(exact))
        # rounded up over a power of two, whose own spacing is twice as large
        if abs(below) > abs(exact):
            spacing = Fraction(float(np.spacing(np.nextafter(np.abs(below), np.float16(0)))))
        error = abs(Fraction(float(sweep.out[at])) - exact) / spacing
        assert sweep.errors[at] == pytest.approx(float(error), abs=1e-9)


def one_step_up(state, given):
    out = OP.backward(**given)["out"]
    return {"out": np.nextafter(out, out.dtype.type(np.inf))}, ()


def test_a_wrong_device_shows_in_the_counts():
    state = State(device="atlas", arriving="chosen")
    wrong, right = (
        panel_counts(compute(state, one_step_up)),
        panel_counts(compute(State(arriving="chosen"))),
    )
    assert right[0] == sum(right) and wrong[0] == 0 and wrong[1] == sum(wrong)
    assert compute(state, one_step_up).kinks.tolist() == pytest.approx([-0.5, 1.5], abs=0.002)
    assert -0.5 not in compute(state, one_step_up).kinks


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("reach", "ends"), [("all", (0.0, np.inf)), ("near", (2.0**-10, 16.0))])
def test_wider_formats_are_sampled_once_in_each_stretch(dtype, reach, ends):
    sweep = compute(State(dtype=dtype, reach=reach)).sweep
    other = compute(State(dtype=dtype, reach=reach, seed=1)).sweep
    assert not sweep.exhaustive and 1 << 14 <= sweep.x.size <= (1 << 14) + 1
    assert (np.diff(sweep.x) > 0).all() and (np.diff(sweep.places) > 0).all()
    size = np.abs(sweep.x[sweep.x != 0])
    assert (size > ends[0]).all() and (size <= ends[1]).all()
    # Even in the sense of the format: no gap is longer than two stretches.
    gaps = np.diff(sweep.places[sweep.places > 0].astype(np.float64))
    assert gaps.max() < 2.01 * gaps.mean() and not np.array_equal(sweep.x, other.x)


def test_float32_loses_its_digits_where_the_slope_is_nought():
    sweep = compute(State(dtype="float32", reach="near", arriving="chosen")).sweep
    worst = sweep.x[np.argmax(sweep.errors)]
    assert abs(worst + 1.5) < 0.01 < 10 < sweep.errors.max()
    # terms up to 3/2 for results above 1/3
    assert sweep.errors[np.abs(sweep.x + 1.5) > 1].max() < 3


@pytest.mark.parametrize(
    ("dtype", "plan", "soc", "nan"),
    [
        ("float32", "documented", "Ascend910B2", 2.0),
        ("float32", "device", "Ascend910B2", 1.0),
        ("float16", "device", "Ascend910B2", np.nan),
        ("float16", "device", "Ascend950PR_9579", 2.0),
    ],
)
def test_products_answer_nan_differently(dtype, plan, soc, nan):
    from aclnn_viz.explorers.device import DeviceOfState

    device = DeviceOfState(lambda state: OP)
    data = compute(State(dtype=dtype, plan=plan, soc=soc, gradOutput=2.0), device.backward)
    device.close()
    np.testing.assert_array_equal(data.special, [0.0, 2.0, nan])


def test_float64_is_said_to_be_no_product():
    assert "No product takes float64" in compute(State(dtype="float64")).notices[0]


def test_moving_the_chosen_input_leaves_the_sweep():
    assert compute(State(x=1.0)).sweep is compute(State(x=1.01)).sweep


def test_the_slope_panel_sets_both_conventions_on_the_kinks():
    kernel, second = marks(show(compute(State(gradOutput=2.0))), "slope", Dots)
    assert kernel.x.tolist() == second.x.tolist() == [-3.0, 3.0]
    assert kernel.y.tolist() == [-1.0, 3.0] and second.y.tolist() == [0.0, 2.0]


@pytest.mark.parametrize(("centre", "right"), [(-3.0, 0), (3.0, 1)])
def test_the_window_does_not_join_the_truth_across_the_jump(centre, right):
    line = marks(show(compute(State(centre=centre, steps=4))), "window", Line)[0]
    assert np.flatnonzero(np.isnan(line.y)).tolist() == [4 + right]
    assert np.nanmax(np.abs(np.diff(line.y))) < 0.01


def test_tangents_are_two_on_a_kink_only():
    assert len(marks(show(compute(State(x=3.0))), "forward", Line)) == 3
    assert len(marks(show(compute(State(x=2.99))), "forward", Line)) == 2


def test_the_words_tell_the_numbers():
    data = compute(State(dtype=HALF))
    shown = show(data)
    assert "slope 1.5" in shown.headline[0] and "-0.5 and 1.5" in shown.headline[1]
    assert (
        f"{panel_counts(data)[0]:,} of 63,487" in shown.headline[2]
        and "Ascend910B2" in shown.headline[3]
    )
    assert all(sentence in shown.text for sentence in shown.headline)
    assert (
        re.search(rf"  1 +{data.window_truth[9]:.4g} +{data.window_out[9]:.4g}", shown.text)
        and len(shown.headline) <= 4
    )


@pytest.mark.parametrize(
    ("values", "cause"),
    [
        ({}, ": these were rounded twice, to float32 and then to the format."),
        ({"arriving": "chosen"}, "0.5 ulp, at x = "),
        ({"dtype": "float32"}, ", where x / 3 and 0.5 cancel."),
    ],
)
def test_the_words_tell_why(values, cause):
    shown = show(compute(State(**values)))
    assert cause in shown.headline[2] and (":" in shown.headline[2]) == (not values)


def test_the_inputs_hold_the_chosen_point_the_kinks_and_the_window():
    given = inputs(State(x=0.1, steps=2, gradOutput=0.3))
    assert given["self"].dtype == float_format(HALF).numpy and given["self"].shape == given[
        "gradOutput"
    ].shape == (11,)
    np.testing.assert_array_equal(
        given["self"][:6], round_to([0.1, -3, 3, -np.inf, np.inf, np.nan], HALF)
    )
    assert (given["gradOutput"] == np.float16(0.3)).all() and replace(State(), x=0.1) != State()


@pytest.mark.parametrize(
    ("dtype", "reach", "gaps"),
    [("float16", "all", 0), ("float16", "near", 1), ("float32", "near", 1)],
)
def test_nothing_is_drawn_where_nothing_is_swept(dtype, reach, gaps):
    shown = show(compute(State(dtype=dtype, reach=reach)))
    line = next(
        m
        for p in shown.panels
        if p.name == "errors"
        for m in p.marks
        if m.label == "mean of a stretch"
    )
    gap = np.flatnonzero(np.isnan(line.y))
    assert gap.size == gaps and all(line.x[k - 1] < 0 < line.x[k + 1] for k in gap)
