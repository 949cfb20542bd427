"""Formulas of reflection padding of planes (planes, H, W), forward and backward, as array code to run and prove:
... 2 1 | 0 1 2 ... n-1 | n-2 ..., where the edge itself is not repeated.

padding is (left, right, top, bottom). Each element adds up the gradients of all places that show it.

Source: aclnnReflectionPad2dBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.resampling import gathered, padded, scattered, sides

AXES = {"self": "n..", "out": "n..", "gradOutput": "n..", "gradInput": "n.."}


def source(xp, length, before, after):
    """Return the one tap of each output place on an axis: the input element copied there, and no weight."""
    at = padded(xp, length, before, after)
    at = xp.where(at < 0, -at, at)
    return [(xp.where(at < length, at, 2 * (length - 1) - at), None)]


def forward(xp, self, padding):
    return {"out": gathered(xp, self, *sides(xp, self, padding, source=source))}


def backward(xp, gradOutput, self, padding):
    return {
        "gradInput": scattered(
            xp, gradOutput, *sides(xp, self, padding, source=source), *self.shape[1:]
        )
    }
