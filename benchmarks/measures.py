"""Time and memory of measuring and judging 10 million elements, beside plain NumPy in the same run.

    python benchmarks/measures.py [elements]

The unit of time is one NumPy `truth - output` into a ready float64 array, which memory bandwidth bounds: it widens the
output and reads and writes every byte once. The unit of memory is the size of output plus truth, and the figure counts
them and what is allocated on top.
"""

import sys
import time
import tracemalloc

import numpy as np

from aclnn_viz.accuracy import compare, measure
from aclnn_viz.dtypes import FORMATS, round_to

TIME_LIMIT, MEMORY_LIMIT = 2.0, 4.0  # seconds for 10 million float32 elements; times output plus truth


def seconds(call, repeats=3) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_ratio(call, data_bytes: int) -> float:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return (data_bytes + peak) / data_bytes


def rows(elements: int):
    truth = np.random.default_rng(0).standard_normal(elements)
    difference = np.empty(elements)
    for fmt in FORMATS:
        output = round_to(truth * (1 + fmt.unit_roundoff), fmt)
        baseline = round_to(truth, fmt)
        unit = seconds(lambda: np.subtract(truth, output.astype(np.float64), out=difference))
        for name, call in (("measure", lambda: measure(output, truth)), ("compare", lambda: compare(output, truth)),
                           ("with baseline", lambda: compare(output, truth, baseline=baseline))):
            yield fmt.name, name, seconds(call), unit, peak_ratio(call, output.nbytes + truth.nbytes)


def main(elements: int) -> int:
    print(f"{elements} elements; limits: measure {TIME_LIMIT:g} s for 10 million float32, memory {MEMORY_LIMIT:g} x")
    print(f"{'dtype':<9} {'call':<14} {'seconds':>8} {'x subtract':>11} {'memory':>8}")
    held = True
    for dtype, name, taken, unit, memory in rows(elements):
        print(f"{dtype:<9} {name:<14} {taken:8.3f} {taken / unit:10.1f}x {memory:7.2f}x")
        held &= memory <= MEMORY_LIMIT
        if (dtype, name) == ("float32", "measure"):
            held &= taken * 1e7 / elements < TIME_LIMIT
    print("within the limits" if held else "OUTSIDE the limits")
    return not held


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000))
