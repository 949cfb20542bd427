"""Formulas of bicubic interpolation of planes (planes, H, W), forward and backward, as array code to run and prove:
each output place takes shares of four rows and four columns around it.

The gradients of these elements get the same shares of its gradient. Beside the planes there is the edge.

Source: aclnnUpsampleBicubic2dBackward, CANN operator documentation, which prints the interpolation of gradOut in the place of
its transpose, and leaves open what alignCorners makes of one place.
"""

from aclnn_viz.operators.families.resampling import (
    coordinates,
    gathered,
    of_axes,
    scattered,
    weighted,
)
from aclnn_viz.operators.families.sampling import bicubic_weights

AXES = {"self": "n..", "out": "n..", "gradOut": "n..", "gradInput": "n.."}


def shares(xp, length, places, scale, alignCorners):
    """Return the taps of each output place on an axis: the input elements in its weighted sum, and their weights."""
    first, rest = coordinates(xp, length, places, scale, alignCorners)
    return weighted(xp, first, [weight for weight, _ in bicubic_weights(rest)], length, 1)


def forward(xp, self, height, width, rows, columns, alignCorners, scalesH, scalesW):
    return {
        "out": gathered(
            xp,
            self,
            *of_axes(
                xp, height, width, rows, columns, alignCorners, scalesH, scalesW, shares=shares
            ),
        )
    }


def backward(xp, gradOut, height, width, rows, columns, alignCorners, scalesH, scalesW):
    found = of_axes(xp, height, width, rows, columns, alignCorners, scalesH, scalesW, shares=shares)
    return {"gradInput": scattered(xp, gradOut, *found, height, width)}
