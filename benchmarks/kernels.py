"""The kit's kernels beside PyTorch and beside the memory of this machine, in one run.

    python benchmarks/kernels.py [operator ...] [--dtypes float32,bfloat16] [--rounds 5] [--engines numba,torch]
    python benchmarks/kernels.py --sizes [operator ...]     # how time and memory grow up to 10^8 elements

Each row is one mode: the best time of NumPy (`backward`), of the page compiled by JAX, of the fused loops compiled by
numba and of PyTorch's own backward on the same inputs, turn by turn, so that other work on the machine meets all alike, and
warmed for a tenth of a second.
`memory` is the time in which the machine copies as many bytes as inputs and outputs have: no kernel can be faster. What is
not installed is left out; without PyTorch the last column alone compares. `--sizes` takes the first of the engines; it
sees what NumPy allocates, not the scratch inside of a loop, which is at most some megabytes a thread. The means are geometric,
over the modes of an operator and then over the operators.
"""

import argparse
import math
import sys
import time
import tracemalloc
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from os import cpu_count

import numpy as np
from records import line

import aclnn_viz as av
from aclnn_viz.devices.peers import computed_by
from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.errors import NotSupported
from aclnn_viz.operators import registry

SIZES = {
    "hardswish": {"shape": (4096, 1024)},
    "rms_norm": {"shape": (4096, 4096)},
    "grid_sampler_2d": {"shape": (2, 64, 128, 128), "grid_shape": (128, 128)},
    "cross_entropy_loss": {"shape": (4096, 8192)},
    "group_norm_swish": {"shape": (8, 256, 64, 64), "numGroups": 32},
    "layer_norm": {"shape": (4096, 4096)},
    "grid_sampler_3d": {"shape": (2, 16, 32, 32, 32), "grid_shape": (32, 32, 32)},
}
ENGINES = ("numpy", "jax", "numba", "torch")
WARM = 0.1  # for as long threads of OpenMP may wait for more work, and keep a core from the engine that is next
SLOPE, MEMORY = 1.1, 1.5  # limits: of log time against log size, and of peak memory beyond 10^7 elements
GROWN = {  # shapes of about n elements
    "hardswish": lambda n: {"shape": (n,)},
    "rms_norm": lambda n: {"shape": (n // 4096 + 1, 4096)},
    "grid_sampler_2d": lambda n: {"shape": (1, n // 4096 + 1, 64, 64), "grid_shape": (64, 64)},
    "cross_entropy_loss": lambda n: {"shape": (n // 8192 + 1, 8192)},
    "group_norm_swish": lambda n: {"shape": (n // 65536 + 1, 64, 32, 32), "numGroups": 8},
    "layer_norm": lambda n: {"shape": (n // 4096 + 1, 4096)},
    "grid_sampler_3d": lambda n: {"shape": (1, n // 4096 + 1, 16, 16, 16), "grid_shape": (16, 16, 16)},
}


def best(calls: dict, rounds: int) -> dict[str, float]:
    """The least seconds of each call, in turns; each runs for WARM seconds that do not count before the call that does."""
    times = defaultdict(list)
    for _ in range(rounds):
        for name, call in calls.items():
            end = time.perf_counter() + WARM
            call()
            while time.perf_counter() < end:
                call()
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: min(found) for name, found in times.items()}


def copying(count: int):
    """A call that reads and writes `count` bytes together, on all cores."""
    to, parts = np.zeros((2, cpu_count(), count // 2 // cpu_count()), np.uint8)
    threads = ThreadPoolExecutor(cpu_count())
    return lambda: list(threads.map(np.copyto, to, parts))


def in_torch(op, inputs):
    """A call of PyTorch's backward on tensors that are ready, None where it has none for these inputs."""
    import torch

    function = registry.own("peer", op.name, "in_torch")
    if function is None:
        return None

    def tensor(value):
        if not isinstance(value, np.ndarray):
            return value
        value = np.array(value, order="C")
        return (torch.from_numpy(value.view(np.int16)).view(torch.bfloat16) if value.dtype == BFLOAT16.numpy
                else torch.from_numpy(value))

    given = {name: tensor(value) for name, value in inputs.items()}
    if op.name == "rms_norm":  # PyTorch's function runs forward, too, which does not belong to the time
        x, gamma = given["x"].requires_grad_(), given["gamma"].requires_grad_()
        y = torch.nn.functional.rms_norm(x, gamma.shape, gamma, 1e-6)
        return lambda: torch.autograd.grad(y, (x, gamma), given["dy"], retain_graph=True)
    try:
        function(torch, **given)
    except NotSupported:
        return None
    return partial(function, torch, **given)


def engine(name: str, op, inputs):
    """A call of one of ENGINES on inputs, None where it is not there."""
    if name == "numpy":
        return partial(op.backward, **inputs)
    if not find_spec(name):
        return None
    if name == "torch":
        return in_torch(op, inputs)
    return partial(av.open_device(name).run, op, **inputs) if computed_by(name, op) else None


def size_of(arrays) -> int:
    return sum(value.nbytes for value in arrays.values() if isinstance(value, np.ndarray))


def rows(op, dtype: str, rounds: int, engines):
    """Yield (mode, seconds by engine) of an operator."""
    for mode in op.modes:
        inputs = av.case(op, dtype=dtype, seed=0, **SIZES.get(op.name, {}), **mode).inputs
        calls = {name: engine(name, op, inputs) for name in engines}
        calls["memory"] = copying(size_of(inputs) + size_of(op.backward(**inputs)))
        yield mode, best({name: call for name, call in calls.items() if call}, rounds)


def mean(values) -> float:
    values = [value for value in values if value == value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan


def cells(times: dict) -> list[float]:
    """Milliseconds of the engines, then PyTorch's time over theirs, and that of memory over the least."""
    *kit, torch, memory = (times.get(name, math.nan) for name in (*ENGINES, "memory"))
    return [*(1e3 * value for value in (*kit, torch, memory)), *(torch / mine for mine in kit), memory / np.nanmin(kit)]


COLUMNS = (*(f"{name} ms" for name in (*ENGINES, "memory")), *(f"torch/{name}" for name in ENGINES[:-1]), "memory/kit")
TIMES = len(ENGINES) + 1


def shown(name: str, values) -> str:
    return line(name, *("" if math.isnan(value) else f"{value:.3g}" for value in values))


def table(chosen, dtypes, rounds: int, engines) -> None:
    for dtype in dtypes:
        print(line(dtype, *COLUMNS), line(*["---"] * (len(COLUMNS) + 1)), sep="", end="")
        means = []
        for op in chosen:
            ratios = []
            for mode, times in rows(op, dtype, rounds, engines):
                values = cells(times)
                ratios.append(values[TIMES:])
                name = " ".join([op.name, *map(str, mode.values())])
                print(shown(name, values), end="", flush=True)
            means.append([mean(column) for column in zip(*ratios)])
            print(shown(f"mean of {op.name}", [math.nan] * TIMES + means[-1]), end="")
        print(shown("geometric mean of the operators", [math.nan] * TIMES + [mean(column) for column in zip(*means)]))


def growth(chosen, rounds: int, name: str) -> bool:
    """Print how time and memory of an engine grow; tell whether both stay within their limits."""
    held = True
    print(f"{'operator':<20}{'elements':>12}{'seconds':>10}{'peak / data':>13}    limits: slope {SLOPE}, memory {MEMORY}")
    for op in chosen:
        points = []
        for elements in (10**k for k in range(5, 9)):
            inputs = av.case(op, **GROWN[op.name](elements)).inputs
            call = engine(name, op, inputs)
            if call is None:
                sys.exit(f"{name} does not run {op.name} here: it is not installed, or cannot")
            seconds = best({name: call}, rounds)[name]
            tracemalloc.start()
            outputs = call()
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            data = size_of(inputs) + size_of(outputs)
            ratio = (size_of(inputs) + peak) / data
            points.append((math.log(data), math.log(seconds)))
            held &= ratio <= MEMORY or elements < 10**7
            print(f"{op.name:<20}{elements:>12}{seconds:>10.4f}{ratio:>13.2f}", flush=True)
        slope = float(np.polyfit(*zip(*points), 1)[0])
        held &= slope <= SLOPE
        print(f"{op.name:<20}{'slope':>12}{slope:>10.3f}")
    print("within the limits" if held else "OUTSIDE the limits")
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", metavar="OPERATOR", help="those with a size here, unless named")
    parser.add_argument("--dtypes", default="float32,bfloat16")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--sizes", action="store_true", help="growth of time and memory instead")
    chosen = parser.parse_args()
    if unknown := set(chosen.engines.split(",")) - {*ENGINES}:
        parser.error(f"engines are {', '.join(ENGINES)}: got {', '.join(sorted(unknown))!r}")
    found = [av.operator(name) for name in chosen.operators or SIZES]
    if chosen.sizes:
        return int(not growth(found, chosen.rounds, chosen.engines.split(",")[0]))
    table(found, chosen.dtypes.split(","), chosen.rounds, chosen.engines.split(","))
    return 0


if __name__ == "__main__":
    sys.exit(main())
