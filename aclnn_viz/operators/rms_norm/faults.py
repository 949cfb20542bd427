"""Name regions of RMS norm's outputs (rows, columns), so that a report can say where a kernel is wrong."""

import numpy as np

from aclnn_viz.operators.faults.fault import ends
from aclnn_viz.words.messages import message


def regions(values, output, shape):
    found = ends(shape, -1 % len(shape), message("column")) if shape else {}
    if output == "dxOut":
        lead = len(shape) - values["gamma"].ndim
        row = np.arange(values["rstd"].size).reshape(
            values["rstd"].shape[:lead] + (1,) * values["gamma"].ndim
        )
        found |= {
            message("first row"): row == 0,
            message("last row"): row == values["rstd"].size - 1,
            message("rows between"): (row > 0) & (row < values["rstd"].size - 1),
        }
    return found


#: One fault of each kind: wrong, slightly wrong, and rarely visible.
KINDS = {
    "formula": "missing 1/n",
    "slight": "divided by n - 1",
    "seldom": "tail of the row forgotten",
}
