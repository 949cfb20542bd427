"""Time of tile programs on one core: `python benchmarks/tiles.py`.

The machine in Python is meant to answer while somebody waits: RMS norm of 64 rows of 4096 on 40 cores in under 2 s of one core.
The other rows are the first program of each operator on its default case, and what one instruction costs.
"""

import os
import sys
import time

import aclnn_viz as av

LIMIT = 2.0  # seconds of one core, whoever else uses the machine


def seconds(call, repeats=3) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def rows():
    """(name, instructions, seconds) of each launch; the first is the one with a limit."""
    cases = [("rms_norm", "Ascend910B3", {"shape": (64, 4096)})]
    cases += [(op.name, "Ascend910B2", {}) for op in av.operators() if av.tiles.programs(op)]
    for op, soc, options in cases:
        program, inputs = av.tiles.programs(op)[0], av.case(op, **options).inputs
        run = av.tiles.launch(program, soc=soc, **inputs)
        taken = seconds(lambda: av.tiles.launch(program, soc=soc, traced=False, **inputs))
        yield f"{op} {options.get('shape', '')}, {run.cores} cores", len(run.trace), taken


def main() -> int:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found = list(rows())
    for name, instructions, taken in found:
        print(f"{name:<36} {instructions:6d} instructions {taken:8.3f} s {taken / instructions * 1e6:8.0f} us each")
    held = found[0][2] < LIMIT
    print(f"the first is {'under' if held else 'NOT UNDER'} {LIMIT:g} s")
    return not held


if __name__ == "__main__":
    sys.exit(main())
