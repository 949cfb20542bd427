"""The kit's fastest engine (numba) beside PyTorch's CPU backward: `make bench`.

    python benchmarks/bench.py OPERATOR ...    # print, compare, write nothing
    python benchmarks/bench.py                 # all cases: benchmarks/reports/bench.md, whose difference git shows

A case is a mode, a format and a size. Medium tensors have about 2^20 elements (they fit the third-level cache), large ones
exceed every cache; the samplers' are smaller, as each element costs more. Both sides take turns in one process. The first
SETTLE seconds of a turn do not count: the other side's threads go to sleep, and the data enter the caches. A ratio is the
median over turns of PyTorch's time / the kit's, its spread the least and largest. A case with a ratio below 1 is measured
again, after all others, in AGAIN times as many turns, which then count.
"""

import statistics
import sys
import time
from datetime import date
from functools import partial
from importlib.metadata import version

import numpy as np
from records import REPORTS, git, line

import aclnn_viz as av
from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.errors import NotSupported
from aclnn_viz.operators import peers
from aclnn_viz.tables import table_beside

SIZES = table_beside(__file__, "bench.toml")
NAMES, DTYPES = ("medium", "large"), ("float32", "bfloat16", "float16")
# seconds to settle, seconds of a turn, least and most turns, seconds per case
SETTLE, TURN, ROUNDS, BUDGET = 0.012, 0.004, (3, 5), 0.45
AGAIN = 3
TABLE = REPORTS / "bench.md"


def seconds(call, count: int) -> float:
    """Return the seconds of one call, from a row of `count` calls."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def turns(calls: dict, times_as_many: int = 1) -> dict[str, list[float]]:
    """Return the seconds of each call, turn by turn."""
    count, times = {}, {name: [] for name in calls}
    for name, call in calls.items():
        call()
        count[name] = max(1, int(TURN / seconds(call, 1)))
    began = time.perf_counter()
    for turn in range(times_as_many * ROUNDS[1]):
        if (
            turn >= times_as_many * ROUNDS[0]
            and time.perf_counter() - began > times_as_many * BUDGET
        ):
            break
        for name, call in calls.items():
            end = time.perf_counter() + SETTLE
            call()
            while time.perf_counter() < end:
                call()
            times[name].append(seconds(call, count[name]))
    return times


def in_torch(op, inputs):
    """Return a call of PyTorch's backward on prepared tensors, None if PyTorch lacks it for these inputs."""
    import torch

    function = peers.in_torch(op)

    def tensor(value):
        if not isinstance(value, np.ndarray):
            return value
        value = np.array(value, order="C")
        return (
            torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
            if value.dtype == BFLOAT16.numpy
            else torch.from_numpy(value)
        )

    given = {name: tensor(value) for name, value in inputs.items()}
    # PyTorch's function also runs forward; leave out that time
    if op.name == "rms_norm":
        x, gamma = given["x"].requires_grad_(), given["gamma"].requires_grad_()
        y = torch.nn.functional.rms_norm(x, gamma.shape, gamma, 1e-6)
        return lambda: torch.autograd.grad(y, (x, gamma), given["dy"], retain_graph=True)
    try:
        function(torch, **given)
    except NotSupported:
        return None
    return partial(function, torch, **given)


def cases(chosen):
    """Yield (name of the case, operator, options of `av.case`), format by format because each is compiled separately."""
    for op in chosen:
        for dtype in DTYPES:
            for size, shapes in SIZES[op.name].items():
                for mode in op.modes:
                    # leave out cases with z-loss, which PyTorch lacks
                    if not mode.get("lseSquareScaleForZloss"):
                        yield (
                            " ".join([op.name, *map(str, mode.values()), dtype, size]),
                            op,
                            {
                                "dtype": dtype,
                                **shapes,
                                **mode,
                            },
                        )


def measured(device, times_as_many: int, op, options: dict) -> dict:
    """Return a case's entry in the table: times in microseconds, ratios of each turn."""
    inputs = av.case(op, **options).inputs
    calls = {"kit": partial(device.run, op, **inputs), "torch": in_torch(op, inputs)}
    found = turns(calls, times_as_many)
    ratios = sorted(torch / mine for torch, mine in zip(found["torch"], found["kit"]))
    return {
        "kit": 1e6 * statistics.median(found["kit"]),
        "ratio": statistics.median(ratios),
        "least": ratios[0],
        "most": ratios[-1],
    }


def shown(name: str, row: dict) -> str:
    """Return a row of the table."""
    spread = f"{row['least']:.2f} to {row['most']:.2f}"
    return line(name, number(row["kit"]), number(row["ratio"]), spread)


def number(value: float) -> str:
    """Return a number with three digits, or two decimals."""
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


HEAD = line("case", "kit us", "PyTorch / kit", "spread") + line(*["---"] * 4)


def summary(rows: dict) -> str:
    """Return means by format and size, the slowest cases, and those below 1."""
    text = line("format, size", "cases", "PyTorch / kit", "least", "its case") + line(*["---"] * 5)
    for dtype in DTYPES:
        for size in NAMES:
            some = {name: row for name, row in rows.items() if name.endswith(f" {dtype} {size}")}
            if some:
                worst = min(some, key=lambda name: some[name]["ratio"])
                text += line(
                    f"{dtype}, {size}",
                    len(some),
                    number(statistics.geometric_mean(row["ratio"] for row in some.values())),
                    number(some[worst]["ratio"]),
                    worst,
                )
    below = [name for name, row in rows.items() if row["ratio"] < 1.0]
    return f"{text}\nBelow 1: {len(below)} of {len(rows)} cases, {sum(rows[name]['ratio'] < 0.9 for name in below)} of them below 0.9.\n"


def rows_of(todo, measure) -> dict:
    """Return the rows of all cases; for those below 1 the second measurement counts."""
    rows = {name: measure(1, name, *case) for name, *case in todo}
    for name, *case in todo:
        if rows[name]["ratio"] < 1.0:
            rows[name] = measure(AGAIN, name, *case)
    return rows


def main(*names) -> None:
    print(HEAD, end="")
    with av.open_device("numba") as device:

        def measure(times_as_many, name, op, options):
            row = measured(device, times_as_many, op, options)
            print(shown(name, row), end="", flush=True)
            return row

        rows = rows_of([*cases(map(av.operator, names or SIZES))], measure)
        about = device.about()
    print("", summary(rows), sep="\n")
    if not names:
        about = f"{about['library']}, PyTorch {version('torch')}, NumPy {np.__version__}, {about['threads']} threads, {about['place']}"
        TABLE.write_text(
            "# The kit beside PyTorch\n\nWritten by `make bench` at commit "
            f"{git('rev-parse', '--short', 'HEAD')}, {date.today()}: {about}. `benchmarks/bench.py` says how.\n\n{summary(rows)}\n"
            f"{HEAD}" + "".join(shown(*row) for row in rows.items()),
            encoding="utf-8",
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
