"""The table of kinks: the conventions that are known, and the absence of kinks where there are none."""

import itertools

import pytest
from sympy import IndexedBase, Rational

from derivations.grid_sampler_2d_kinks import grid_sampler_kinks
from derivations.hardswish import kinks as hardswish_kinks
from derivations.prover.kinks import convention

I = IndexedBase("I")


def returned(interpolationMode, paddingMode, alignCorners, size=5):
    found = grid_sampler_kinks(interpolationMode, paddingMode, alignCorners, size)
    return {kink.at: convention(kink.pytorch, kink.left, kink.right) for kink in found}


def test_hardswish_returns_the_inner_derivatives():
    low, high = hardswish_kinks()
    assert (low.left, low.right, low.documented, low.convention) == (
        0,
        -Rational(1, 2),
        -Rational(1, 2),
        "right",
    )
    assert (high.left, high.right, high.documented, high.convention) == (
        Rational(3, 2),
        1,
        Rational(3, 2),
        "left",
    )


def test_zeros_padding_always_returns_the_right_derivative():
    assert returned(0, 0, True) == {at: "right" for at in range(-1, 6)}


@pytest.mark.parametrize("align", [True, False])
def test_border_returns_the_outer_derivative(align):
    assert returned(0, 1, align) == {0: "left", 1: "right", 2: "right", 3: "right", 4: "right"}


def test_aligned_reflection_returns_the_mean_at_mirrors_and_left_after_a_reflection():
    found = returned(0, 2, True)
    assert all(found[at] == "mean" for at in (-4, 0, 4, 8))
    assert all(found[at] == "left" for at in (-3, -2, -1, 5, 6, 7))
    assert all(found[at] == "right" for at in (1, 2, 3, 9))


def test_unaligned_reflection_returns_the_derivative_of_the_flat_zone():
    found = returned(0, 2, False)
    assert found[-1] == found[4] == "right" and found[0] == found[5] == "left"


def test_print_differs_from_pytorch_at_borders_alone():
    for padding in (1, 2):
        for kink in grid_sampler_kinks(0, padding, True):
            assert (kink.documented == kink.pytorch) == (kink.at % 4 != 0)


def test_derivatives_are_those_of_the_pixels():
    at_one = grid_sampler_kinks(0, 0, True)[2]
    assert (at_one.at, at_one.left, at_one.right) == (1, I[1] - I[0], I[2] - I[1])


def test_nearest_jumps_between_pixels_and_returns_zero():
    found = grid_sampler_kinks(1, 0, True)
    assert [kink.at for kink in found] == [Rational(k, 2) for k in range(-1, 10, 2)]
    assert all(kink.left == kink.right == kink.documented == 0 and kink.jump != 0 for kink in found)


def test_bicubic_has_no_kinks():
    assert all(
        grid_sampler_kinks(2, padding, align) == []
        for padding in range(3)
        for align in (True, False)
    )


def test_every_kink_is_one_and_names_its_source():
    modes = itertools.product((0, 1), (0, 1, 2), (True, False))
    found = [kink for mode in modes for kink in grid_sampler_kinks(*mode)]
    assert all((kink.left != kink.right or kink.jump != 0) and kink.source for kink in found)
    assert found
