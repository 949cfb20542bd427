"""Formulas of nearest-neighbour interpolation of planes, forward and backward, as array code to run and prove: y[i, j] = x[floor(i * H / Ho), floor(j * W / Wo)].

Where scalesH and scalesW both are above 0, 1 / scalesH stands for H / Ho. Each element adds up the gradients of all places
that show it.

Source: aclnnUpsampleNearest2dBackward, CANN operator documentation.
"""

from aclnn_viz.operators.families.resampling import gathered, scattered

AXES = {"self": "n..", "out": "n..", "gradOut": "n..", "gradInput": "n.."}


def source(xp, length, places, scale):
    """Return the one tap of each output place on an axis: the input element copied there, and no weight."""
    at = xp.arange(places, dtype=xp.float64)
    at = at / scale if scale > 0.0 else at * length / places
    return [(xp.astype(xp.clip(xp.floor(at), 0.0, float(length - 1)), xp.int64), None)]


def shown(xp, height, width, rows, columns, scalesH, scalesW):
    scales = (scalesH, scalesW) if scalesH > 0.0 and scalesW > 0.0 else (0.0, 0.0)
    return source(xp, height, rows, scales[0]), source(xp, width, columns, scales[1])


def forward(xp, self, height, width, rows, columns, scalesH, scalesW):
    return {"out": gathered(xp, self, *shown(xp, height, width, rows, columns, scalesH, scalesW))}


def backward(xp, gradOut, height, width, rows, columns, scalesH, scalesW):
    return {
        "gradInput": scattered(
            xp, gradOut, *shown(xp, height, width, rows, columns, scalesH, scalesW), height, width
        )
    }
