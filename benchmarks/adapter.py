"""What a device call costs on the host beside the C functions, against the stand-in: `python benchmarks/adapter.py`.

The time inside of the C functions is taken away: it belongs to the stand-in, or to CANN. Small tensors, so that copies
do not matter. The limit is 0.5 ms a call; the exit status is 1 when an operator is above it.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "tests")]

from standin.build import build

import aclnn_viz as av

LIMIT_MS = 0.5
SHAPES = {"grid_sampler_2d": (1, 2, 4, 4), "group_norm_swish": (2, 8, 4)}


class Timed:
    """A C function that adds its own time to a clock."""

    def __init__(self, symbol, clock: list[float]):
        self.symbol, self._clock = symbol, clock

    def __call__(self, *arguments):
        start = time.perf_counter()
        try:
            return self.symbol(*arguments)
        finally:
            self._clock[0] += time.perf_counter() - start


def measure(device, op, repetitions: int = 300) -> tuple[float, float]:
    """The medians of one call in ms: beside the C functions, and inside of them."""
    clock = [0.0]
    for binding in device.acl.bindings.values():
        binding.symbol = Timed(getattr(binding.symbol, "symbol", binding.symbol), clock)
    inputs = av.case(op, shape=SHAPES.get(op.name, (4, 8))).inputs
    beside, inside = [], []
    for _ in range(repetitions):
        clock[0] = 0.0
        start = time.perf_counter()
        device.run(op, **inputs)
        total = time.perf_counter() - start
        beside.append(1e3 * (total - clock[0]))
        inside.append(1e3 * clock[0])
    return statistics.median(beside), statistics.median(inside)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        root = build(Path(folder), "9.x")
        with av.open_device("atlas", root=root) as device:
            found = {op.name: measure(device, op) for op in av.operators()}
    print(f"one call of device.run, ms     adapter   C functions   (limit {LIMIT_MS})")
    for name, (beside, inside) in found.items():
        print(f"{name:28}{beside:10.3f}{inside:14.3f}")
    return int(any(beside > LIMIT_MS for beside, _ in found.values()))


if __name__ == "__main__":
    sys.exit(main())
