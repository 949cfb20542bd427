"""Taps of padding and resampling against plain loops, written from the formulas alone."""

import numpy as np
import pytest

import aclnn_viz as av

PADDINGS = [(0, 0, 0, 0), (1, 0, 2, 1), (3, 3, 4, 4), (0, 2, 0, 3)]


def mirrored(i, n):
    return -i if i < 0 else 2 * (n - 1) - i if i >= n else i


def nearest_edge(i, n):
    return min(max(i, 0), n - 1)


@pytest.mark.parametrize("name, source", [("reflection_pad_2d", mirrored), ("replication_pad_2d", nearest_edge)])
@pytest.mark.parametrize("padding", PADDINGS)
def test_padding_gives_each_element_all_that_shows_it(name, source, padding):
    left, right, top, bottom = padding
    grad, expected = np.random.default_rng(0).standard_normal((2, 5 + top + bottom, 4 + left + right)), np.zeros((2, 5, 4))
    for r in range(grad.shape[1]):
        for c in range(grad.shape[2]):
            expected[:, source(r - top, 5), source(c - left, 4)] += grad[:, r, c]
    found = av.operator(name).backward(gradOutput=grad, self=expected, padding=padding)["gradInput"]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["reflection_pad_2d", "replication_pad_2d"])
@pytest.mark.parametrize("change, text", [
    ({"padding": (4, 0, 0, 0)}, r"W - 1.*got 4"), ({"padding": (0, 0, 0, 5)}, r"H - 1.*got 5"),
    ({"padding": (8, 0, 0, 0), "shape": (1, 3, 9), "dtype": "bfloat16"}, "at most 7"), ({"padding": (1, 1)}, "a list of 4")])
def test_padding_that_does_not_fit_is_refused(name, change, text):
    with pytest.raises((TypeError, ValueError), match=text):
        av.case(name, **({"shape": (2, 5, 4)} | change))
