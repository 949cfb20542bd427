"""The stage of a sampler in a volume, against weights as products of hat functions."""

from functools import partial

import numpy as np
import pytest
from panelled_explorer import marks, panel, stage

from aclnn_viz.pictures.marks import Grip, Image

STEP = 1e-6


opened = partial(stage, "grid_sampler_3d")


def hats(shape, x, y, z):
    """Return the weight of each voxel: the product over axes of 1 less the distance."""
    at = [((place + 1) * n - 1) / 2 for place, n in zip((z, y, x), shape)]
    far = [np.maximum(1 - np.abs(np.arange(n) - u), 0) for u, n in zip(at, shape)]
    return np.einsum("i,j,k->ijk", *far)


@pytest.mark.parametrize("place", [(-0.1, 0.1, 0.3), (0.7, -0.5, -0.2), (1.1, 0.2, 0.9)])
def test_shares_and_what_a_step_changes_are_those_of_hats(place):
    made, data, found = opened(**dict(zip("xyz", place)))
    shape, shown = found.voxels.shape, made.show(data)
    back = np.nan_to_num(panel(shown, "back").marks[0].values)
    for k, slice_ in enumerate(hats(shape, *place)):
        np.testing.assert_allclose(back[k * (shape[1] + 1) + 1 :][: shape[1]], slice_, atol=1e-12)
    slices = [image.values for image in marks(shown, "volume", Image)]
    np.testing.assert_array_equal(slices[::-1], found.voxels)
    for at, gradient in enumerate(panel(shown, "point").marks[0].y):
        step = STEP * np.eye(3)[at]
        there = [np.sum(hats(shape, *(place + s * step)) * found.voxels) for s in (1, -1)]
        assert gradient == pytest.approx((there[0] - there[1]) / (2 * STEP), abs=1e-6)


def test_what_is_seen_at_first_lies_between_slices_and_goes_three_ways():
    made, data, found = opened()
    assert (found.weights > 0).sum() == 8 and np.abs(found.gradient).min() > 0.5
    grips = marks(made.show(data), "volume", Grip)
    assert [grip.sets for grip in grips] == [("x", "y"), ("z",)]
    for grip in grips:  # a grip's place is the value that it would set
        for name, (offset, factor, axis) in zip(grip.sets, grip.units):
            at = (grip.x, grip.y)[axis]
            assert offset + factor * at == pytest.approx(getattr(data.state, name))
