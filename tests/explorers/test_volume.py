"""The stage of a sampler in a volume, against weights as products of hat functions."""

import numpy as np
import pytest
from panelled_explorer import marks, panel, stage

from aclnn_viz.pictures.marks import Box, Grip, Image


def hats(shape, *place):
    """Return the weight of each voxel: the product over axes of 1 less the distance."""
    return np.einsum(
        "i,j,k->ijk",
        *(
            np.maximum(1 - abs(np.arange(n) + 0.5 - (at + 1) * n / 2), 0)
            for at, n in zip(place[::-1], shape)
        ),
    )


@pytest.mark.parametrize("place", [(-0.1, 0.1, 0.3), (0.7, -0.5, -0.2), (1.1, 0.2, 0.9)])
def test_shares_and_what_a_step_changes_are_those_of_hats(place):
    made, data, found = stage("grid_sampler_3d", **dict(zip("xyz", place)))
    shape, shown = found.voxels.shape, made.show(data)
    back = panel(shown, "back").marks[0].values.reshape(shape[0], -1, shape[2])[:, 1:]
    np.testing.assert_allclose(back, hats(shape, *place), atol=1e-12)
    np.testing.assert_array_equal(
        [image.values for image in marks(shown, "volume", Image)], found.voxels
    )
    boxes = [box for box in marks(shown, "volume", Box) if box.label]
    np.testing.assert_allclose(
        [(box.x1 - box.x0) * (box.y1 - box.y0) * box.filled / 0.85 for box in boxes],
        found.weights,  # an area times the share of its slice
    )
    # with what is lost outside
    assert sum(float(box.label) for box in boxes) == pytest.approx(1, abs=0.04)
    for gradient, step in zip(panel(shown, "point").marks[0].y, 1e-6 * np.eye(3)):
        change = sum(s * np.sum(hats(shape, *(place + s * step)) * found.voxels) for s in (1, -1))
        assert gradient == pytest.approx(change / 2e-6, abs=1e-6)


def test_what_is_seen_at_first_lies_between_slices_and_goes_three_ways():
    made, data, found = stage("grid_sampler_3d")
    assert found.weights.min() > 0 and abs(found.gradient).min() > 0.5
    grips = marks(made.show(data), "volume", Grip)
    assert [grip.sets for grip in grips] == [("z",), *[("x", "y")] * 2]
    for grip in grips:  # a grip's place is the value that it would set
        for name, (offset, factor, axis) in zip(grip.sets, grip.units):
            assert offset + factor * (grip.x, grip.y)[axis] == pytest.approx(
                getattr(data.state, name)
            )
