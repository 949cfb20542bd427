"""How the time of a sweep falls with workers: the same cases here, on processes of this machine, and on workers of dask.

    python benchmarks/sweeps.py [--seeds 10] [--rounds 3]

Each row is a number of workers, up to the cores there are, with the least time of some rounds, taken in turns so that other work
on the machine meets all alike. Processes of this machine are started within the time, those of a dask cluster before it. More
workers must not make a sweep slower by more than a tenth: the exit status is 1 where they do. Without dask its column is empty.
"""

import argparse
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from importlib.util import find_spec
from os import cpu_count

import aclnn_viz as av

LIMIT = 1.1  # of the time with fewer workers


@contextmanager
def processes(workers: int):
    """What `executor` takes for so many processes of this machine."""
    yield workers


@contextmanager
def dask(workers: int):
    """What `executor` takes for a cluster of so many processes, which are there and know the kit."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster, Client(cluster) as client:
        client.run(lambda: __import__("aclnn_viz").case("hardswish"))
        yield client


def seconds(crew, workers: int, seeds: int) -> float:
    """Seconds of a sweep over the suites of all operators."""
    with crew(workers) as executor:
        start = time.perf_counter()
        result = av.sweep("suite", executor=executor, seeds=seeds, store=":memory:")
        taken = time.perf_counter() - start
    assert result.passed, result
    return taken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    if asked.rounds < 1:
        parser.error(f"rounds are 1 or more: got {asked.rounds}")
    crews = [processes] + [dask] * bool(find_spec("distributed"))
    times = defaultdict(list)
    for _ in range(asked.rounds):
        for workers in range(1, cpu_count() + 1):
            for crew in crews:
                times[crew, workers].append(seconds(crew, workers, asked.seeds))
    slower = False
    print("workers  " + "".join(f"{crew.__name__:>12}" for crew in crews))
    for workers in range(1, cpu_count() + 1):
        print(f"{workers:7}  " + "".join(f"{min(times[crew, workers]):10.1f} s" for crew in crews))
        slower |= any(min(times[crew, workers]) > LIMIT * min(times[crew, fewer])
                      for crew in crews for fewer in range(1, workers))
    print("more workers are slower" if slower else "no number of workers is slower than fewer by more than a tenth")
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
