"""What belongs to the wrong kernels of faults.toml: regions of an output, and what usual tests feed."""

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


# What usual tests feed.
USUAL_SHAPE = (16, 8)
ONES = {"gradLoss": 1.0, "input": 1.0, "weightOptional": 1.0, "target": 1}


def vendor_options(uniform, number):
    return {
        "logProb": uniform(-10, -1e-9, *USUAL_SHAPE),
        "reduction": ("mean", "sum", "none")[number % 3],
    }


#: One of each kind: a wrong formula, one that is slightly wrong, and one that is seldom seen.
KINDS = {
    "formula": "mean over all rows",
    "slight": "softmax renormalised",
    "seldom": "ignored rows not zeroed",
}
