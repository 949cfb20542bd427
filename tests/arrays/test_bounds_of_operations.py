"""Bounds of single operations: exact ones add nothing, inexact ones half a step, and open decisions are kept apart."""

import doctest

import numpy as np
import pytest
from reference.exact import exact, mp

from aclnn_viz.arrays import bounds
from aclnn_viz.arrays.bounds import BoundedArrays
from aclnn_viz.arrays.plan import Plan

XP = BoundedArrays(Plan(), "float32")


def given(*values):
    return XP.given(np.float32(values))


@pytest.mark.parametrize(
    "result",
    [
        lambda: given(3.0, 5e-3) * 0.25,
        lambda: given(7.0) + given(9.0),
        lambda: given(1.5, 1.75) - given(1.25, 1.0),
        lambda: XP.sum(given(*range(1000))),
        lambda: given(6.0) / given(3.0),
        lambda: -XP.abs(given(-0.1)),
        lambda: XP.clip(given(-5.0) * 0.1, 0.0, 1.0),
        lambda: XP.floor(given(2.5) / 3.0),
    ],
    ids=range(8),
)
def test_exact_operations_add_nothing(result):
    assert result().error is None or not result().error.any()
    assert result().decisions is None


@pytest.mark.parametrize(
    "result,half_ulp",
    [
        (lambda: given(1.0) / 3.0, 2.0**-26),
        (lambda: given(1.0) + given(2.0**-30), 2.0**-24),
        (lambda: given(0.1) * given(0.1), 2.0**-31),
        (lambda: given(1e-30) * given(1e-15), 2.0**-150),
    ],
)
def test_an_inexact_operation_adds_half_a_step(result, half_ulp):
    assert result().error.item() == half_ulp


def test_a_floor_next_to_an_integer_is_undecided_and_knows_both_outcomes():
    third = given(1.0) / 3.0
    floor = XP.floor(third * 3.0)  # 1 or just below
    assert floor.decisions.any() and {floor.data.item(), *floor.others.ravel()} == {0.0, 1.0}
    assert XP.floor(third * 2.0).decisions is None


@pytest.mark.parametrize("rewritten", [False, True])
def test_in_other_words_a_decision_is_open_within_five_errors(rewritten):
    xp = BoundedArrays(Plan(rewritten=rewritten), "float32")
    third = xp.given(np.float32([1.0])) / 3.0
    near, far = (third < np.float32(1 / 3) + n * 2.0**-24 for n in (1, 2))  # 4 and 8 errors
    assert isinstance(near, bounds.BoundedArray) == rewritten and far.tolist() == [True]


def test_a_remainder_next_to_a_multiple_is_undecided():
    near = given(1.0) / 3.0 * 3.0  # 1 or nearly
    wrapped = XP.remainder(near, 1.0)
    assert wrapped.decisions.any() and wrapped.error.item() >= 1.0
    assert XP.remainder(near, 0.75).decisions is None


def test_sides_within_rounding_of_each_other_stay_decided_and_the_error_covers_both():
    third = given(1.0) / 3.0
    apart = 2.0**-25  # one step of float32 here; either side errs by half of one
    chosen = XP.where(third * 3.0 - 1.0 < 0.0, third, third + apart)
    assert chosen.decisions is None and chosen.error.item() >= 1.5 * apart


@pytest.mark.parametrize(
    "power, exponential",
    [(False, np.exp), (True, lambda x: np.exp2(x * np.float32(1.4426950408889634)))],
)
def test_exponential_covers_the_library(power, exponential):
    x = np.random.default_rng(1).uniform(-80, 80, 2000).astype(np.float32)
    xp = BoundedArrays(Plan(rewritten=power), "float32")
    found, error = exponential(x), exact(xp.exp(xp.given(x)).error)
    errors = np.abs(exact(found) - np.array([mp.exp(float(v)) for v in x]))
    assert np.all(errors <= error) and np.any(errors > error / 6)


def test_nothing_is_known_behind_a_saturated_number():
    xp = BoundedArrays(Plan(compute="float16", saturate=True), "float16")
    with np.errstate(over="ignore"):
        back = xp.given(np.float16([300.0, 2.0])) * 300.0 / 300.0
    assert np.isinf(back.error[0]) and back.error[1] == 0.0


@pytest.mark.parametrize("saturate, value", [(False, np.inf), (True, 5504.0)])
def test_nothing_is_known_behind_a_partial_sum_that_overflowed(saturate, value):
    formats = dict(compute="float16", accumulate="float16", order="sequential")
    xp = BoundedArrays(Plan(**formats, saturate=saturate), "float16")
    with np.errstate(over="ignore", invalid="ignore"):
        total = xp.astype(xp.sum(xp.given(np.float16([60000, 60000, -60000]))), np.dtype("float32"))
    assert float(total.data) == value and np.isinf(total.error)


def test_nothing_is_known_of_a_floor_that_may_be_many_numbers():
    assert XP.floor(given(1e9) / 3.0).decisions.item() == -1


def test_nothing_is_known_of_a_floor_behind_an_undecided_number():
    third = given(1.0) / 3.0
    sign = XP.where(third * 3.0 - 1.0 < 0.0, -XP.ones_like(third), XP.ones_like(third))
    # 0 or -1, although the bound of the product is small
    assert XP.floor(sign * third).decisions.item() == -1


def test_undecided_sides_that_agree_stay_decided():
    t = given(1.0) / 3.0 * 3.0 - 1.0  # 0 or nearly
    smooth = XP.where(t < 0.0, -t, t)
    jump = XP.where(t < 0.0, -XP.ones_like(t), XP.ones_like(t))
    assert smooth.decisions is None and smooth.error.item() > 0
    assert jump.decisions.any()


def test_a_scattered_sum_marks_both_landings_and_no_other():
    # 0 or 1; 2 surely
    index = XP.astype(XP.floor(given(1.0, 6.0) / 3.0 * given(3.0, 1.0)), XP.int64)
    image = XP.scatter_add(XP.zeros((1, 4), np.float32), index, XP.ones((1, 2), np.float32))
    assert (image.decisions != 0).tolist() == [[True, True, False, False]]


def test_two_undecided_axes_mark_all_four_landings_and_no_other():
    near = given(1.0) / 3.0 * 3.0  # 1 or just below
    row, column = XP.floor(near), XP.floor(near + 1.0)  # 0 or 1; 1 or 2
    image = XP.scatter_add(
        XP.zeros((1, 16), np.float32),
        XP.astype(row * 4.0 + column, XP.int64),
        XP.ones((1, 1), np.float32),
    )
    assert np.flatnonzero(image.decisions).tolist() == [1, 2, 5, 6]


def test_three_undecided_decisions_mark_everything():
    near = given(1.0) / 3.0 * 3.0
    index = XP.floor(near) + XP.floor(near) + XP.floor(near)
    image = XP.scatter_add(
        XP.zeros((1, 9), np.float32), XP.astype(index, XP.int64), XP.ones((1, 1), np.float32)
    )
    assert (image.decisions != 0).all()


def test_the_worked_example_of_worlds_is_right():
    result = doctest.testmod(bounds)
    assert result.attempted >= 8 and result.failed == 0


def test_a_sum_scattered_onto_numbers_keeps_their_errors():
    third, at = XP.ones((1, 2), np.float32) / np.float32(3.0), np.array([0, 1])
    image = XP.scatter_add(
        XP.scatter_add(XP.zeros((1, 2), np.float32), at, third), at[:1], third[:, :1]
    )
    assert image.error[0, 1] > 0 and image.error[0, 0] > image.error[0, 1]
