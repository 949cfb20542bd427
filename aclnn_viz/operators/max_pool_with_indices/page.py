"""Formulas of max pooling of planes (planes, H, W), forward and backward, as array code to run and prove:
each output is the largest element of a window, and indices say where it was.

The gradient of an output goes to the element that its index names, and adds up where windows share it. Of equal elements the
first in the order of rows is named: `places` finds it, and the gradient only needs what was found.

Source: aclnnMaxPool2dWithIndicesBackward, CANN operator documentation; that ties go to the first is PyTorch's choice.
"""

from aclnn_viz.operators.families.pooling import offsets

AXES = {"self": "n..", "indices": "n.", "out": "n.", "gradOutput": "n.", "gradInput": "n.."}


def places(xp, self, kernelSize, stride, padding, dilation, Ho, Wo):
    """Return the place of the largest element of every window in its flattened plane (planes, windows)."""
    flat = xp.reshape(self, (self.shape[0], self.shape[1] * self.shape[2]))
    found = list(offsets(xp, self.shape, (Ho, Wo), kernelSize, stride, padding, dilation))
    values = [(xp.take(flat, at, axis=1), inside) for at, inside, _ in found]
    first = xp.argmax(
        xp.stack(
            [xp.where(inside, value, -xp.inf * xp.ones_like(value)) for value, inside in values]
        ),
        axis=0,
    )
    return sum(at * (first == k) for k, (at, _, _) in enumerate(found))


def across(xp, indices, size):
    """Return indices within a plane (planes, windows) as indices into the flattened array of all planes."""
    planes = xp.arange(indices.shape[0], dtype=xp.int64)
    return xp.reshape(planes[:, None] * size + indices, (-1,))


def forward(xp, self, indices):
    found = xp.take(xp.reshape(self, (-1,)), across(xp, indices, self.shape[1] * self.shape[2]))
    return {"out": xp.reshape(found, indices.shape)}


def backward(xp, gradOutput, self, indices):
    grad = xp.zeros((1, self.shape[0] * self.shape[1] * self.shape[2]), dtype=gradOutput.dtype)
    at = across(xp, indices, self.shape[1] * self.shape[2])
    return {
        "gradInput": xp.reshape(
            xp.scatter_add(grad, at, xp.reshape(gradOutput, (1, -1))), self.shape
        )
    }
