"""Measure the checker on one core: `python benchmarks/checker.py`.

Prints the score of every named fault beside that of the usual tests, how long a right kernel takes, cold and with its
cases prepared, and how many mechanical mutants of the pages survive.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from aclnn_viz import operators  # noqa: E402
from aclnn_viz.checking import check  # noqa: E402
from aclnn_viz.checking.score import score  # noqa: E402
from checking.mutation import mutants  # noqa: E402
from checking.test_mutants import reason, survivors  # noqa: E402


def seconds(call) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> int:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print("| right kernel | first check | next check | mutants | survivors | of them not equivalent |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for op in operators():
        cold, warm = (seconds(lambda: check(op, op.backward)) for _ in range(2))
        alive = survivors(op)
        unexplained = sum(reason(mutant) is None for mutant in alive)
        print(f"| {op.name} | {cold:.2f} s | {warm:.2f} s | {sum(1 for _ in mutants(op.page))} | {len(alive)} "
              f"| {unexplained} |")
    found = score()
    print(f"\n{found}\n\nmedian time to the first counterexample: {found.median:.3f} s")
    return 0 if found.passed else 1


if __name__ == "__main__":
    sys.exit(main())
