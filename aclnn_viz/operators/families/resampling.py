"""What operators share whose outputs are weighted sums of a few elements of planes (planes, H, W): taps of rows and columns.

A tap is, for each output along an axis, the place of one element on that axis, and its weight, None where that is 1.
"""

from aclnn_viz.errors import problem

LENGTHS = {letter: f"inputSize[{k}]" for k, letter in enumerate("NCHW")} | {"Ho": "outputSize[0]", "Wo": "outputSize[1]"}
COUNTS = {"height": "H", "width": "W", "rows": "Ho", "columns": "Wo"}


def pairs(xp, rows, columns, width):
    """Each pair of a row's and a column's tap: the places in the flattened plane, and the weight of both."""
    for row, of_row in rows:
        for column, of_column in columns:
            weight = None if of_row is None else xp.reshape(of_row[:, None] * of_column[None, :], (-1,))
            yield xp.reshape(row[:, None] * width + column[None, :], (-1,)), weight


def gathered(xp, planes, rows, columns):
    """The outputs (planes, Ho, Wo): for each the sum of what its taps find."""
    count, height, width = planes.shape
    flat, total = xp.reshape(planes, (count, height * width)), 0.0
    for place, weight in pairs(xp, rows, columns, width):
        found = xp.take(flat, place, axis=1)
        total = total + (found if weight is None else found * xp.astype(weight, planes.dtype))
    return xp.reshape(total, (count, rows[0][0].shape[0], columns[0][0].shape[0]))


def scattered(xp, grad, rows, columns, height, width):
    """The gradients of the planes: each element adds up the gradients of the outputs that found it, times their weights."""
    flat = xp.reshape(grad, (grad.shape[0], grad.shape[1] * grad.shape[2]))
    total = xp.zeros((grad.shape[0], height * width), dtype=grad.dtype)
    for place, weight in pairs(xp, rows, columns, width):
        total = xp.scatter_add(total, place, flat if weight is None else flat * xp.astype(weight, grad.dtype))
    return xp.reshape(total, (grad.shape[0], height, width))


def padded(xp, length, before, after):
    """The places along an axis with padding, counted from the first that is no padding."""
    return xp.arange(length + before + after, dtype=xp.int64) - before


def padding_fits(bound):
    """The rule that bfloat16 is padded by at most 7."""
    if bound["self"].dtype.name == "bfloat16" and max(bound["padding"]) > 7:
        raise ValueError(problem("padding of bfloat16 must be at most 7", str(bound["padding"]), "pad less, or in float32"))
