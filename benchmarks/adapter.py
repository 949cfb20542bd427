"""What a device call costs on the host beside the C functions, against the stand-in: `python benchmarks/adapter.py`.

Time of small tensors, so that copies do not matter; the time inside of the C functions is taken away, for it belongs to
the stand-in, or to CANN. Memory of large tensors: what a call allocates on the host at its peak, the outputs not
counted, beside the bytes that cross; a copy of one tensor more would show. The exit status is 1 above the limits.
"""

import statistics
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "tests")]

from standin.build import build  # noqa: E402, the paths come first

import aclnn_viz as av  # noqa: E402

LIMIT_MS, LIMIT_KB = 0.5, 100
SMALL = {"grid_sampler_2d": (1, 2, 4, 4), "group_norm_swish": (2, 8, 4)}
LARGE = {"hardswish": (512, 512), "rms_norm": (512, 512), "grid_sampler_2d": (1, 8, 128, 128),
         "cross_entropy_loss": (256, 512), "group_norm_swish": (4, 64, 512)}


class Timed:
    """A C function that adds its own time to a clock."""

    def __init__(self, symbol, clock: list[float]):
        self.symbol, self.clock = symbol, clock

    def __call__(self, *arguments):
        start = time.perf_counter()
        try:
            return self.symbol(*arguments)
        finally:
            self.clock[0] += time.perf_counter() - start


def memory(device, op) -> tuple[float, float]:
    """kB that a call allocates beside its outputs, and kB that cross."""
    inputs = av.case(op, shape=LARGE[op.name]).inputs
    device.run(op, **inputs)
    tracemalloc.start()
    outputs = device.run(op, **inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    returned = sum(value.nbytes for value in outputs.values())
    return (peak - returned) / 1e3, (returned + sum(getattr(value, "nbytes", 0) for value in inputs.values())) / 1e3


def times(device, op, clock: list[float]) -> tuple[float, float]:
    """One call in ms, beside the C functions and inside of them: the best of ten medians, as other work only adds."""
    inputs = av.case(op, shape=SMALL.get(op.name, (4, 8))).inputs
    return min(medians(device, op, inputs, clock) for _ in range(10))


def medians(device, op, inputs, clock: list[float]) -> tuple[float, float]:
    beside, inside = [], []
    for _ in range(50):
        clock[0] = 0.0
        start = time.perf_counter()
        device.run(op, **inputs)
        total = time.perf_counter() - start
        beside.append(1e3 * (total - clock[0]))
        inside.append(1e3 * clock[0])
    return statistics.median(beside), statistics.median(inside)


def main() -> int:
    clock = [0.0]
    with tempfile.TemporaryDirectory() as folder, av.open_device("atlas", root=build(Path(folder), "9.x")) as device:
        crossed = {op.name: memory(device, op) for op in av.operators()}
        for binding in device.acl.bindings.values():
            binding.symbol = Timed(binding.symbol, clock)
        found = {op.name: times(device, op, clock) for op in av.operators()}
    print(f"one call of device.run   adapter, ms   C functions, ms   allocated, kB   crossing, kB\n"
          f"{'limit':22}{LIMIT_MS:14.3f}{'':18}{LIMIT_KB:16}")
    for name, (beside, inside) in found.items():
        print(f"{name:22}{beside:14.3f}{inside:18.3f}{crossed[name][0]:16.1f}{crossed[name][1]:15.1f}")
    slow, wasteful = (max(first for first, _ in values.values()) for values in (found, crossed))
    return int(slow > LIMIT_MS or wasteful > LIMIT_KB)


if __name__ == "__main__":
    sys.exit(main())
