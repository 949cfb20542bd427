"""Advice of a run on waits and the Unified Buffer: enough and not too many waits, and the longest tile."""

import re

import numpy as np
import pytest

from aclnn_viz import cli
from aclnn_viz.tiles.advice import advice
from aclnn_viz.tiles.cpp import cpp
from aclnn_viz.tiles.program import run

pytestmark = pytest.mark.needs("g++")
FLAG = "SetFlag<HardEvent::{0}>(0);\n    WaitFlag<HardEvent::{0}>(0);"
IN, OUT, BACK = "DataCopy(a, from, 64);", "DataCopy(to, b, 64);", FLAG.format("V_MTE3")
# Programs of one line a call; "!" marks a wait that the order needs.
PROGRAMS = [
    [IN, "!MTE2_V", "Adds(b, a, 1.0f, 64);", "!V_MTE3", OUT],
    [IN, "!MTE2_MTE3", "DataCopy(to, a, 64);"],
    [IN, "!MTE2_V", "Muls(b, a, 2.0f, 64);", "!PIPE_V", "Adds(b, b, 1.0f, 64);", "!V_MTE3", OUT],
    [IN, "!MTE2_V", "Adds(b, a, 1.0f, 64);", "!V_MTE3", OUT, "!V_MTE2", IN, "!PIPE_ALL", "DataCopy(to, a, 64);"],
    [IN, "!MTE2_S", "float first = a.GetValue(0);", "Duplicate(b, first, 64);", "!V_MTE3", OUT],
]  # fmt: skip
EXTRA = [
    "MTE3_MTE2",
    "PIPE_MTE2",
    "PIPE_ALL",
    "PIPE_MTE3",
    "PIPE_V",
]  # appended to each program's last line


def wait(name):
    return f"PipeBarrier<{name}>();" if name.startswith("PIPE") else FLAG.format(name)


def lines(program, kind, extra):
    """Yield a program with exactly its waits, with one too many, or without its first; a mark shows the unneeded line."""
    needed = [k for k, line in enumerate(program) if line[0] == "!"]
    for k, line in enumerate(program):
        if line[0] != "!":
            yield line
        elif not (kind == "missing" and k == needed[0]):
            yield wait(line[1:])
    if kind == "redundant":
        yield wait(extra) + "  // SPARE"


SOURCE = """#include "kernel_operator.h"
using namespace AscendC;
KERNELS
extern "C" __global__ __aicore__ void chosen(GM_ADDR x, GM_ADDR y, int32_t which) {
    LocalMemAllocator<> ub;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)y);
    auto a = ub.Alloc<float>(64), b = ub.Alloc<float>(64);
    switch (which) {
CASES
    }
}
extern "C" __global__ __aicore__ void sized(GM_ADDR x, GM_ADDR y, int32_t buffers, int32_t bytes) {
    TPipe pipe;
    GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float *)x), to.SetGlobalBuffer((__gm__ float *)y);
    TBuf<> tiles[48];
    for (int i = 0; i < buffers; ++i) pipe.InitBuffer(tiles[i], bytes);
    auto a = tiles[0].Get<float>();
    DataCopy(a, from, bytes / 4);
    PipeBarrier<PIPE_ALL>();
    DataCopy(to, a, bytes / 4);
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    kinds = [(k, kind) for k in range(5) for kind in ("exact", "redundant", "missing")]
    parts, cases = [], []
    for place, (k, kind) in enumerate(kinds):
        body = "\n    ".join(lines(PROGRAMS[k], kind, EXTRA[k]))
        given = "GlobalTensor<float> from, GlobalTensor<float> to, LocalTensor<float> a, LocalTensor<float> b"
        parts.append(f"static void kernel_{place}({given}) {{\n    {body}\n}}")
        cases.append(f"    case {place}: kernel_{place}(from, to, a, b); break;")
    text = SOURCE.replace("KERNELS", "\n".join(parts)).replace("CASES", "\n".join(cases))
    (file := tmp_path_factory.mktemp("advice") / "waits.cpp").write_text(text, "utf-8")
    return file, cpp(file), kinds


def test_waits_are_enough_and_not_too_many(kernels):
    file, source, kinds = kernels
    text = file.read_text("utf-8").splitlines()
    seen = set()
    for place, (k, kind) in enumerate(kinds):

        def launched(place=place, **how):
            return run(
                source["chosen"],
                np.ones(64, np.float32),
                np.zeros(64, np.float32),
                place,
                **{"sync": "strict"} | how,
            )

        found = launched()
        said = [one for one in advice(launched, found) if "no order needs" in one]
        assert bool(found.hazards) == (kind == "missing"), (k, kind)
        if kind == "redundant":
            numbers = [int(n) for n in re.findall(r"\d+", said[0])]
            assert [("SPARE" in text[n - 1]) for n in numbers] == [True], (k, said)
        else:
            assert said == [], (k, kind, said)
        seen.add(kind)
    assert len(seen) == 3


# Buffers in bytes: an exact fit, and one too large by one tile, with the bytes that would fit.
@pytest.mark.parametrize(
    "buffers, most", [(3, 65536), (6, 32768), (12, 16384), (24, 8192), (48, 4096)]
)
def test_how_long_a_tile_may_be(buffers, most, kernels, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for bytes_, fits in ((most, True), (most + 32, False), (most - 32, True)):
        x = np.ones(bytes_ // 4, np.float32)
        np.save("x.npy", x)
        words = "cpp check WAITS --entry sized --input x.npy --golden x.npy --set".split()
        words[2] = str(kernels[0])
        status = cli.main([*words, f"buffers={buffers}", "--set", f"bytes={bytes_}"])
        out = capsys.readouterr().out
        assert status == (not fits) and ("unified buffer full" in out) != fits
        assert f"tiles of {bytes_:,} bytes, of which {most:,} would fit" in out
        assert f": {buffers * bytes_:,} of 196,608 bytes" in out
        assert ("fits Atlas A2" in out or "Atlas A2 training" in out.split("; fits ")[-1]) == fits
