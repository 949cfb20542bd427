"""Name regions of cross entropy's outputs (ignored rows, target columns, others), so that a report can say where a kernel is
wrong.
"""

import numpy as np

from aclnn_viz.words.messages import message


def regions(values, output, shape):
    target = values["target"][:, np.newaxis]
    ignored, hit = target == values["ignoreIndex"], target == np.arange(shape[1])
    return {
        message("ignored rows"): ignored,
        message("target columns"): hit & ~ignored,
        message("other columns"): ~hit & ~ignored,
    }


#: One fault of each kind: wrong, slightly wrong, and rarely visible.
KINDS = {
    "formula": "mean over all rows",
    "slight": "softmax renormalised",
    "seldom": "ignored rows not zeroed",
}
