"""Lines of 64 bytes that a scalar unit writes back whole: where another's bytes would be lost, and where not.

Of the vendor's pages SetValue and DataCacheCleanAndInvalid (example 3, several cores) of asc-devkit.
"""

import numpy as np
import pytest
from tables import table

from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.cpp import cpp
from aclnn_viz.tiles.program import run

# Steps of core 0, of core 1, and where the hazard is said. S: SetValue, G: GetValue, C: DataCopy of 8 elements, D: clean
# and drop the line, each with an element; A: SyncAll, w: the scalar unit waits for copies, W: copies wait for it.
CASES = table(f"""
S0             | S1          | strict auto
S0 D0          | S1 D0       | strict auto
C0             | S8 D8       | strict auto
S8 D8          | C0          | strict auto
C0 S8          |             | strict auto
S8 C0          |             | strict auto
S8 D8 C0       |             | strict
G0 A S1        | C8 A        | strict auto
G0 A S1 D0     | C8 A        | strict auto
S0 A           | A C8        | strict auto
S0 A           | A S1        | strict auto
S0 D0          | S16 D16     |
S0 D0 A        | A S1 D0     |
C0 w S8 D8     |             |
S8 D8 W C0     |             |
G0 A D0 S1     | C8 A        |
G0 A {" ".join(f"S{k}" for k in range(16))} | C8 A |
S0             | G1          |
S0 D0          | C16         |
S0 D0 A        | C16 A C8    |
C0             | C8          |
""")
LINE = CacheLine.SINGLE_CACHE_LINE  # noqa: F405
WAIT = "SetFlag<HardEvent::{0}>(0); WaitFlag<HardEvent::{0}>(0);"
TEXT = {
    "S": "y.SetValue({}, 1.0f);",
    "G": "y.GetValue({});",
    "C": "DataCopy(y[{}], tile, 8);",
    "D": "DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE>(y[{}]);",
    "A": "SyncAll();",
    "w": WAIT.format("MTE3_S"),
    "W": WAIT.format("S_MTE3"),
}
SOURCE = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void chosen(GM_ADDR to, int32_t which) {
    GlobalTensor<float> y;
    y.SetGlobalBuffer((__gm__ float *)to);
    LocalMemAllocator<> ub;
    auto tile = ub.Alloc<float>(8);
    Duplicate(tile, 2.0f, 8);
    PipeBarrier<PIPE_ALL>();
    switch (which + GetBlockIdx()) {
CASES
    }
}
"""


def kernel_of(*cores):
    """Return a kernel whose cores take these steps."""

    def kernel(to):
        y, tile = GlobalTensor(float32), LocalMemAllocator().Alloc(float32, 8)  # noqa: F405
        y.SetGlobalBuffer(to)
        Duplicate(tile, 2.0, 8)  # noqa: F405
        PipeBarrier(PIPE_ALL)  # noqa: F405
        for step, at in ((step[0], int(step[1:] or 0)) for step in cores[GetBlockIdx()].split()):  # noqa: F405
            if step in "wW":
                event = HardEvent.MTE3_S if step == "w" else HardEvent.S_MTE3  # noqa: F405
                SetFlag(event, 0), WaitFlag(event, 0)  # noqa: F405
            elif step == "A":
                SyncAll()  # noqa: F405
            elif step == "C":
                DataCopy(y[at], tile, 8)  # noqa: F405
            elif step == "D":
                DataCacheCleanAndInvalid(y[at], LINE)  # noqa: F405
            else:
                y.SetValue(at, 1.0) if step == "S" else y.GetValue(at)

    return kernel


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    cores = [steps for first, second, _ in CASES for steps in (first, second)]
    texts = [" ".join(TEXT[step[0]].format(step[1:]) for step in steps.split()) for steps in cores]
    cases = "\n".join(f"    case {k}: {text} break;" for k, text in enumerate(texts))
    (file := tmp_path_factory.mktemp("lines") / "chosen.cpp").write_text(
        SOURCE.replace("CASES", cases), "utf-8"
    )
    return cpp(file)["chosen"]


def judged(said, kernel, *arguments, **how):
    for sync in ("strict", "auto"):
        for schedule in ("eager", "late", 1):
            y = np.zeros(32, np.float32)
            found = run(kernel, y, *arguments, sync=sync, schedule=schedule, **how).hazards
            kinds = {hazard.kind for hazard in found}
            assert kinds == ({"shared cache line"} if sync in said else set()), (sync, found)
            assert not any("CleanAndInvalid" in hazard.text for hazard in found)


@pytest.mark.parametrize("first, second, said", CASES)
def test_a_line_of_two_writers_is_said_where_bytes_would_be_lost(first, second, said):
    judged(said, kernel_of(first, second), cores=1 + bool(second))


@pytest.mark.needs("g++")
def test_a_line_of_two_writers_is_said_of_a_source_in_cpp(compiled):
    for k, (_, second, said) in enumerate(CASES):
        judged(said, compiled, 2 * k, cores=1 + bool(second))
