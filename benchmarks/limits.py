"""What calls may take of one core, and what they take here: `python benchmarks/limits.py`, with exit status 1 above a limit.

Processor times, which other programs disturb little. Of a sweep it is the time with all cores over that with one: more
workers must not make it slower.
"""

import sys
import time
from os import cpu_count

import numpy as np

import aclnn_viz as av
from aclnn_viz.accuracy import measure
from derivations import theorems


def seconds(call, clock=time.process_time) -> float:
    start = clock()
    call()
    return clock() - start


def proofs():
    for theorem in theorems():
        assert theorem.prove().holds and not any(mutant.prove().holds for mutant in theorem.mutants), theorem.name


def sweep(workers: int) -> float:
    return seconds(lambda: av.sweep("suite", executor=workers, seeds=1, store=":memory:"), time.perf_counter)


def rows():
    """(what, its value, its limit)."""
    yield "all theorems proved and their mutants refused, s", seconds(proofs), 12.0
    truth = np.random.default_rng(0).standard_normal(10_000_000)
    yield "errors of 10 million float32 numbers, s", seconds(lambda: measure(truth.astype(np.float32), truth)), 2.0
    inputs = av.case("rms_norm", shape=(64, 4096)).inputs
    program = av.tiles.programs("rms_norm")[0]
    yield "RMS norm of 64 rows of 4096 on 40 cores, s", seconds(
        lambda: av.tiles.launch(program, soc="Ascend910B3", traced=False, **inputs)), 2.0
    yield "a sweep with all cores / with one", sweep(cpu_count()) / sweep(1), 1.1


def main() -> int:
    held = True
    for what, value, limit in rows():
        held &= value <= limit
        print(f"{what:<52} {value:6.2f}, at most {limit:g}: {'held' if value <= limit else 'NOT HELD'}", flush=True)
    return not held


if __name__ == "__main__":
    sys.exit(main())
