"""Name regions of group norm + swish's outputs (groups, samples, channels), so that a report can say where a kernel is wrong."""

import numpy as np

from aclnn_viz.operators.faults.fault import along, ends
from aclnn_viz.words.messages import message


def regions(values, output, shape):
    if output != "dxOut":
        return ends(shape, 0, message("channel"))
    group = np.arange(shape[1]) // max(shape[1] // values["numGroups"], 1)
    return {
        message("first group"): along(shape, 1, group == 0),
        message("other groups"): along(shape, 1, group > 0),
        **ends(shape, 0, message("sample")),
    }


#: One fault of each kind: wrong, slightly wrong, and rarely visible.
KINDS = {
    "formula": "missing 1/n",
    "slight": "divided by n - 1",
    "seldom": "dgamma of the last sample",
}
