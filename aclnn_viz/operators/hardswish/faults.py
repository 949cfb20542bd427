"""Name regions of hardswish's output (the kinks, and the ranges between), so that a report can say where a kernel is wrong."""

import numpy as np


def regions(values, output, shape):
    x = values["self"].astype(np.float64)
    return {
        "x < -3": x < -3,
        "x = -3": x == -3,
        "-3 < x < 3": np.abs(x) < 3,
        "x = 3": x == 3,
        "x > 3": x > 3,
    }


#: One fault of each kind: wrong, slightly wrong, and rarely visible.
KINDS = {
    "formula": "term 1/2 forgotten",
    "slight": "a third with three digits",
    "seldom": "interval open at both kinks",
}
