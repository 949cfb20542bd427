"""Formulas of bilinear interpolation of planes (planes, H, W), forward and backward, as array code to run and prove:
each output place mixes four elements, of two rows and two columns.

It takes of each of the four elements a share that falls from 1 to 0 with the distance along each axis, and their gradients
get the same shares of its gradient. Beside the planes there is the edge.

Source: aclnnUpsampleBilinear2dBackward, CANN operator documentation; it leaves open what alignCorners makes of one place.
"""

from aclnn_viz.operators.families.resampling import (
    coordinates,
    gathered,
    of_axes,
    scattered,
    weighted,
)

AXES = {"self": "n..", "result": "n..", "gradOut": "n..", "out": "n.."}


def shares(xp, length, places, scale, alignCorners):
    """Return the taps of each output place on an axis: the input elements in its weighted sum, and their weights."""
    first, rest = coordinates(xp, length, places, scale, alignCorners, 0.0)
    return weighted(xp, first, [1.0 - rest, rest], length, 0)


def forward(xp, self, height, width, rows, columns, alignCorners, scalesH, scalesW):
    return {
        "result": gathered(
            xp,
            self,
            *of_axes(
                xp, height, width, rows, columns, alignCorners, scalesH, scalesW, shares=shares
            ),
        )
    }


def backward(xp, gradOut, height, width, rows, columns, alignCorners, scalesH, scalesW):
    found = of_axes(xp, height, width, rows, columns, alignCorners, scalesH, scalesW, shares=shares)
    return {"out": scattered(xp, gradOut, *found, height, width)}
