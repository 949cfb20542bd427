"""The stage of a sampler in a volume, against weights as products of hat functions."""

import numpy as np
import pytest
from panelled_explorer import marks, panel, stage

from aclnn_viz.pictures.marks import Box, Grip, Image

STEP = 1e-6


def hats(shape, x, y, z):
    """Return the weight of each voxel: the product over axes of 1 less the distance."""
    far = [
        np.maximum(1 - np.abs(np.arange(n) - ((place + 1) * n - 1) / 2), 0)
        for place, n in zip((z, y, x), shape)
    ]
    return np.einsum("i,j,k->ijk", *far)


@pytest.mark.parametrize("place", [(-0.1, 0.1, 0.3), (0.7, -0.5, -0.2), (1.1, 0.2, 0.9)])
def test_shares_and_what_a_step_changes_are_those_of_hats(place):
    made, data, found = stage("grid_sampler_3d", **dict(zip("xyz", place)))
    shape, shown = found.voxels.shape, made.show(data)
    back = panel(shown, "back").marks[0].values.reshape(shape[0], -1, shape[2])
    np.testing.assert_allclose(back[:, 1:], hats(shape, *place), atol=1e-12)
    np.testing.assert_array_equal(
        [image.values for image in marks(shown, "volume", Image)], found.voxels
    )
    np.testing.assert_allclose(
        np.nan_to_num(
            [
                (box.x1 - box.x0)
                * (box.y1 - box.y0)
                * box.filled
                / 0.85  # an area times the share of its slice
                for box in marks(shown, "volume", Box)
                if box.label
            ]
        ),
        found.weights,
    )
    for gradient, step in zip(panel(shown, "point").marks[0].y, STEP * np.eye(3)):
        high, low = (np.sum(hats(shape, *(place + s * step)) * found.voxels) for s in (1, -1))
        assert gradient == pytest.approx((high - low) / 2 / STEP, abs=1e-6)


def test_what_is_seen_at_first_lies_between_slices_and_goes_three_ways():
    made, data, found = stage("grid_sampler_3d")
    assert (found.weights > 0).sum() == 8 and np.abs(found.gradient).min() > 0.5
    grips = marks(made.show(data), "volume", Grip)
    assert [grip.sets for grip in grips] == [("z",), *[("x", "y")] * 2]
    for grip in grips:  # a grip's place is the value that it would set
        for name, (offset, factor, axis) in zip(grip.sets, grip.units):
            assert offset + factor * (grip.x, grip.y)[axis] == pytest.approx(
                getattr(data.state, name)
            )
