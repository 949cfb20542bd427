"""Formulas of replication padding of planes (planes, H, W), forward and backward, as array code to run and prove, with the edge
again and again: ... 0 0 | 0 1 2 ... n-1 | n-1 n-1 ...

padding is (left, right, top, bottom). Each element adds up the gradients of all places that show it.

Source: aclnnReplicationPad2dBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.resampling import gathered, padded, scattered, sides

AXES = {"self": "n..", "out": "n..", "gradOutput": "n..", "gradInput": "n.."}


def source(xp, length, before, after):
    """Return the one tap of each output place on an axis: the input element copied there, and no weight."""
    return [(xp.clip(padded(xp, length, before, after), 0, length - 1), None)]


def forward(xp, self, padding):
    return {"out": gathered(xp, self, *sides(xp, self, padding, source=source))}


def backward(xp, gradOutput, self, padding):
    return {
        "gradInput": scattered(
            xp, gradOutput, *sides(xp, self, padding, source=source), *self.shape[1:]
        )
    }
