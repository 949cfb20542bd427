"""Taps of padding and resampling against plain loops, written from the formulas alone."""

from fractions import Fraction
from math import floor
from types import SimpleNamespace

import numpy as np
import pytest
from together import in_one

import aclnn_viz as av
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import prepared
from aclnn_viz.operators.families import resampling
from aclnn_viz.proving.proofs import proved
from aclnn_viz.proving.subjects import of_operator

PADDINGS = [(0, 0, 0, 0), (1, 0, 2, 1), (3, 3, 4, 4), (0, 2, 0, 3)]


def mirrored(i, n):
    return -i if i < 0 else 2 * (n - 1) - i if i >= n else i


def nearest_edge(i, n):
    return min(max(i, 0), n - 1)


@pytest.mark.parametrize(
    "name, source", [("reflection_pad_2d", mirrored), ("replication_pad_2d", nearest_edge)]
)
@pytest.mark.parametrize("padding", PADDINGS)
def test_padding_gives_each_element_all_that_shows_it(name, source, padding):
    left, right, top, bottom = padding
    grad, expected = (
        np.random.default_rng(0).standard_normal((2, 5 + top + bottom, 4 + left + right)),
        np.zeros((2, 5, 4)),
    )
    for r in range(grad.shape[1]):
        for c in range(grad.shape[2]):
            expected[:, source(r - top, 5), source(c - left, 4)] += grad[:, r, c]
    found = av.operator(name).backward(gradOutput=grad, self=expected, padding=padding)["gradInput"]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["reflection_pad_2d", "replication_pad_2d"])
@pytest.mark.parametrize(
    "change, text",
    [
        ({"padding": (4, 0, 0, 0)}, r"W - 1.*got 4"),
        ({"padding": (0, 0, 0, 5)}, r"H - 1.*got 5"),
        ({"padding": (8, 0, 0, 0), "shape": (1, 3, 9), "dtype": "bfloat16"}, "at most 7"),
        ({"padding": (1, 1)}, "a list of 4"),
    ],
)
def test_padding_that_does_not_fit_is_refused(name, change, text):
    with pytest.raises((TypeError, ValueError), match=text):
        av.case(name, **({"shape": (2, 5, 4)} | change))


SIZES = [
    ((5, 4), (8, 3), (0.0, 0.0)),
    ((5, 4), (8, 3), (1.7, 0.8)),
    ((5, 4), (8, 3), (1.7, 0.0)),
    ((3, 7), (49, 7), (0.0, 0.0)),
    ((1, 6), (4, 1), (4.0, 0.25)),
    ((2, 3), (6, 9), (3.0, 3.0)),
]


