"""What a certificate costs: truth beside the same page in plain float64 or longdouble, in one run.

    python benchmarks/truth.py [elements]

The unit is what truth used to be: the page over NumPy's float64 for inputs of at most 32 bits, and over NumPy's
longdouble for float64 ones, both without any bound, block by block as the kernel runs. Prints the ratio of
processor times, which other programs disturb little, for every operator and format, and the medians beside their limits.
"""

import sys
import time

import numpy as np

from aclnn_viz import case, operators
from aclnn_viz.arrays.driver import evaluate
from aclnn_viz.dtypes import FLOAT64, FORMATS

LIMITS = {"at most 32 bits": 3.0, "float64": 30.0}


class Plain:
    """NumPy in a type that carries everything, sums included, as truth used to be computed."""

    def __init__(self, wide):
        self.float64 = np.dtype(wide)

    def __getattr__(self, name):
        return getattr(np, name)

    def sum(self, x, /, *, axis=None, keepdims=False):
        return np.sum(x, axis=axis, keepdims=keepdims)

    def mean(self, x, /, *, axis=None, keepdims=False):
        return np.mean(x, axis=axis, keepdims=keepdims)

    def scatter_add(self, target, index, values):
        place = (np.arange(len(target))[:, np.newaxis] * target.shape[1] + index).reshape(-1)
        if self.float64 == np.float64:
            added = np.bincount(place, values.reshape(-1), target.size)
        else:
            added = np.zeros(target.size, values.dtype)
            np.add.at(added, place, values.reshape(-1))
        return target + added.reshape(target.shape)


def plain(op, inputs, wide) -> dict:
    arranged, xp = op.arrange_backward(**op.bind(inputs)), Plain(wide)
    results = {name: result._replace(format=FLOAT64) for name, result in arranged.results.items()}
    return evaluate(op.page.backward, arranged._replace(results=results, compute=np.dtype(wide)), xp)


def seconds(call, repeats=5) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def rows(elements: int):
    for op in operators():
        options = grown(op, elements)
        for fmt in FORMATS:
            inputs = case(op, dtype=fmt.name, seed=1, **options).inputs
            wide = np.longdouble if fmt is FLOAT64 else np.float64
            op.truth(**case(op, dtype=fmt.name, seed=1).inputs)  # the tables of the exponential
            size = largest(inputs)
            yield op.name, fmt, size, seconds(lambda: op.truth(**inputs)), seconds(lambda: plain(op, inputs, wide))


def largest(inputs) -> int:
    return max(value.size for value in inputs.values() if isinstance(value, np.ndarray))


def grown(op, elements) -> dict:
    """Options of a case with about so many elements: the first of those worth trying, its first axes grown."""
    options = dict(op.shapes[0])
    while largest(case(op, **options).inputs) < elements:
        for name in ("shape", "grid_shape"):  # the first axis, and the points of a grid
            if name in options:
                options[name] = (2 * options[name][0], *options[name][1:])
    return options


def main(elements: int) -> int:
    print(f"about {elements} elements; the unit is the page without certificates")
    print(f"{'operator':<20} {'format':<9} {'elements':>9} {'seconds':>8} {'ratio':>7}")
    ratios = {name: [] for name in LIMITS}
    for name, fmt, size, taken, unit in rows(elements):
        ratios["float64" if fmt is FLOAT64 else "at most 32 bits"].append(taken / unit)
        print(f"{name:<20} {fmt.name:<9} {size:>9} {taken:8.3f} {taken / unit:6.1f}x", flush=True)
    held = True
    for name, limit in LIMITS.items():
        median = float(np.median(ratios[name]))
        held &= median < limit
        print(f"inputs of {name}: median {median:.1f}x, limit {limit:g}x")
    print("within the limits" if held else "OUTSIDE the limits")
    return not held


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300_000))