def scattered(name, size, places, scales, taps, **options):
    """Compare the backward with loops over `taps(axis, place)`, which yields a place's elements and weights."""
    grad, expected = (
        np.random.default_rng(0).standard_normal((2, 1, *places)),
        np.zeros((2, 1, *size)),
    )
    for r in range(places[0]):
        for c in range(places[1]):
            for row, of_row in taps(0, r):
                for column, of_column in taps(1, c):
                    expected[..., row, column] += grad[..., r, c] * float(of_row * of_column)
    found = av.operator(name).backward(
        gradOut=grad,
        outputSize=places,
        inputSize=expected.shape,
        scalesH=scales[0],
        scalesW=scales[1],
        **options,
    )
    np.testing.assert_allclose(next(iter(found.values())), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("size, places, scales", SIZES)
def test_nearest_neighbours_follow_the_scales_where_both_are_given(size, places, scales):
    ratios = [
        1 / Fraction(s) if min(scales) > 0 else Fraction(n, m)
        for n, m, s in zip(size, places, scales)
    ]
    scattered(
        "upsample_nearest_2d",
        size,
        places,
        scales,
        lambda axis, place: [(min(floor(place * ratios[axis]), size[axis] - 1), 1)],
    )


def coordinate(axis, place, size, places, scales, alignCorners):
    n, m, s = size[axis], places[axis], Fraction(scales[axis])
    if alignCorners:
        return Fraction(place * (n - 1), m - 1) if m > 1 else Fraction(0)
    return (place + Fraction(1, 2)) * (1 / s if s > 0 else Fraction(n, m)) - Fraction(1, 2)


@in_one
@pytest.mark.parametrize("size, places, scales", SIZES)
@pytest.mark.parametrize("aligned", [False, True])
def test_bilinear_shares_fall_with_the_distance(size, places, scales, aligned):
    def taps(axis, place):
        at = max(coordinate(axis, place, size, places, scales, aligned), 0)
        return [(min(k, size[axis] - 1), 1 - abs(at - k)) for k in (floor(at), floor(at) + 1)]

    scattered("upsample_bilinear_2d", size, places, scales, taps, alignCorners=aligned)


@in_one
@pytest.mark.parametrize("size, places, scales", SIZES)
@pytest.mark.parametrize("aligned", [False, True])
def test_bicubic_shares_are_those_of_the_document(size, places, scales, aligned):
    def share(d, a=Fraction(-3, 4)):
        return (
            (a + 2) * d**3 - (a + 3) * d**2 + 1
            if d <= 1
            else a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
        )

    def taps(axis, place):
        at = coordinate(axis, place, size, places, scales, aligned)
        return [
            (min(max(k, 0), size[axis] - 1), share(abs(at - k)))
            for k in range(floor(at) - 1, floor(at) + 3)
        ]

    scattered("upsample_bicubic_2d", size, places, scales, taps, alignCorners=aligned)


@pytest.mark.parametrize("name", ["upsample_bilinear_2d", "upsample_bicubic_2d"])
@pytest.mark.parametrize("scale", [0.0, 0.6, 3 / 5 + 2**-52, 0.7310585786300049])
def test_every_element_is_bounded_where_places_meet_elements(name, scale):
    """A scale of 3/5 puts the second place of three on the third element of five; rounding would leave open on which side."""
    made = av.case(
        name, shape=(1, 1, 5, 5), outputSize=(3, 3), scalesH=scale, scalesW=scale, dtype="float32"
    )
    (one,) = prepared(Recipe(name, {}), made).expected.values()
    # 64 products of float32 weights of numbers of order one
    assert not one.undecided.any() and (one.allowed < 1e-4).all()
    assert all(
        np.isfinite(exact.error).all() for exact in made.operator.truth(**made.inputs).values()
    )


def test_an_infinite_scale_leaves_finite_gradients():
    made = av.case("upsample_bilinear_2d", scalesH=np.inf)
    assert np.isfinite(made.operator.backward(**made.inputs)["out"]).all()


def exchanged(swapped):
    """Return the page with a backward in which row weights are in reverse order if `swapped`."""
    op = av.operator("upsample_bilinear_2d")

    def backward(xp, gradOut, height, width, rows, columns, alignCorners, scalesH, scalesW):
        down, across = resampling.of_axes(
            xp, height, width, rows, columns, alignCorners, scalesH, scalesW, op.page.shares
        )
        down = (
            [(place, weight) for (place, _), (_, weight) in zip(down, down[::-1])]
            if swapped
            else down
        )
        return {"out": resampling.scattered(xp, gradOut, down, across, height, width)}

    return SimpleNamespace(AXES=op.page.AXES, backward=backward)


@pytest.mark.soak
@pytest.mark.parametrize("swapped", [False, True])
def test_the_proof_tells_weights_apart(swapped):
    subject = of_operator(av.operator("upsample_bilinear_2d"), exchanged(swapped))[-1]
    assert proved("upsample_bilinear_2d", [subject]).holds is not swapped


@pytest.mark.parametrize("name", ["bilinear", "bicubic", "nearest"])
def test_truth_takes_a_scale_for_the_quotient_that_the_page_takes_it_for(name):
    """If a place lies on an element, its neighbour gets 0, not the rounding of the scale."""
    op = av.operator(f"upsample_{name}_2d")
    scales = {"scalesH": 3.4, "scalesW": 0.08000000000000002}
    case = av.case(op, "float64", shape=(3, 3, 7, 3), outputSize=(9, 1), **scales)
    truth, page = op.truth(**case.inputs), op.backward(**case.inputs)
    assert all(((value == 0) == (truth[key] == 0)).all() for key, value in page.items())
    narrow = av.case(op, shape=(3, 3, 7, 3), outputSize=(9, 1), **scales)
    assert av.check(op, op.backward, cases=[narrow], depth="quick", beyond=True).passed
